/** What is known of the jobs of a watched topic: each state is told once, whoever sees it first, and what is known has a limit. */
import { TaskDecision } from '@taskstream/task-api'
import type { TaskInfo } from '@taskstream/task-api'
import {
  cancelledChange,
  completedChange,
  lostChange,
  pushedChange,
  returnedChange,
  takenChange,
} from '../../packages/task-jobs/src/jobs/job-change.ts'
import type { JobChange } from '../../packages/task-jobs/src/jobs/job-change.ts'
import { describe, expect, test } from 'vitest'
import { knownJobs, WatchedTopic } from '../../packages/taskstream/src/watched-topic.ts'
import { taskOf } from './answering.ts'

function rowOf(sequence: number, more: Partial<TaskInfo> = {}): TaskInfo {
  const created = new Date(0)
  const nothing = { state: 'ready', descent: 'ready', attempt: 0, tries: 0, priority: 0, created } as const
  return { topic: 'mail', sequence, identifier: 'a', ...nothing, ...more }
}

const held = (sequence: number, attempt = 1): ReturnType<typeof taskOf> => ({ ...taskOf('a', sequence), attempt, tries: attempt })
const pushed = (sequence: number): JobChange =>
  pushedChange('mail', { topic: 'mail', sequence, identifier: 'a', outcome: 'created' }, { identifier: 'a' }, [])!
const succeeded = (sequence: number, attempt = 1): JobChange => completedChange(held(sequence, attempt), TaskDecision.success())

/** A topic that was looked at before, at the end of which was a task. */
function topicAfter(newest: number): WatchedTopic {
  const topic = new WatchedTopic('mail', 0)
  topic.looked(topic.at, newest)
  return topic
}

describe('a state', () => {
  test('that this process has told is not told again by a look, nor the other way round', () => {
    const topic = topicAfter(0)
    expect(topic.did(pushed(1))).toMatchObject({ state: 'ready', attempt: 0 })
    expect(topic.found(rowOf(1), topic.at)).toBeUndefined()
    expect(topic.found(rowOf(1, { state: 'active', attempt: 1, tries: 1 }), topic.at)).toMatchObject({ state: 'active' })
    expect(topic.did(takenChange(held(1)))).toBeUndefined()
    expect(topic.did(succeeded(1))).toMatchObject({ state: 'succeeded' })
    expect(topic.found(rowOf(1, { state: 'succeeded', attempt: 1 }), topic.at)).toBeUndefined()
    // Its end is known for one more look, and its row is no longer read then.
    topic.looked(topic.at, 1)
    expect(topic.did(succeeded(1))).toBeUndefined()
    expect(topic.mark).toBe(0)
    topic.looked(topic.at, 1)
    expect(topic.mark).toBe(1)
    expect(topic.did(succeeded(1))).toBeDefined()
  })

  test('of another attempt is another', () => {
    const topic = topicAfter(0)
    for (const attempt of [1, 2]) {
      expect(topic.did(takenChange(held(1, attempt)))).toMatchObject({ state: 'active', attempt })
      const retry = TaskDecision.retry({ afterMs: 7 }, new Error('no'))
      expect(topic.did(completedChange(held(1, attempt), retry))).toMatchObject({ state: 'retrying', attempt })
      expect(topic.found(rowOf(1, { state: 'suspended', due: new Date(), attempt, tries: attempt }), topic.at)).toBeUndefined()
    }
  })

  test('that was read before this process changed it is old, and so is that of an earlier attempt', () => {
    const topic = topicAfter(0)
    const { at } = topic
    topic.did(takenChange(held(1)))
    expect(topic.found(rowOf(1), at)).toBeUndefined()
    expect(topic.found(rowOf(1), topic.at)).toBeUndefined()
    // A cancellation keeps the attempt.
    topic.did(pushed(2))
    const before = topic.at
    topic.did(cancelledChange('mail', held(2), '@2'))
    expect(topic.found(rowOf(2), before)).toBeUndefined()
    expect(topic.found(rowOf(2), topic.at)).toMatchObject({ state: 'ready' })
    // This process tells all that it does: the number of the attempt says when it was.
    topic.found(rowOf(1, { state: 'active', attempt: 2 }), topic.at)
    expect(topic.did(succeeded(1))).toMatchObject({ state: 'succeeded', attempt: 1 })
    expect(topic.found(rowOf(1, { state: 'active', attempt: 2 }), topic.at)).toBeUndefined()
  })

  test('of a push is not told once the job has gone on', () => {
    const topic = topicAfter(0)
    topic.did(takenChange(held(1)))
    expect(topic.did(pushed(1))).toBeUndefined()
  })

  test('that was there at the first look is not told, but when this process says that it was the one', () => {
    const topic = new WatchedTopic('mail', 0)
    for (const sequence of [1, 2, 3]) expect(topic.found(rowOf(sequence), topic.at)).toBeUndefined()
    topic.looked(topic.at, 3)
    expect(topic.mark).toBe(3)
    expect(topic.did(pushed(1))).toMatchObject({ state: 'ready' })
    expect(topic.did(pushed(1))).toBeUndefined()
    expect(topic.found(rowOf(2), topic.at)).toBeUndefined()
    expect(topic.found(rowOf(2, { state: 'filtered', reason: 'cancelled' }), topic.at)).toMatchObject({ reason: 'cancelled' })
  })

  test('of a job that is known is told with what is known of it', () => {
    const topic = topicAfter(0)
    topic.did(takenChange({ ...held(1), externalId: 'mine', headers: { job: 'letter' } }))
    expect(topic.did(cancelledChange('letter', held(1), '@1'))).toMatchObject({
      id: 'mine',
      attempt: 1,
      tries: 1,
      state: 'filtered',
    })
    const unseen = topic.did(cancelledChange('letter', held(2), 'other'))
    expect([unseen?.id, unseen?.attempt]).toEqual(['other', undefined])
    expect(topic.found(rowOf(2, { state: 'filtered', reason: 'cancelled', attempt: 3 }), topic.at)).toBeUndefined()
  })
})

describe('a job', () => {
  test('that is open is followed, and one that has ended is not; the one that was looked at longest ago comes first', () => {
    const topic = topicAfter(0)
    for (const sequence of [1, 2, 3]) topic.did(pushed(sequence))
    topic.did(succeeded(2))
    const followed = (limit = 10, but: readonly number[] = []): number[] =>
      topic.followed(limit, new Set(but)).map(({ sequence }) => sequence)
    expect(followed()).toEqual([1, 3])
    expect(followed(1)).toEqual([1])
    expect(followed(10, [1])).toEqual([3])
    topic.unchanged([1, 99])
    expect(followed()).toEqual([3, 1])
    topic.gone(3, topic.at)
    expect(followed()).toEqual([1])
    const { at } = topic
    topic.did(takenChange(held(1)))
    topic.gone(1, at)
    expect(followed()).toEqual([1])
  })

  test('that was lost, or handed back from a transaction, is read, whatever is known of it', () => {
    const topic = topicAfter(0)
    topic.did(takenChange(held(1)))
    expect(topic.followed(10, new Set())).toEqual([{ sequence: 1, state: 'active' }])
    expect(topic.did(lostChange(held(1)))).toBeUndefined()
    expect(topic.did(lostChange(held(2)))).toBeUndefined()
    expect(topic.followed(10, new Set()).map(({ state }) => state)).toEqual([undefined, undefined])
    expect(topic.found(rowOf(1, { state: 'active', attempt: 1 }), topic.at)).toBeUndefined()
    expect(topic.found(rowOf(2, { state: 'ready', attempt: 1 }), topic.at)).toMatchObject({ state: 'ready' })
    expect(topic.followed(10, new Set()).map(({ state }) => state)).toEqual(['active', 'ready'])
  })

  test('that waits is followed as its row has it', () => {
    const topic = topicAfter(0)
    const one = { topic: 'mail', sequence: 1, identifier: 'a', outcome: 'created' } as const
    topic.did(pushedChange('mail', one, { identifier: 'a', delayMs: 7 }, [])!)
    topic.did(pushedChange('mail', { ...one, sequence: 2 }, { identifier: 'a', suspended: true }, [7])!)
    expect(topic.followed(10, new Set()).map(({ state }) => state)).toEqual(['suspended', 'suspended'])
  })

  test('is forgotten for another, at the limit, and never told as new afterwards', () => {
    const topic = topicAfter(0)
    for (let sequence = 1; sequence <= knownJobs + 5; sequence++) topic.did(pushed(sequence))
    expect(topic.followed(Infinity, new Set())).toHaveLength(knownJobs)
    expect(topic.mark).toBe(5)
  })
})

test('jobs that are committed out of order are found for one look more', () => {
  const topic = topicAfter(10)
  topic.looked(topic.at, 20)
  expect(topic.mark).toBe(10)
  topic.looked(topic.at, 20)
  expect(topic.mark).toBe(20)
})

test('what became of a job is told as its row will say it', () => {
  const task = { ...held(1, 3), maxTries: 3 }
  const told = (decision: TaskDecision): unknown => {
    const { state, reason, tries, error } = completedChange(task, decision)
    return [state, reason, tries, error]
  }
  expect(told(TaskDecision.success('sent'))).toEqual(['succeeded', undefined, 3, undefined])
  expect(told(TaskDecision.filter('why').because('deadline'))).toEqual(['filtered', 'deadline', 3, 'why'])
  expect(told(TaskDecision.suspension())).toEqual(['suspended', undefined, 3, undefined])
  expect(told(TaskDecision.retry({ afterMs: 7 }, 'no'))).toEqual(['failed', 'tries', 3, 'no'])
  expect(told(TaskDecision.snooze({ afterMs: 7 }))).toEqual(['retrying', undefined, 2, undefined])
  expect(told(TaskDecision.failure('x'.repeat(2_000)))).toEqual(['failed', undefined, 3, 'x'.repeat(1_000)])
  expect(completedChange(held(1), TaskDecision.snooze({ afterMs: 7 }))).toMatchObject({ state: 'delayed', tries: 0 })
  expect(completedChange(held(1), TaskDecision.retry({ afterMs: 7 }))).toMatchObject({ state: 'retrying', tries: 1 })
  expect(returnedChange(held(1))).toMatchObject({ state: 'ready', tries: 0, attempt: 1 })
})
