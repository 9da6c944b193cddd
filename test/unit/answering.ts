/** What batches are written to, as a test wants it to answer: what was asked, what was told, and for how long was waited. */
import type { Completion, HeldTask, TaskDecision, TransactionSource } from '@taskstream/task-api'
import type { BatchEnvironment } from '../../packages/task-processor/src/batches/batch.ts'
import { SharedCommits } from '../../packages/task-processor/src/batches/shared-commits.ts'
import { SharedCompletions } from '../../packages/task-processor/src/batches/shared-completions.ts'
import type { BatchHandler } from '../../packages/task-processor/src/core/task-handler.ts'
import { Dispatcher } from '../../packages/task-processor/src/core/dispatcher.ts'
import { HungHandlers } from '../../packages/task-processor/src/core/hung-handlers.ts'
import { safeListener } from '../../packages/task-processor/src/core/listener.ts'
import type { SafeListener, TaskListener } from '../../packages/task-processor/src/core/listener.ts'
import type { CompletingEnvironment } from '../../packages/task-processor/src/batches/completing.ts'
import type { Clock } from '../../packages/task-processor/src/core/clock.ts'

export type Verb = 'complete' | 'hand back' | 'reclaim'
type Decided = ReadonlyMap<HeldTask, TaskDecision>

export interface Answering {
  /** Decides on what is asked, up to some number: throws, or says which of the tasks are lost. */
  answer: (verb: Verb, names: string, decisions: Decided) => void | readonly HeldTask[]
  /** `complete a,b`, in the order of asking; of another topic than `mail` it is said. */
  readonly asked: string[]
  /** What the listener was told, but for what only says that something begins. */
  readonly told: [event: string, about: Record<string, unknown>][]
  /** Each pause; it is over at once. */
  readonly pauses: number[]
  /** How each transaction was begun. */
  readonly begun: ('transaction' | 'autocommit')[]
  /** Thrown instead of beginning the next transactions. */
  readonly refusals: unknown[]
  readonly clock: Clock
  readonly listener: SafeListener
  readonly dispatcher: Dispatcher<object>
  readonly transactions: TransactionSource<object>
  readonly environment: CompletingEnvironment<object>
  /** Of batches with this handler. */
  handledBy(handler: BatchHandler<object>, more?: Partial<BatchEnvironment<object>>): BatchEnvironment<object>
}

/** Who goes on for ever is to be seen by what it did. */
const enough = 200

const unheard = new Set(['onStart', 'onDispatched', 'onCallback'])

export function taskOf(name: string, sequence = 1): HeldTask {
  return {
    topic: 'mail',
    sequence,
    identifier: name,
    attempt: 1,
    tries: 1,
    priority: 0,
    lease: '' as unknown as HeldTask['lease'],
  }
}

export function tasksOf(names: string): HeldTask[] {
  return [...names].map((name, index) => taskOf(name, index + 1))
}

export function namesOf(tasks: Iterable<HeldTask>): string {
  return [...tasks].map(({ identifier }) => identifier).join(',')
}

/** What comes by itself, without a move of a clock: by the next turns of the event loop, or not at all. */
export async function soon<Result>(promise: Promise<Result>): Promise<Result> {
  const seen = { over: false }
  const noted = promise.finally(() => (seen.over = true))
  noted.catch(() => {})
  for (let turn = 0; turn < 50 && !seen.over; turn++) await new Promise((resolve) => setImmediate(resolve))
  if (!seen.over) throw new Error('That does not come by itself')
  return noted
}

/** The rejections that nobody has listened to, until it is disposed of. */
export function unheardOf(): { readonly errors: unknown[] } & Disposable {
  const errors: unknown[] = []
  const hear = (error: unknown): void => void errors.push(error)
  process.on('unhandledRejection', hear)
  return { errors, [Symbol.dispose]: () => void process.off('unhandledRejection', hear) }
}

/** `heard` are events that are told too, though they only say that something begins. */
export function answering(...heard: readonly string[]): Answering {
  const asked: string[] = []
  const told: Answering['told'] = []
  const pauses: number[] = []
  const begun: Answering['begun'] = []
  const refusals: unknown[] = []
  /** What was written is held no more. */
  const done = new WeakSet<HeldTask>()
  const decide = (verb: 'complete' | 'hand back', topic: string, decisions: Decided): Completion => {
    asked.push(`${verb} ${namesOf(decisions.keys())}${topic === 'mail' ? '' : ` of ${topic}`}`)
    const answer = asked.length < enough ? answers.answer(verb, namesOf(decisions.keys()), decisions) : undefined
    const tasks = [...decisions.keys()]
    const lost = new Set([...(answer ?? []), ...tasks.filter((task) => done.has(task))])
    for (const task of tasks) done.add(task)
    return { completed: tasks.filter((task) => !lost.has(task)), lost: tasks.filter((task) => lost.has(task)) }
  }
  const repository = {
    complete: async (_: object, topic: string, decisions: Decided) => decide('complete', topic, decisions),
    handBack: async (_: object, topic: string, tasks: Iterable<HeldTask>) =>
      decide('hand back', topic, new Map([...tasks].map((task) => [task, undefined as never]))),
    reclaim: async (_: object, topic: string, known: Iterable<HeldTask>) => {
      asked.push(`reclaim ${topic} but ${namesOf(known)}`)
      answers.answer('reclaim', namesOf(known), new Map())
      return 0
    },
    hold: async (_: object, __: string, tasks: readonly HeldTask[]) => ({ held: tasks, lost: [] }),
    limitStatements: async () => {},
  } as unknown as CompletingEnvironment<object>['repository']
  const beginning =
    (how: 'transaction' | 'autocommit'): TransactionSource<object> =>
    async (work) => {
      begun.push(how)
      if (refusals.length > 0) throw refusals.shift()
      return work({})
    }
  const transactions = Object.assign(beginning('transaction'), { autocommit: beginning('autocommit') })
  const hear = (name: string) => (event: Record<string, unknown>) =>
    void ((unheard.has(name) && !heard.includes(name)) || told.push([name, event]))
  const names = Object.keys(safeListener({}))
  const listener = safeListener(Object.fromEntries(names.map((name) => [name, hear(name)])) as TaskListener)
  const clock: Clock = {
    monotonicMs: () => 0,
    after: (ms, callback) => {
      if (pauses.push(ms) > enough) throw new Error('paused too often')
      queueMicrotask(callback)
      return () => {}
    },
  }
  const dispatcher = new Dispatcher({ repository, transactions, statementTimeoutMs: 60_000 })
  const environment = { topic: 'mail', repository, dispatcher, listener, retry: undefined }
  const handledBy: Answering['handledBy'] = (handler, more) => ({
    ...environment,
    handler,
    completions: new SharedCompletions(environment),
    commits: new SharedCommits({ ...environment, clock }, 1),
    clock,
    hung: new HungHandlers(
      () => 2,
      () => {},
    ),
    wake: () => {},
    timeoutMs: undefined,
    abortMs: 1_000,
    ...more,
  })
  const answers: Answering = {
    answer: () => {},
    asked,
    told,
    pauses,
    begun,
    refusals,
    clock,
    listener,
    dispatcher,
    transactions,
    environment,
    handledBy,
  }
  return answers
}
