/** What a poll costs while missing blocks cannot be forgotten, because a transaction that wrote something stays open. */
import type { Connection } from '../scenarios/lab.ts'
import { connect, subjects, usedBy } from './subjects.ts'

export interface NotedFigures {
  readonly noted: number
  readonly size: number
  /** Medians in milliseconds. */
  readonly pollMs: number
  readonly serverUs: number
}

export async function measureNoted(server: Connection, cycles = 300): Promise<NotedFigures[]> {
  const exceptions = subjects.find(({ name }) => name === 'exceptions')!
  const admin = await connect(server)
  const figures: NotedFigures[] = []
  for (const noted of [0, 1, 10, 100, 1000]) {
    await admin.query('drop database if exists noted with (force)')
    await admin.query('create database noted')
    const connection = { ...server, database: 'noted' }
    await exceptions.prepare(connection)
    const [client, writer] = [await connect(connection), await connect(connection)]
    const loop = await exceptions.loop(client, 'one', true)
    await writer.query('begin; select pg_current_xact_id()')
    for (let nth = 0; nth < noted; nth++) {
      await client.query('begin')
      await loop.push(1)
      await client.query('rollback')
    }
    for (const size of [20, 1000]) {
      const before = await usedBy(client)
      const polls: number[] = []
      for (let cycle = 0; cycle < cycles; cycle++) {
        await loop.push(size)
        const began = performance.now()
        if ((await loop.poll(size)) !== size) throw new Error('not all that was pushed was polled')
        polls.push(performance.now() - began)
        await loop.complete()
      }
      const pollMs = polls.toSorted((a, b) => a - b)[cycles / 2]!
      const after = await usedBy(client)
      figures.push({
        noted,
        size,
        pollMs: Math.round(pollMs * 100) / 100,
        serverUs: Math.round((after.cpuUs - before.cpuUs) / cycles),
      })
    }
    await Promise.all([client.end(), writer.end()])
  }
  await admin.end()
  return figures
}
