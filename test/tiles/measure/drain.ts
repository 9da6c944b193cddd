/** Drains, in which the subjects take turns in every round. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import type { Connection } from '../scenarios/lab.ts'
import { medianOf, round } from './figures.ts'
import type { DrainOrder, Drained } from './drain-worker.ts'
import { connect, subjects } from './subjects.ts'

export interface DrainFigures {
  readonly subject: string
  readonly size: number
  readonly processes: number
  readonly wait: boolean
  /** Thousands of tasks a second. */
  readonly rate: number
  readonly serverUs: number
  readonly nodeUs: number
  readonly wal: number
  readonly pollMs: number
  readonly busyPerPoll: number
  /** How many sessions wait for the lock of the topic, on average. */
  readonly waiting: number
}

const medians = ['rate', 'serverUs', 'nodeUs', 'wal', 'pollMs', 'busyPerPoll', 'waiting'] as const

/** Prints each figure, and returns the medians of the rounds. */
export async function measureDrains(server: Connection, { rounds = 5, tasks = 60_000 } = {}): Promise<DrainFigures[]> {
  const cases = [1000, 100].flatMap((size) => [1, 2].map((processes) => ({ size, processes, wait: true })))
  cases.push({ size: 1000, processes: 2, wait: false }, { size: 100, processes: 2, wait: false })
  const figures: DrainFigures[] = []
  for (const each of cases) {
    for (let round = 1; round <= rounds; round++) {
      for (const { name } of subjects) {
        const figure = await drainOnce(server, name, each, each.size === 1000 ? tasks : tasks / 2)
        figures.push(figure)
        process.stderr.write(`${JSON.stringify(figure)}\n`)
      }
    }
  }
  return cases.flatMap((each) =>
    subjects.map(({ name }) =>
      medianOf(
        figures.filter(
          (figure) =>
            figure.subject === name &&
            figure.size === each.size &&
            figure.processes === each.processes &&
            figure.wait === each.wait,
        ),
        medians,
      ),
    ),
  )
}

async function drainOnce(
  server: Connection,
  name: string,
  { size, processes, wait }: { readonly size: number; readonly processes: number; readonly wait: boolean },
  tasks: number,
): Promise<DrainFigures> {
  const subject = subjects.find((each) => each.name === name)!
  const admin = await connect(server)
  await admin.query('drop database if exists drained with (force)')
  await admin.query('create database drained')
  const connection = { ...server, database: 'drained' }
  await subject.prepare(connection)
  const client = await connect(connection)
  const filler = await subject.loop(client, 'filler', true)
  for (let pushed = 0; pushed < tasks; pushed += 1000) await filler.push(1000)
  await client.end()
  const workers = Array.from({ length: processes }, (_, nth) => {
    const worker = fork(new URL('drain-worker.ts', import.meta.url), {
      execArgv: ['--conditions=@taskstream/source', '--no-warnings'],
    })
    const order: DrainOrder = { connection, subject: name, owner: `w${nth}`, size, loops: 2, wait }
    worker.send(order)
    return worker
  })
  await Promise.all(workers.map((worker) => once(worker, 'message')))
  const reports = workers.map(async (worker) => ((await once(worker, 'message')) as [Drained])[0])
  for (const worker of workers) worker.send('go')
  const race = { isOver: false }
  const ended = Promise.all(reports).finally(() => (race.isOver = true))
  const looks: number[] = []
  while (!race.isOver) {
    const { rows } = await admin.query<{ n: number }>(
      `select count(*)::int as n from pg_stat_activity where datname = 'drained' and wait_event = 'advisory'`,
    )
    looks.push(rows[0]!.n)
    await setTimeout(10)
  }
  const drained = await ended
  await admin.end()
  const sum = (what: keyof Drained): number => drained.reduce((all, each) => all + each[what], 0)
  if (sum('tasks') !== tasks) throw new Error(`${name}: ${tasks} were pushed, and ${sum('tasks')} drained`)
  const ms = Math.max(...drained.map(({ ended }) => ended)) - Math.min(...drained.map(({ began }) => began))
  return {
    subject: name,
    size,
    processes,
    wait,
    rate: round(tasks / ms),
    serverUs: round(sum('serverUs') / tasks),
    nodeUs: round(sum('nodeUs') / tasks),
    wal: Math.round(sum('wal') / tasks),
    pollMs: round(sum('pollMs') / sum('polls')),
    busyPerPoll: round(sum('busy') / sum('polls')),
    waiting: round(looks.reduce((all, each) => all + each, 0) / looks.length),
  }
}
