/** The two façades behind the verbs of the model: how a task is submitted, and what it looks like, in the words of each. */
import { codeOf } from '@taskstream/task-testing/suite'
import { TaskDecision } from 'taskstream'
import { asyncJobs, newTask, TerminateTaskError } from 'taskstream/asyncjobs'
import type { TaskState } from 'taskstream/asyncjobs'
import { taskLib, TaskWorker } from 'taskstream/tasklib'
import type { TaskContext } from 'taskstream/tasklib'
import type { TestStream } from '../e2e/job-fixture.ts'
import type { ModelTask, Plan, TryOutcome } from './facade-model.ts'

/** A task as its users see it, so far as a model can know it. */
export type Seen = readonly [id: string, ...facts: unknown[]]

export interface Words {
  readonly topic: string
  /** Whether tasks depend on each other, and can be deleted one by one. Others can be delayed. */
  readonly hasNeeds: boolean
  prepare(): Promise<void>
  submit(plan: Plan, needs: readonly string[]): Promise<string>
  /** @returns the code of the error, if the task is refused */
  retry(id: string): Promise<unknown>
  remove(id: string): Promise<unknown>
  /** Handles tasks. @returns what ends that */
  start(concurrency: number, outcomeOf: (id: string) => TryOutcome): Promise<() => Promise<unknown>>
  seen(): Promise<Seen[]>
  /** What the model says of a task, in these words. */
  told(task: ModelTask): Seen
  destroy(): Promise<void>
}

/** How long a try may take. */
const tryMs = 5

/** Lets go when it is told to, and not before. */
function hanging(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

export function wordsOfAsyncJobs(streamOf: () => TestStream, stream: TestStream, name: string): Words {
  const queue = { name, maxTries: 3, maxRunMs: tryMs }
  const clientOf = (one: TestStream, concurrency = 1) =>
    asyncJobs(one, { queue, concurrency, retryPolicy: { duration: () => 0 } })
  const client = clientOf(stream)
  const states: Readonly<Record<NonNullable<ModelTask['why']>, TaskState>> = {
    tries: 'expired',
    deadline: 'expired',
    terminated: 'terminated',
    cancelled: 'terminated',
    unreachable: 'unreachable',
  }
  return {
    topic: `asyncjobs.${name}`,
    hasNeeds: true,
    prepare: () => client.prepare(),
    submit: async ({ mostTries: maxTries, isLate }, dependsOnIds) => {
      const deadline = isLate && { deadline: new Date(Date.now() - 60_000) }
      return (await client.enqueueTask(newTask('work', 1, { maxTries, dependsOnIds, ...deadline }))).id
    },
    retry: (id) => codeOf(() => client.retryTaskById(id)),
    remove: (id) => codeOf(() => client.deleteTask(id)),
    start: async (concurrency, outcomeOf) => {
      const own = streamOf()
      const running = clientOf(own, concurrency)
      const router = running.newTaskRouter().handleFunc('', async ({ id }, { signal }) => {
        const outcome = outcomeOf(id)
        if (outcome === 'hangs') await hanging(signal)
        if (outcome === 'terminates') throw new Error('gone', { cause: new TerminateTaskError() })
        if (outcome !== 'returns') throw new Error(outcome)
        return id
      })
      await running.run(router)
      return () => own.stop()
    },
    seen: async () => {
      const all = await client.tasks().catch(() => [])
      return all
        .filter((task) => task.queue === name)
        .map(({ id, state, tries, result }) => [id, state, tries, result?.payload === id])
    },
    told: ({ id, state, why, tries, needs, isAgain, isHeld }) => {
      const waiting = isHeld ? 'active' : needs.length > 0 ? 'blocked' : isAgain ? 'retry' : 'new'
      return [id, state === 'waits' ? waiting : state === 'done' ? 'complete' : states[why!], tries, state === 'done']
    },
    destroy: () => client.queues.deleteQueue(name),
  }
}

export function wordsOfTaskLib(streamOf: () => TestStream, stream: TestStream, queue: string): Words {
  let outcomeOf: (id: string) => TryOutcome
  const work = async (_: object, { id, signal }: TaskContext): Promise<unknown> => {
    const outcome = outcomeOf(id)
    // What is returned after the timeout comes too late.
    if (outcome === 'hangs') await hanging(signal)
    if (outcome === 'throws') throw new Error(outcome)
    if (outcome === 'terminates') return TaskDecision.failure(outcome).because('terminated')
    return id
  }
  const libOf = (one: TestStream) => {
    const made = taskLib(one, { queue, baseRetryDelaySeconds: 0 })
    return { lib: made, job: made.jobOf(made.task({ name: 'work', timeoutSeconds: tryMs / 1_000 }, work)) }
  }
  const { lib, job } = libOf(stream)
  return {
    topic: queue,
    hasNeeds: false,
    prepare: () => lib.init(),
    submit: async ({ mostTries, isLate, isDelayed }) => {
      const maxRetries = mostTries - 1
      if (!isLate) return lib.submitTask(work, { maxRetries, ...(isDelayed && { delaySeconds: 3_600 }) }, {})
      const options = { maxTries: mostTries, deadline: new Date(Date.now() - 60_000), id: crypto.randomUUID(), timeoutMs: tryMs }
      await stream.submit(job, {}, { ...options, ...(isDelayed && { delayMs: 3_600_000 }) })
      return options.id
    },
    retry: (id) => codeOf(() => stream.transaction((transaction) => stream.retry(transaction, job, id))),
    remove: () => Promise.resolve(undefined),
    start: (concurrency, given) => {
      outcomeOf = given
      const worker = new TaskWorker(libOf(streamOf()).lib, { concurrency, pollIntervalSeconds: 0.01 })
      const running = worker.run()
      return Promise.resolve(() => Promise.all([worker.shutdown(), running]))
    },
    seen: async () => {
      const all = await lib.listTasks({ limit: 1_000 })
      return all.map(({ id, state, isTerminal, retryCount, hasError, result }) => [
        id,
        state,
        isTerminal,
        retryCount,
        hasError,
        result?.value === id,
      ])
    },
    told: ({ id, state, tries, isHeld }) => {
      const said = state === 'waits' ? (isHeld ? 'running' : 'pending') : state === 'done' ? 'completed' : 'failed'
      return [id, said, state !== 'waits', Math.max(0, tries - 1), state === 'failed', state === 'done']
    },
    destroy: async () => void (await stream.transaction((transaction) => stream.tasks.destroy(transaction, queue))),
  }
}
