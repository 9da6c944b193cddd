/** Shared by the tests of a verb: a registered repository, a topic for each test, and shorthands that commit. */
import { TaskDecision } from '@taskstream/task-api'
import type {
  Completion,
  FilterState,
  HeldTask,
  PushedTask,
  TaskCount,
  TaskCreation,
  TaskError,
  TaskInfo,
  TopicOptions,
} from '@taskstream/task-api'
import { afterAll, beforeAll, beforeEach } from 'vitest'
import type { AnyTransaction, Engine, Subject, Tasks } from './engine.ts'

export interface Fixture<Opened extends Subject = Subject> extends AsyncDisposable {
  readonly subject: Opened
  readonly tasks: Tasks
  /** The topic of the running test. */
  readonly topic: string
  /** Makes a new topic the current one. */
  nextTopic(options?: TopicOptions): Promise<void>
  /** Makes a repository with a registered owner of its own. */
  owner(name?: string): Promise<Tasks>
  push(...creations: (string | TaskCreation)[]): Promise<PushedTask[]>
  poll(size?: number, by?: Tasks): Promise<HeldTask[]>
  page(): Promise<TaskInfo[]>
  /** Completes tasks, and says which were lost. */
  complete(tasks: readonly HeldTask[], decision?: TaskDecision, by?: Tasks): Promise<Completion>
  /** Counts the tasks in each state. */
  states(): Promise<Record<string, number>>
  commit<Result>(work: (transaction: AnyTransaction) => Result | Promise<Result>): Promise<Result>
}

export async function openFixture<Opened extends Subject>(engine: Engine<Opened>, clock?: () => Date): Promise<Fixture<Opened>> {
  const subject = await engine.open()
  const { transactions } = subject
  const tasks = subject.tasks(clock ? { clock } : {})
  await transactions((transaction) => tasks.register(transaction))
  let count = 0
  const fixture: Fixture<Opened> = {
    subject,
    tasks,
    get topic() {
      return `topic-${count}`
    },
    nextTopic: async (options) => {
      count++
      await transactions((transaction) => tasks.initialize(transaction, fixture.topic, options))
    },
    owner: async (name) => {
      const other = subject.tasks({ ...(name === undefined ? {} : { owner: name }), ...(clock ? { clock } : {}) })
      await transactions((transaction) => other.register(transaction))
      return other
    },
    push: (...creations) => transactions<PushedTask[]>((transaction) => tasks.push(transaction, fixture.topic, creations)),
    poll: (size = 100, by = tasks) => transactions<HeldTask[]>((transaction) => by.poll(transaction, fixture.topic, { size })),
    complete: (batch, decision = TaskDecision.success(), by = tasks) =>
      transactions<Completion>((transaction) =>
        by.complete(transaction, fixture.topic, new Map(batch.map((task) => [task, decision]))),
      ),
    page: () => transactions<TaskInfo[]>((transaction) => tasks.page(transaction, fixture.topic)),
    states: async () => {
      const { topic } = fixture
      const counts = await transactions<ReadonlyMap<string, ReadonlyMap<FilterState, TaskCount>>>((transaction) =>
        tasks.count(transaction, { topic }),
      )
      return Object.fromEntries([...(counts.get(topic) ?? [])].map(([state, { count: number }]) => [state, number]))
    },
    commit: (work) => transactions(work),
    [Symbol.asyncDispose]: () => subject[Symbol.asyncDispose](),
  }
  await fixture.nextTopic()
  return fixture
}

export interface FixtureOptions {
  readonly clock?: () => Date
  /** Options of the topic that each test is given. */
  readonly topic?: TopicOptions
}

/** One fixture for the tests of a `describe`, with a topic of its own for each test. It is closed after the last test. */
export function useFixture<Opened extends Subject>(
  engine: Engine<Opened>,
  { clock, topic }: FixtureOptions = {},
): Fixture<Opened> {
  return whileTested(
    () => openFixture(engine, clock),
    (fixture) => fixture.nextTopic(topic),
  )
}

/** Opens something before the tests of a `describe`, prepares it before each, and closes it after the last. */
export function whileTested<Opened extends AsyncDisposable>(
  open: () => Promise<Opened>,
  prepare: (opened: Opened) => unknown = () => {},
): Opened {
  let opened: Opened | undefined
  beforeAll(async () => void (opened = await open()))
  beforeEach(async () => void (await prepare(opened!)))
  afterAll(() => opened?.[Symbol.asyncDispose]())
  // A `describe` reads the fixture before it is opened, so each property is looked up when a test runs.
  return new Proxy({} as Opened, {
    get: (_, name) => {
      if (!opened) throw new Error(`${String(name)} is read before the tests have begun`)
      return Reflect.get(opened, name)
    },
  })
}

/** A registered owner of its own that counts its statements. It needs an engine whose repositories take an adapter: `adapts`. */
export async function countingOwner(
  fixture: Fixture,
  clock?: () => Date,
): Promise<{ readonly tasks: Tasks; statements(): number }> {
  let count = 0
  const tasks = fixture.subject.tasks({
    ...(clock && { clock }),
    adapt: (adapter) =>
      ({
        ...adapter,
        execute: (...given: Parameters<typeof adapter.execute>) => {
          count++
          return adapter.execute(...given)
        },
      }) as typeof adapter,
  })
  await fixture.commit((transaction) => tasks.register(transaction))
  return { tasks, statements: () => count }
}

export const names = (tasks: readonly { readonly identifier: string }[]): string[] => tasks.map(({ identifier }) => identifier)

/** Returns the code of the error that `work` throws or rejects with, or else its result. */
export async function codeOf(work: () => unknown): Promise<unknown> {
  try {
    return await work()
  } catch (error) {
    return (error as TaskError).code ?? error
  }
}

/**
 * Returns the error that `work` throws or rejects with, or else its result. Within `commit`, as `codeOf` too, it lets the
 * transaction commit what was written before the error, so that a test can see it.
 */
export async function thrownBy(work: () => unknown): Promise<unknown> {
  try {
    return await work()
  } catch (error) {
    return error
  }
}
