/** One reader of the events of jobs: what is not read is kept up to a limit, and whoever reads is never left waiting. */
import type { JobChange } from '../../packages/task-jobs/src/jobs/job-change.ts'
import { getEventListeners } from 'node:events'
import { describe, expect, test } from 'vitest'
import { JobWatcher, keptEvents } from '../../packages/taskstream/src/job-watcher.ts'
import type { CheckedWatch } from '../../packages/taskstream/src/watch-options.ts'

function watcherOf(watch: Partial<CheckedWatch> = {}): {
  readonly watcher: JobWatcher
  readonly ended: JobWatcher[]
  tell(sequence: number, more?: Partial<JobChange>): void
} {
  const ended: JobWatcher[] = []
  const all = { jobs: undefined, states: undefined, signal: undefined, everyMs: 1_000 }
  const watcher = new JobWatcher({ ...all, ...watch }, (one) => void ended.push(one))
  const tell = (sequence: number, more: Partial<JobChange> = {}): void => {
    const change: JobChange = { topic: 'mail', sequence, identifier: 'a', job: 'mail', state: 'ready', ...more }
    const ref = { ...change, id: `@${sequence}`, outcome: 'created' } as const
    const unknown = { reason: undefined, tries: undefined, attempt: undefined, error: undefined }
    watcher.tell(change, { ...unknown, job: change.job, ref, state: change.state!, at: new Date(0) })
  }
  return { watcher, ended, tell }
}

const over = { done: true, value: undefined }

describe('a watcher', () => {
  test('keeps so many events for a slow reader, then drops the oldest, and says with the next how many', async () => {
    const { watcher, tell } = watcherOf()
    for (let sequence = 1; sequence <= keptEvents + 7; sequence++) tell(sequence)
    expect(await watcher.next()).toMatchObject({ value: { ref: { id: '@8' }, dropped: 7 } })
    expect(await watcher.next()).toMatchObject({ value: { ref: { id: '@9' }, dropped: 0 } })
    tell(keptEvents + 8)
    tell(keptEvents + 9)
    tell(keptEvents + 10)
    expect(await watcher.next()).toMatchObject({ value: { ref: { id: '@11' }, dropped: 1 } })
    let count = 0
    watcher.end()
    for await (const { dropped } of watcher) count += 1 + dropped
    expect(count).toBe(keptEvents - 1)
  })

  test('gives events to all who wait, in their order', async () => {
    const { watcher, tell } = watcherOf()
    const waiting = [watcher.next(), watcher.next(), watcher.next()]
    tell(1)
    tell(2)
    watcher.end()
    expect((await Promise.all(waiting)).map(({ value }) => value?.ref.id)).toEqual(['@1', '@2', undefined])
  })

  test('that ends lets what it has be read; one that is closed, or whose signal aborts, does not', async () => {
    const ending = watcherOf()
    ending.tell(1)
    ending.watcher.end()
    ending.watcher.end()
    ending.tell(2)
    expect(ending.ended).toEqual([ending.watcher])
    expect(await ending.watcher.next()).toMatchObject({ done: false })
    expect(await ending.watcher.next()).toEqual(over)
    const closing = watcherOf()
    closing.tell(1)
    expect(await closing.watcher.return()).toEqual(over)
    expect(await closing.watcher.next()).toEqual(over)
    const controller = new AbortController()
    const aborting = watcherOf({ signal: controller.signal })
    const waiting = aborting.watcher.next()
    controller.abort()
    expect(await waiting).toEqual(over)
    expect(aborting.ended).toHaveLength(1)
    {
      await using disposed = watcherOf().watcher
      expect(disposed.everyMs).toBe(1_000)
    }
  })

  test('leaves nothing on its signal, and begins with nothing if that is aborted', async () => {
    const controller = new AbortController()
    const { watcher } = watcherOf({ signal: controller.signal })
    expect(getEventListeners(controller.signal, 'abort')).toHaveLength(1)
    watcher.end()
    expect(getEventListeners(controller.signal, 'abort')).toHaveLength(0)
    const late = watcherOf({ signal: AbortSignal.abort() })
    late.tell(1)
    expect(await late.watcher.next()).toEqual(over)
  })

  test('is told of its jobs and states alone', async () => {
    const jobs = new Map<string, ReadonlySet<string> | 'all'>([
      ['mail', new Set(['letter'])],
      ['bills', 'all'],
    ])
    const { watcher, tell } = watcherOf({ jobs, states: new Set(['failed']) })
    tell(1, { job: 'letter', state: 'failed' })
    tell(2, { job: 'letter', state: 'active' })
    tell(3, { job: 'card', state: 'failed' })
    tell(4, { topic: 'bills', job: 'bills', state: 'failed' })
    tell(5, { topic: 'others', job: 'others', state: 'failed' })
    watcher.end()
    const ids: string[] = []
    for await (const { ref } of watcher) ids.push(ref.id)
    expect(ids).toEqual(['@1', '@4'])
    expect([watcher.watches('bills'), watcher.watches('others'), watcherOf().watcher.watches('others')]).toEqual([
      true,
      false,
      true,
    ])
  })
})
