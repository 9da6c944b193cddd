/** A run for a while ends in time, whatever the database answers. */
import { TaskError } from '@taskstream/task-api'
import type { TransactionSource } from '@taskstream/task-api'
import { expect, test } from 'vitest'
import { fromNodeSqlite, sqlite } from '@taskstream/task-sql/node-sqlite'
import { sqlTaskRepository } from '@taskstream/task-sql'
import type { DatabaseSync } from 'node:sqlite'
import { defineJob } from 'taskstream'
import { Stream } from '../../packages/taskstream/src/stream.ts'
import { isDoneWithin } from '../../packages/taskstream/src/run-for.ts'

interface Seen {
  readonly budgetMs?: number
  readonly ready?: () => boolean
  readonly active?: boolean
  readonly wake?: (topic: string) => void
}

const isDone = (
  transactions: TransactionSource<object>,
  { budgetMs = 100, ready = () => false, active = true, wake = () => {} }: Seen = {},
): Promise<boolean> =>
  isDoneWithin(
    {
      node: { isIdle: true, wake },
      tasks: {
        promoteDue: () => Promise.resolve({ promoted: 0 }),
        peek: () => Promise.resolve(new Map([['mail', { ready: ready(), blocked: false }]])),
        activations: () => Promise.resolve(new Map([['mail', { active, changed: new Date() }]])),
      },
      transactions,
      timers: { dueMs: () => Promise.resolve(Infinity) },
      topics: new Set(['mail']),
    },
    budgetMs,
  )
const now: TransactionSource<object> = async (work) => work({})

test('is done if nothing is left', async () => {
  expect(await isDone(now)).toBe(true)
})

test('is not done if the database is silent, or away', async () => {
  expect(await isDone(() => new Promise(() => {}))).toBe(false)
  expect(await isDone(() => Promise.reject(new TaskError('DATABASE_UNAVAILABLE', 'gone')))).toBe(false)
})

test('throws what will not pass by itself', async () => {
  await expect(isDone(() => Promise.reject(new TaskError('PERMISSION_DENIED', 'no')))).rejects.toMatchObject({
    code: 'PERMISSION_DENIED',
  })
})

test('has a job polled again that others have locked, and is done once it was taken', async () => {
  let looks = 0
  const woken: string[] = []
  const wake = (topic: string): void => void woken.push(topic)
  expect(await isDone(now, { budgetMs: 60_000, ready: () => ++looks < 4, wake })).toBe(true)
  expect(woken).toEqual(['mail', 'mail', 'mail'])
})

test('says after a while that there is more if a job stays ready, unless somebody has paused its topic', async () => {
  const begun = performance.now()
  expect(await isDone(now, { budgetMs: 600_000, ready: () => true })).toBe(false)
  expect(performance.now() - begun).toBeLessThan(600_000)
  expect(await isDone(now, { ready: () => true, active: false })).toBe(true)
})

test('ends in time though its start gets no answer', async () => {
  const repository = sqlTaskRepository({ dialect: sqlite(), adapter: fromNodeSqlite })
  const transactions: TransactionSource<DatabaseSync> = () => new Promise(() => {})
  const stream = new Stream<DatabaseSync, 'sync'>({ repository, transactions }, {})
  stream.handle(defineJob('mail'), () => {})
  expect(await stream.runFor(50, { graceMs: 10, abortMs: 10, leaveMs: 10 })).toBe('more')
})
