/** The fixture of the tests of nodes: a topic for each test, and nodes with frequent maintenance. */
import type {
  Completion,
  FilterState,
  HeldTask,
  PushedTask,
  TaskCount,
  TaskCreation,
  TaskInfo,
  TopicOptions,
  TransactionSource,
} from '@taskstream/task-api'
import { TaskNode } from '@taskstream/task-processor'
import type { TaskNodeOptions } from '@taskstream/task-processor'
import { whileTested } from '@taskstream/task-testing/suite'
import { openSubject } from '../subject.ts'
import type { AnyTransaction, Subject, Tasks } from '../subject.ts'
import { watchedClock } from './watched-clock.ts'
import type { WatchedClock } from './watched-clock.ts'

export type NodeOptions = Partial<TaskNodeOptions<AnyTransaction>>

export interface NodeFixture extends AsyncDisposable {
  readonly subject: Subject
  /** The repository of the running test. */
  readonly tasks: Tasks
  readonly topic: string
  /** Begins a test: a new topic, and a new owner. */
  next(options?: TopicOptions): Promise<void>
  /** Makes another topic the one that the fixture pushes to and reads. The topic need not exist. */
  turnTo(topic: string): void
  push(...creations: (string | TaskCreation)[]): Promise<PushedTask[]>
  /** Counts the tasks of the topic by state. */
  states(): Promise<Record<string, number>>
  page(): Promise<TaskInfo[]>
  poll(size?: number, by?: Tasks): Promise<HeldTask[]>
  commit<Result>(work: (transaction: AnyTransaction) => Result | Promise<Result>): Promise<Result>
  complete(work: (transaction: AnyTransaction) => Completion | Promise<Completion>): Promise<Completion>
  nodeOf(options?: NodeOptions): TaskNode<AnyTransaction>
  /** Returns a clock that only the test moves, with a node and a repository that go by it. */
  clocked(options?: NodeOptions, wrap?: (tasks: Tasks) => Tasks): Clocked
}

export interface Clocked {
  readonly clock: WatchedClock
  readonly tasks: Tasks
  readonly node: TaskNode<AnyTransaction>
  /**
   * Moves the clock on, unless the node waits for the database. Otherwise a slow answer would seem to take as long as the test
   * waits for it, and a lease could run out.
   */
  pass(ms: number): void
}

/** Opens a fixture for the tests of a `describe`, each with its own topic and owner, and closes it after the last of them. */
export function useNodeFixture(name: string, topic?: TopicOptions): NodeFixture {
  return whileTested(
    () => openNodeFixture(name),
    (fixture) => fixture.next(topic),
  )
}

export async function openNodeFixture(name: string): Promise<NodeFixture> {
  const subject = await openSubject()
  const { transactions } = subject
  let count = 0
  let topic = ''
  let tasks = subject.tasks()
  const fixture: NodeFixture = {
    subject,
    get tasks() {
      return tasks
    },
    get topic() {
      return topic
    },
    next: async (options) => {
      tasks = subject.tasks()
      fixture.turnTo(`${name}-${count++}`)
      await transactions((transaction) => tasks.initialize(transaction, topic, options))
    },
    turnTo: (other) => void (topic = other),
    push: (...creations) => transactions<PushedTask[]>((transaction) => tasks.push(transaction, topic, creations)),
    states: async () => {
      const counts = await transactions<ReadonlyMap<string, ReadonlyMap<FilterState, TaskCount>>>((transaction) =>
        tasks.count(transaction, { topic }),
      )
      return Object.fromEntries([...(counts.get(topic) ?? [])].map(([state, { count: number }]) => [state, number]))
    },
    page: () => transactions<TaskInfo[]>((transaction) => tasks.page(transaction, topic)),
    poll: (size = 100, by = tasks) => transactions<HeldTask[]>((transaction) => by.poll(transaction, topic, { size })),
    commit: (work) => transactions(work),
    complete: (work) => transactions<Completion>(work),
    nodeOf: (options = {}) =>
      new TaskNode({
        repository: tasks,
        transactions,
        heartbeatIntervalMs: 50,
        leaseMs: 10_000,
        maintenanceIntervalMs: 20,
        ...options,
      }),
    clocked: (options = {}, wrap = (own) => own) => {
      const clock = watchedClock()
      const timed = wrap(subject.tasks({ clock: clock.now }))
      const { source, isAsked } = watched(options.transactions ?? transactions)
      const node = new TaskNode({ repository: timed, clock, ...options, transactions: source })
      return { clock, tasks: timed, node, pass: (ms) => void (isAsked() || clock.advance(ms)) }
    },
    [Symbol.asyncDispose]: () => subject[Symbol.asyncDispose](),
  }
  return fixture
}

/** Returns the same transactions, and a function that says whether one of them is under way. */
function watched(source: TransactionSource<AnyTransaction>): {
  readonly source: TransactionSource<AnyTransaction>
  readonly isAsked: () => boolean
} {
  let open = 0
  const counted = (ask: TransactionSource<AnyTransaction>): TransactionSource<AnyTransaction> =>
    new Proxy(ask, {
      apply: async (target, self, asked) => {
        open++
        try {
          return (await Reflect.apply(target, self, asked)) as unknown
        } finally {
          open--
        }
      },
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name)
        return name === 'autocommit' && value ? counted(value as TransactionSource<AnyTransaction>) : value
      },
    })
  return { source: counted(source), isAsked: () => open > 0 }
}
