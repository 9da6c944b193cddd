/** What a worker says of its work, when it ends by itself, and what probes learn of it. */
import { TaskDecision, TaskError } from '@taskstream/task-api'
import type { HeldTask } from '@taskstream/task-api'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { Endings } from '../../packages/task-cli/src/work/endings.ts'
import { Progress } from '../../packages/task-cli/src/work/progress.ts'
import { completedEvent } from '../../packages/task-processor/src/batches/decisions.ts'
import { taskOf } from './answering.ts'

const task = taskOf('a', 7)
const topic = task.topic

describe('the progress', () => {
  const said: string[] = []
  const progressOf = (verbose = false): Progress => new Progress((line) => said.push(line), verbose)
  const completed = (
    progress: Pick<Progress, 'began' | 'ended' | 'listener'>,
    decision: TaskDecision,
    of: HeldTask = task,
  ): void => {
    progress.began(of)
    progress.ended(of)
    const event = { topic, tasks: [of] }
    progress.listener.onComplete?.(completedEvent(event, { completed: [of], lost: [] }, new Map([[of, decision]])))
  }
  beforeEach(() => void said.splice(0))

  test('counts each task once it is written, and says nothing twice', () => {
    const progress = progressOf()
    progress.saySummary()
    completed(progress, TaskDecision.success())
    completed(progress, TaskDecision.success())
    completed(progress, TaskDecision.failure())
    completed(progress, TaskDecision.suspension())
    progress.listener.onReturned?.({ topic, tasks: [task] })
    progress.listener.onLost?.({ topic, tasks: [task] })
    progress.saySummary()
    progress.saySummary()
    expect(said).toEqual(['nothing to do', '2 succeeded, 1 suspended, 1 failed, 1 returned, 1 lost'])
  })

  test('is said again and again while something is at work', () => {
    const progress = progressOf()
    progress.began(task)
    progress.saySummary()
    progress.saySummary()
    expect(said).toEqual(['1 at work', '1 at work'])
  })

  test('tells a retry from a failure, as the database will: by the tries that are left', () => {
    const progress = progressOf(true)
    completed(progress, TaskDecision.retry({ afterMs: 5_000 }, 'oh'), { ...task, tries: 2, maxTries: 3 })
    completed(progress, TaskDecision.retry({ afterMs: 5_000 }, 'oh'), { ...task, tries: 3, maxTries: 3 })
    completed(progress, TaskDecision.snooze({ afterMs: 5_000 }), { ...task, tries: 3, maxTries: 3 })
    expect(progress.summary).toBe('2 to be retried, 1 failed')
    expect(said.map((line) => line.replace(/^\S+ /, '').replace(/ \(\S+\)$/, ''))).toEqual([
      'to be retried in 5s, try 2: oh',
      'failed, try 3: oh',
      'to be retried in 5s, try 3',
    ])
  })

  test('says of each task how long it was at work, if that is asked for', () => {
    let now = 1_000
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => now)
    onTestFinished(() => clock.mockRestore())
    const progress = progressOf(true)
    progress.began(task)
    now += 2_500
    completed({ began: () => {}, ended: (of) => progress.ended(of), listener: progress.listener }, TaskDecision.success())
    progress.listener.onReturned?.({ topic, tasks: [taskOf('b', 8)] })
    expect(said).toEqual([`${topic}/a@7 succeeded, try ${task.tries} (2.5s)`, `${topic}/b@8 returned`])
    expect(progress.atWork).toBe(0)
  })

  test('says whose work does not let go, what is not processed at all, and what it was asked for', () => {
    const { listener } = progressOf()
    listener.onStuck?.({ topic, heldMs: 5_000, tasks: [task, taskOf('b', 8)] })
    listener.onFatal?.({ topic, error: new Error('no such topic') })
    listener.onQuiet?.({ quiet: true })
    listener.onQuiet?.({ quiet: false })
    expect(said).toEqual([
      `${topic}/a@7, ${topic}/b@8: the work has not ended in time, and is decided without it`,
      `${topic} is not processed: no such topic`,
      'asked to take no more tasks: what is at work is finished',
      'asked to take tasks again',
    ])
  })

  test('says what goes wrong beside the tasks, on one line', () => {
    const { listener } = progressOf()
    const error = new TaskError('DATABASE_UNAVAILABLE', 'away\nfor now')
    listener.onError?.({ activity: 'poll', topic, error })
    listener.onError?.({ activity: 'handle', topic, tasks: [task], error })
    listener.onRecovered?.({ activity: 'poll', topic })
    listener.onLeaseLost?.({ leaseMs: 30_000 })
    expect(said).toEqual([
      `${topic}, poll: away for now (DATABASE_UNAVAILABLE)`,
      `${topic}, poll: works again`,
      'no heartbeat came through for 30s: others may take the tasks of this worker',
    ])
  })
})

describe('a worker that ends by itself', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())
  const ends: string[] = []
  const endingsOf = (options: ConstructorParameters<typeof Endings>[1]): Endings => {
    ends.splice(0)
    return new Endings(['a', 'b'], options, (why) => ends.push(why))
  }

  test('does so when every topic is empty, and nothing has worked since that could have pushed more', () => {
    const endings = endingsOf({ untilEmpty: true })
    const empty = (name: string): unknown => endings.listener.onEmpty?.({ topic: name })
    empty('a')
    endings.began(task)
    empty('b')
    empty('a')
    endings.ended(task)
    empty('b')
    expect(ends).toEqual([])
    empty('a')
    expect(ends).toEqual(['nothing is ready any more'])
  })

  test('does so when it was quiet for so long, and not while something works', () => {
    using endings = endingsOf({ quietAfterMs: 1_000 })
    endings.start()
    vi.advanceTimersByTime(999)
    endings.began(task)
    vi.advanceTimersByTime(60_000)
    endings.ended(task)
    vi.advanceTimersByTime(999)
    expect(ends).toEqual([])
    vi.advanceTimersByTime(1)
    expect(ends).toEqual(['there was nothing to do'])
  })

  test('does so when its time is up, whatever works', () => {
    using endings = endingsOf({ forMs: 1_000 })
    endings.start()
    endings.began(task)
    vi.advanceTimersByTime(1_000)
    expect(ends).toEqual(['its time is up'])
  })

  test('does not if it was not asked to', () => {
    using endings = endingsOf({})
    endings.start()
    for (const name of ['a', 'b']) endings.listener.onEmpty?.({ topic: name })
    vi.advanceTimersByTime(86_400_000)
    expect(ends).toEqual([])
  })
})
