/** Streams of jobs on the engine under test, and effects that handlers write: tasks of a topic that nobody handles. */
import type { Execution, FilterState, TaskCount, TaskInfo } from '@taskstream/task-api'
import { whileTested } from '@taskstream/task-testing/suite'
import { Stream } from 'taskstream'
import type { StreamOptions } from 'taskstream'
import { openSubject } from '../subject.ts'
import type { AnyTransaction, Subject, TasksOptions } from '../subject.ts'

export type TestStream = Stream<AnyTransaction, Execution>

/** A job or a topic. */
interface Named {
  readonly name: string
}

export interface JobFixture extends AsyncDisposable {
  readonly subject: Subject
  /** A stream that looks for cancelled jobs often, and reports nothing to the console. */
  streamOf(options?: StreamOptions<AnyTransaction>, tasks?: TasksOptions): TestStream
  commit<Result>(work: (transaction: AnyTransaction) => Result | Promise<Result>): Promise<Result>
  effect(transaction: AnyTransaction, what: string): Promise<void>
  /** The effects of the running test, in the order of their writes. */
  effects(): Promise<string[]>
  states(definition: Named): Promise<Record<string, number>>
  page(definition: Named): Promise<TaskInfo[]>
}

/** Opens a fixture for the tests of a `describe`. */
export function useJobFixture(): JobFixture {
  let count = 0
  return whileTested(
    () => openJobFixture(() => `effects-${count}`),
    async ({ subject }) => {
      count++
      await subject.transactions((transaction) => subject.tasks().initialize(transaction, `effects-${count}`))
    },
  )
}

async function openJobFixture(topic: () => string): Promise<JobFixture> {
  const subject = await openSubject()
  const { transactions } = subject
  const tasks = subject.tasks()
  return {
    subject,
    streamOf: (options = {}, given = {}) =>
      new Stream<AnyTransaction, Execution>(
        { repository: subject.tasks(given), transactions },
        { heartbeatIntervalMs: 50, leaseMs: 10_000, maintenanceIntervalMs: 20, migrate: false, listener: {}, ...options },
      ),
    commit: (work) => transactions(work),
    effect: async (transaction, what) => void (await tasks.push(transaction, topic(), what)),
    effects: async () => {
      const found = await transactions<TaskInfo[]>((transaction) => tasks.page(transaction, topic(), { size: 1_000 }))
      return found.map(({ identifier }) => identifier)
    },
    states: async ({ name }) => {
      const counts = await transactions<ReadonlyMap<string, ReadonlyMap<FilterState, TaskCount>>>((transaction) =>
        tasks.count(transaction, { topic: name }),
      )
      return Object.fromEntries([...(counts.get(name) ?? [])].map(([state, { count }]) => [state, count]))
    },
    page: ({ name }) => transactions<TaskInfo[]>((transaction) => tasks.page(transaction, name)),
    [Symbol.asyncDispose]: () => subject[Symbol.asyncDispose](),
  }
}
