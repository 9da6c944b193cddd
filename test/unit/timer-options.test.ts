/** Options that do not exist are refused by name: JavaScript has nobody else who would say so. */
import {
  cron,
  every,
  JobListener,
  ClockJobScheduler,
  PeriodicScheduler,
  periodicTasks,
  PersistedClockJobs,
  preview,
} from '@taskstream/task-scheduler'
import type { TransactionSource } from '@taskstream/task-api'
import { fromBetterSqlite3, sqlite } from '@taskstream/task-sql/better-sqlite3'
import type { BetterSqlite3Database } from '@taskstream/task-sql/better-sqlite3'
import { sqlTaskRepository } from '@taskstream/task-sql'
import { expect, test } from 'vitest'
import { checkPeriodicTask } from '../../packages/task-scheduler/src/periodic/definition.ts'

const repository = sqlTaskRepository({ dialect: sqlite(), adapter: fromBetterSqlite3 })
const transactions: TransactionSource<BetterSqlite3Database> = () => {
  throw new Error('nothing is to be written')
}
const task = { id: 'report', timer: 'hourly', topic: 'reports' }
const trigger = { intervalMs: 1_000 }
const work = (): void => {}

const calls: readonly [what: string, call: (more: object) => unknown, wrong: string, meant: string | undefined][] = [
  ['every', (more) => every('PT1M', more), 'form', 'from'],
  ['every', (more) => every('PT1M', more), 'evry', undefined],
  ['cron', (more) => cron('* * * * *', more), 'Zone', 'zone'],
  ['preview', (more) => preview(every('PT1M'), 1, { after: 0, ...more }), 'zon', 'zone'],
  ['a periodic task', (more) => checkPeriodicTask({ ...task, ...more }), 'evry', undefined],
  ['a periodic task', (more) => checkPeriodicTask({ ...task, ...more }), 'jitterMS', 'jitterMs'],
  ['a periodic task', (more) => checkPeriodicTask({ ...task, ...more }), 'misfires', 'misfire'],
  ['periodicTasks', (more) => periodicTasks(repository, more), 'scop', 'scope'],
  ['a scheduler', (more) => new PeriodicScheduler({ repository, transactions, ...more }), 'pollIntervalMS', 'pollIntervalMs'],
  ['a job', (more) => new ClockJobScheduler().schedule(work, { ...trigger, ...more }), 'maxcount', 'maxCount'],
  ['a job that runs once', (more) => new ClockJobScheduler().scheduleOnce(work, new Date(4e12), more), 'whenlate', 'whenLate'],
  ['a job scheduler', (more) => new ClockJobScheduler(more), 'worker', 'workers'],
  ['a job listener', (more) => new JobListener({ trigger, ...more }), 'worker', 'workers'],
  ['the trigger of a listener', (more) => new JobListener({ trigger: { ...trigger, ...more } }), 'onerror', 'onError'],
  [
    'persisted jobs',
    (more) => new PersistedClockJobs({ repository, transactions, handlers: { work }, ...more } as never),
    'retainMS',
    'retainMs',
  ],
]

test.each(calls)('an option that %s does not have is refused by name', (_what, call, wrong, meant) => {
  let error: unknown
  try {
    call({ [wrong]: 'x' })
  } catch (thrown) {
    error = thrown
  }
  expect(error).toMatchObject({ code: 'ARGUMENT_INVALID', data: { argument: wrong } })
  expect(String(error)).toContain(meant === undefined ? 'it has' : `did you mean ${meant}?`)
})

test('a persisted job is refused what only jobs of the process have', async () => {
  const jobs = new PersistedClockJobs({ repository, transactions, handlers: { work } } as never)
  for (const [name, value] of [
    ['retry', () => 1],
    ['overlap', 'allow'],
    ['intervallMs', 5],
  ] as const)
    await expect(jobs.schedule('work', { ...trigger, [name]: value })).rejects.toMatchObject({
      code: 'ARGUMENT_INVALID',
      data: { argument: name },
    })
})
