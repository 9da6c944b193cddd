/** What a job needs is read before its handler begins. A database that does not answer then is not the job's fault. */
import { TaskDecisionError, TaskError } from '@taskstream/task-api'
import type { HandlerContext } from '@taskstream/task-processor'
import { testClock } from '@taskstream/task-testing'
import { defineJob, json } from 'taskstream'
import { expect, test } from 'vitest'
import { jobHandler } from '../../packages/task-jobs/src/handling/handle-job.ts'
import { InProcess } from '../../packages/task-jobs/src/jobs/in-process.ts'
import type { NeededEnding } from '../../packages/task-jobs/src/handling/needed-results.ts'
import { taskOf } from './answering.ts'

const price = defineJob('price', { output: json<number>() })
const total = defineJob('total', { needs: { price }, timeoutMs: 1_000 })

function handling(needed: () => Promise<readonly NeededEnding[]>): {
  clock: ReturnType<typeof testClock>
  end: Promise<unknown>
} {
  const clock = testClock(new Date())
  const environment = { repository: { push: () => [], depend: () => {} }, process: new InProcess(), needed }
  const { handle } = jobHandler(environment, total, () => {}, { concurrency: 1, ahead: false }).open('total')
  const context = {
    clock,
    aborted: undefined,
    stuck: () => {},
    signal: new AbortController().signal,
  } as unknown as HandlerContext<unknown>
  return { clock, end: Promise.resolve(handle([taskOf('a', 1)], context)) }
}

test('a job whose needs cannot be read is tried again after a second, with its try', async () => {
  const away = new TaskError('DATABASE_UNAVAILABLE', 'The database is away')
  const { end } = handling(() => Promise.reject(away))
  const error = await end.catch((error: unknown) => error)
  expect(error).toBeInstanceOf(TaskDecisionError)
  expect(error).toMatchObject({ decision: { retryAfterMs: 1_000, refunded: true } })
})

test('an error of what a job needs that does not pass is a failed try', async () => {
  const { end } = handling(() => Promise.reject(new TypeError('no list')))
  await expect(end).rejects.toThrow('no list')
})

test('the time limit of a job covers the reading of its needs', async () => {
  const begun = Promise.withResolvers<void>()
  const { clock, end } = handling(() => {
    begun.resolve()
    return new Promise(() => {})
  })
  await begun.promise
  // After its time it is asked to let go, and two seconds later it is decided without it.
  clock.advance(1_000)
  clock.advance(2_000)
  await expect(end).rejects.toMatchObject({ code: 'TASK_TIMEOUT' })
})
