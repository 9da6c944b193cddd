/** One call of a handler: what it can ask for, what is told of it, and what happens when its time is up. */
import { tracingChannel } from 'node:diagnostics_channel'
import { TaskDecision, TaskError } from '@taskstream/task-api'
import type { HeldTask } from '@taskstream/task-api'
import { describe, expect, test } from 'vitest'
import type { BatchEnvironment } from '../../packages/task-processor/src/batches/batch.ts'
import { completedAlready, Handling } from '../../packages/task-processor/src/batches/handling.ts'
import { safeListener } from '../../packages/task-processor/src/core/listener.ts'
import type { BatchHandler, HandlerContext } from '../../packages/task-processor/src/core/task-handler.ts'
import { answering, soon, tasksOf } from './answering.ts'
import type { Answering } from './answering.ts'
import { ringingClock } from './ringing-clock.ts'
import type { RingingClock } from './ringing-clock.ts'

const lost = new TaskError('LEASE_LOST', 'lost')
const shutdown = new TaskError('SHUTDOWN', 'over')
const success = TaskDecision.success()

interface Called {
  readonly handling: Handling<object>
  readonly tasks: readonly HeldTask[]
  readonly clock: RingingClock
  readonly told: Answering['told']
  /** The reasons with which the batch was taken from its handler. */
  readonly stuck: TaskError[]
  readonly outcome: Promise<unknown>
}

function call(handler: BatchHandler<object>, more: Partial<BatchEnvironment<object>> = {}): Called {
  const answers = answering('onStart', 'onDispatched')
  const clock = ringingClock()
  const tasks = tasksOf('ab')
  clock.pass(5)
  const handling = new Handling(answers.handledBy(handler, { clock, ...more }), tasks)
  const stuck: TaskError[] = []
  clock.pass(7)
  const outcome = handling.run(
    () => Promise.reject(new Error('not asked for here')),
    (reason) => void stuck.push(reason),
  )
  return { handling, tasks, clock, told: answers.told, stuck, outcome }
}

/** Calls a handler that goes on for ever, and returns its context. */
function hang(more?: Partial<BatchEnvironment<object>>): Called & { readonly context: HandlerContext<object> } {
  let context: HandlerContext<object> | undefined
  const called = call((_, given) => {
    context = given
    return new Promise(() => {})
  }, more)
  return { ...called, context: context! }
}

describe('a handler that is asked to let go', () => {
  test('sees why in its context, and its signal says the same, whenever it is looked at first', () => {
    const early = hang()
    const { signal } = early.context
    expect([early.context.aborted, signal.aborted, early.handling.aborted]).toEqual([undefined, false, undefined])
    const late = hang()
    for (const { handling } of [early, late]) handling.abort(lost)
    expect([early.context.aborted, early.handling.aborted, late.context.aborted]).toEqual([lost, lost, lost])
    expect([signal.aborted, signal.reason]).toEqual([true, lost])
    expect([late.context.signal.aborted, late.context.signal.reason]).toEqual([true, lost])
    expect(early.context.signal).toBe(signal)
    // A handler may spread its context.
    expect({ ...late.context }).toMatchObject({ aborted: lost, signal: late.context.signal })
  })

  test('twice keeps the first reason', () => {
    const { handling, context } = hang()
    handling.abort(lost)
    handling.abort(shutdown)
    expect([handling.aborted, context.aborted, context.signal.reason]).toEqual([lost, lost, lost])
  })
})

describe('when the time of a handler is up', () => {
  test('it is asked to let go, and told that it took too long', () => {
    const { clock, context, stuck, told } = hang({ timeoutMs: 100, abortMs: 30 })
    clock.pass(99)
    expect(context.aborted).toBeUndefined()
    clock.pass(1)
    expect(context.signal.reason).toMatchObject({ code: 'TASK_TIMEOUT', data: { timeoutMs: 100, topic: 'mail' } })
    expect([stuck, told.map(([name]) => name)]).toEqual([[], ['onStart', 'onDispatched']])
  })

  test('and the time to let go too, its batch is taken from it, and it is told how long it has been held', () => {
    const { clock, context, stuck, tasks, told } = hang({ timeoutMs: 100, abortMs: 30 })
    clock.pass(129)
    expect(stuck).toEqual([])
    clock.pass(1)
    expect(stuck).toEqual([context.aborted])
    // The batch was made seven milliseconds before its handler was called.
    expect(told.at(-1)).toEqual(['onStuck', { topic: 'mail', tasks, heldMs: 137 }])
  })

  test('it is taken to task no more, once it has ended or has let go', async () => {
    const ended = call(() => undefined, { timeoutMs: 100 })
    await soon(ended.outcome)
    const failing = call(() => Promise.reject(lost), { timeoutMs: 100 })
    await expect(failing.outcome).rejects.toBe(lost)
    const gate = Promise.withResolvers<void>()
    const letting = call(() => gate.promise, { timeoutMs: 100, abortMs: 30 })
    letting.clock.pass(100)
    gate.resolve()
    await soon(letting.outcome)
    for (const { clock, stuck, told } of [ended, failing, letting]) {
      clock.pass(1_000)
      expect([stuck, told.map(([name]) => name)]).toEqual([[], ['onStart', 'onDispatched']])
    }
    expect([ended.handling.aborted, failing.handling.aborted]).toEqual([undefined, undefined])
  })
})

describe('the context of a handler', () => {
  test('makes a decision of an error by the retry policy', () => {
    const { context, tasks } = hang({ retry: (task) => task.sequence * 1_000 })
    const decisions = tasks.map((task) => context.failed(task, lost))
    expect(decisions).toEqual([TaskDecision.retry({ afterMs: 1_000 }, lost), TaskDecision.retry({ afterMs: 2_000 }, lost)])
  })

  test('tells at which task the handler is, and which task it has left behind', () => {
    const { context, handling, tasks, told } = hang()
    expect(handling.event).toEqual({ topic: 'mail', tasks })
    expect('at' in handling.event).toBe(false)
    context.at(tasks[1]!)
    expect(handling.event).toEqual({ topic: 'mail', tasks, at: tasks[1] })
    context.stuck(tasks[0]!, 12)
    expect(told.at(-1)).toEqual(['onStuck', { topic: 'mail', tasks, at: tasks[0], heldMs: 12 }])
  })

  test('reports an error of some of the tasks', () => {
    const { context, tasks, told } = hang()
    const decisions = new Map([[tasks[1]!, success]])
    context.at(tasks[1]!)
    context.report(lost, decisions)
    const about = { topic: 'mail', tasks: [tasks[1]], at: tasks[1], activity: 'handle', error: lost, decisions }
    expect(told.at(-1)).toEqual(['onError', about])
  })

  test('knows the topic and the clock, and wakes other topics', () => {
    const woken: string[] = []
    const { context, clock } = hang({ wake: (topic) => void woken.push(topic) })
    context.wake('bills')
    expect([context.topic, context.clock, woken]).toEqual(['mail', clock, ['bills']])
  })
})

test('what the listener returns at the start comes with every later event of the batch', async () => {
  const seen: unknown[] = []
  const note = ({ trace }: { trace?: unknown }): void => void seen.push(trace)
  const listener = safeListener({ onStart: () => 'span', onDispatched: note, onStuck: note })
  const { context, handling } = hang({ listener })
  context.stuck(handling.event.tasks[0]!, 1)
  expect([seen, handling.event.trace]).toEqual([['span', 'span'], 'span'])
})

test('tracing channels see each call of a handler with its event, and what it returns', async () => {
  const seen: unknown[] = []
  const spans = {
    start: (event: object) => void seen.push({ ...event }),
    end: () => {},
    asyncStart: () => {},
    asyncEnd: ({ result }: { result?: unknown }) => void seen.push(result),
    error: () => {},
  }
  const channel = tracingChannel('taskstream:handle')
  const decisions = new Map([[tasksOf('a')[0]!, success]])
  const handler = (): typeof decisions => decisions
  expect(await soon(call(handler).outcome)).toBe(decisions)
  expect(seen).toEqual([])
  channel.subscribe(spans)
  try {
    const { outcome, tasks } = call(handler)
    expect(await soon(outcome)).toBe(decisions)
    expect(seen).toEqual([{ topic: 'mail', tasks }, decisions])
  } finally {
    channel.unsubscribe(spans)
  }
})

test('a second completion is refused with the name of the topic', () => {
  expect(completedAlready('mail')).toMatchObject({ code: 'LIFECYCLE', data: { topic: 'mail' } })
})
