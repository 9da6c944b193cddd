/** One task after the other is pushed, polled and completed. The subjects take turns in every cycle, each in a database of its own. */
import type { Connection } from '../scenarios/lab.ts'
import { connect, singleSubjects, usedBy } from './subjects.ts'

export interface TrickleFigures {
  readonly subject: string
  readonly isHeld: boolean
  /** Medians in milliseconds of a whole cycle, and of its poll and completion alone, in the first and the last tenth. */
  readonly firstMs: number
  readonly lastMs: number
  readonly firstClaimMs: number
  readonly lastClaimMs: number
  readonly serverUs: number
  readonly wal: number
}

export async function measureTrickle(server: Connection, cycles = 3_000): Promise<TrickleFigures[]> {
  return [...(await trickle(server, cycles, false)), ...(await trickle(server, cycles, true))]
}

async function trickle(server: Connection, cycles: number, isHeld: boolean): Promise<TrickleFigures[]> {
  const admin = await connect(server)
  await using opened = new AsyncDisposableStack()
  opened.defer(() => admin.end())
  const turns = []
  for (const [nth, subject] of singleSubjects.entries()) {
    const database = `trickle_${nth}`
    await admin.query(`drop database if exists ${database} with (force)`)
    await admin.query(`create database ${database}`)
    const connection = { ...server, database }
    await subject.prepare(connection)
    const [client, holder] = [await connect(connection), await connect(connection)]
    opened.defer(() => Promise.all([client.end(), holder.end()]).then(() => {}))
    if (isHeld) await holder.query('begin isolation level repeatable read; select count(*) from pg_class')
    const loop = await subject.loop(client, 'one', true)
    turns.push({ subject, client, loop, before: await usedBy(client), wholes: [] as number[], claims: [] as number[] })
  }
  for (let cycle = 0; cycle < cycles; cycle++) {
    for (const { loop, wholes, claims } of turns) {
      const began = performance.now()
      await loop.push(1)
      const pushed = performance.now()
      while ((await loop.poll(1)) < 1);
      await loop.complete()
      const ended = performance.now()
      wholes.push(ended - began)
      claims.push(ended - pushed)
      if (cycle % 100 === 99) await loop.merge?.()
    }
  }
  const figures: TrickleFigures[] = []
  for (const { subject, client, before, wholes, claims } of turns) {
    const after = await usedBy(client)
    figures.push({
      subject: subject.name,
      isHeld,
      firstMs: median(wholes.slice(0, cycles / 10)),
      lastMs: median(wholes.slice(-cycles / 10)),
      firstClaimMs: median(claims.slice(0, cycles / 10)),
      lastClaimMs: median(claims.slice(-cycles / 10)),
      serverUs: Math.round((after.cpuUs - before.cpuUs) / cycles),
      wal: Math.round((after.wal - before.wal) / cycles),
    })
  }
  return figures
}

function median(values: readonly number[]): number {
  return Math.round(values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]! * 100) / 100
}
