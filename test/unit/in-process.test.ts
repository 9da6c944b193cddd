/** What a process tells its own loops and handlers is what was committed, and nothing that was rolled back. */
import type { HandlerContext } from '@taskstream/task-processor'
import { testClock } from '@taskstream/task-testing'
import { defineJob } from 'taskstream'
import { expect, test } from 'vitest'
import { jobHandler } from '../../packages/task-jobs/src/handling/handle-job.ts'
import { InProcess } from '../../packages/task-jobs/src/jobs/in-process.ts'
import { taskOf } from './answering.ts'

const other = taskOf('other', 9)

/** Handles a job whose commit cancels another job and pushes to a topic; says what the process was told. */
async function told(runs: readonly boolean[]): Promise<string[]> {
  const process = new InProcess()
  const heard: string[] = []
  process.handling(other, () => void heard.push('lose'))
  const task = taskOf('a', 1)
  const job = defineJob('cancels')
  const { handle } = jobHandler<object, 'cancels', void, void, never>(
    { repository: { push: () => [], depend: () => {} }, process, needed: () => Promise.resolve([]) },
    job,
    ({ commit }) =>
      commit((transaction) => {
        process.cancelled(transaction, [other])
        process.pushed(transaction, 'mail')
      }),
    { concurrency: 1, ahead: false },
  ).open('cancels')
  const context = {
    clock: testClock(new Date()),
    aborted: undefined,
    signal: new AbortController().signal,
    wake: (topic: string) => void heard.push(topic),
    complete: async (decide: (transaction: object, held: readonly unknown[]) => Promise<unknown>) => {
      for (const isHeld of runs) await decide({}, isHeld ? [task] : [])
      return { completed: [], lost: [] }
    },
  } as unknown as HandlerContext<object>
  await handle([task], context)
  return heard
}

test('a commit wakes the topics that it pushed to, and tells handlers of the jobs that it cancelled', async () => {
  expect(await told([true])).toEqual(['mail', 'lose'])
  expect(await told([true, true])).toEqual(['mail', 'lose'])
})

test('a commit that was rolled back, and whose job was lost then, tells nobody', async () => {
  expect(await told([true, false])).toEqual([])
})

test('a later try of a job is told, and not the one before it', () => {
  const process = new InProcess()
  const heard: string[] = []
  const first = process.handling(other, () => void heard.push('first'))
  const second = process.handling(other, () => void heard.push('second'))
  first()
  process.committed({ topics: new Set(), cancelled: [other, taskOf('unknown', 10)], changes: new Map() }, () => {})
  second()
  process.committed({ topics: new Set(), cancelled: [other], changes: new Map() }, () => {})
  expect(heard).toEqual(['second'])
})
