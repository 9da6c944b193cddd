/** Four ways through the code that are gone most often, each gone several times before it is traced: what is kept is there then. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { PushedTask } from '@taskstream/task-api'
import { eachTask, localNotifier, TaskNode } from '@taskstream/task-processor'
import type { ProcessOptions, TaskListener } from '@taskstream/task-processor'
import { PeriodicScheduler, periodicTasks } from '@taskstream/task-scheduler'
import type { PeriodicTasks } from '@taskstream/task-scheduler'
import { testClock } from '@taskstream/task-testing'
import type { AnyTransaction, Subject } from '../subject.ts'
import { begin, end } from './trace.ts'
import type { Entry } from './trace.ts'

type Flow = (subject: Subject) => Promise<readonly Entry[]>

const topic = 'letters'
/** Longer than anything that a node or a scheduler still does after what was asked of it. */
const restMs = 200

/** In the caller's transaction. */
const push: Flow = async ({ tasks: open, transactions }) => {
  const tasks = open()
  await transactions((transaction) => tasks.initialize(transaction, topic))
  const once = (): Promise<readonly Entry[]> =>
    transactions(async (transaction) => {
      begin()
      await tasks.push(transaction, topic, { identifier: 'customer', input: 'text' })
      return end()
    })
  return await warmed(once)
}

/** From a notifier's call to a batch of one task that is completed. */
const wake: Flow = (subject) =>
  processed(
    subject,
    {},
    (notify) => (begin(), notify()),
    () => {},
  )

/** From the end of a handler to the commit of its transaction. */
const decide: Flow = (subject) => processed(subject, { mode: 'transactional' }, (notify) => notify(), begin)

async function processed(
  { tasks: open, transactions }: Subject,
  options: Pick<ProcessOptions<AnyTransaction>, 'mode'>,
  start: (notify: () => void) => void,
  handle: () => void,
): Promise<readonly Entry[]> {
  const tasks = open()
  const notifier = localNotifier()
  let completed = Promise.withResolvers<readonly Entry[]>()
  const listener: TaskListener = { onComplete: () => completed.resolve(end()) }
  // It stands still: nothing but the notifier wakes the node, and no heart beats meanwhile.
  const clock = testClock(new Date())
  await using node = new TaskNode({ repository: tasks, transactions, notifier, listener, clock })
  await transactions((transaction) => tasks.initialize(transaction, topic))
  node.process(topic, { ...options, concurrency: 1, handler: eachTask(handle) })
  await node.start()
  const once = async (): Promise<readonly Entry[]> => {
    await sleep(restMs)
    completed = Promise.withResolvers()
    await transactions<PushedTask[]>((transaction) => tasks.push(transaction, topic, 'customer'))
    start(() => notifier.notify(topic))
    return await completed.promise
  }
  return await warmed(once)
}

/** From the moment that a timer is due to the commit of the task that is pushed. */
const timer: Flow = async ({ tasks: open, transactions }) => {
  const clock = testClock(new Date('2026-01-01'))
  const tasks = open({ clock: clock.now })
  const timers = periodicTasks(tasks) as PeriodicTasks<AnyTransaction>
  await transactions(async (transaction) => {
    await tasks.initialize(transaction, topic)
    await timers.schedule(transaction, { id: 'reminder', topic, timer: '*:*:*', whileUnfinished: 'push' })
  })
  let fired = Promise.withResolvers<readonly Entry[]>()
  const listener = { onFired: () => fired.resolve(end()) }
  await using scheduler = new PeriodicScheduler({ repository: tasks, transactions, listener, clock })
  await scheduler.start()
  const once = async (): Promise<readonly Entry[]> => {
    await sleep(restMs)
    fired = Promise.withResolvers()
    begin()
    clock.advance(1_000)
    return await fired.promise
  }
  return await warmed(once)
}

/** What a flow goes through when it has been gone through before. */
async function warmed(once: () => Promise<readonly Entry[]>): Promise<readonly Entry[]> {
  for (let round = 0; round < 4; round++) await once()
  return once()
}

export const flows: Readonly<Record<string, Flow>> = {
  'push of one': push,
  'wake → poll → handler → completed': wake,
  'decision → committed, transactional': decide,
  'timer due → pushed': timer,
}
