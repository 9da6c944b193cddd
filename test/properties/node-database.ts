/** The database of the model's nodes. It notes in the ledger what is committed, and fails as the schedule says. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { abortOf, TaskError } from '@taskstream/task-api'
import type {
  Completion,
  Expiry,
  HeldTask,
  Holding,
  PollOptions,
  PromotedDue,
  TaskDecision,
  TransactionSource,
} from '@taskstream/task-api'
import type { AnyTransaction, Subject, Tasks } from '../subject.ts'
import type { Hold, Ledger, NodeBatch, Party } from './node-ledger.ts'
import type { Fault, FaultyVerb } from './node-schedule.ts'
import { isGivenUp, isWaitedFor } from './node-stuck.ts'
import { completed, expired, handedBack, know, learn, polled, polling, prediction, reclaimed, writing } from './node-verbs.ts'
import type { Seen, Store, Verbs } from './node-verbs.ts'

/** The lease of each node. */
export const leaseMs = 60_000

type Work<Result> = (transaction: AnyTransaction) => Result | Promise<Result>

/** What is done before and after the call of a verb. */
interface Calling<Result> {
  /** @returns the holds of the tasks that the verb writes */
  before?(store: Store, args: readonly unknown[]): readonly Hold[] | void
  after?(store: Store, result: Result, transaction: AnyTransaction, args: readonly unknown[]): void | Promise<void>
}

export class NodeDatabase {
  readonly #subject: Subject
  readonly #topic: string
  readonly #ledger: Ledger
  readonly #stores: AsyncLocalStorage<Store> = new AsyncLocalStorage()
  readonly #underWay: Set<Store> = new Set()
  readonly #faults: Map<FaultyVerb, Fault[]> = new Map()
  /** Batches that their nodes had given up when the database was last at rest. */
  #stuck: readonly NodeBatch[] = []
  /** When each registered owner last sent a heartbeat that was committed. */
  readonly #beats: Map<string, number> = new Map()
  #changed = Promise.withResolvers<void>()
  #activity = 0

  constructor(subject: Subject, topic: string, ledger: Ledger) {
    this.#subject = subject
    this.#topic = topic
    this.#ledger = ledger
  }

  /** Makes the next `count` transactions that call this verb fail. */
  break(verb: FaultyVerb, fault: Fault, count: number): void {
    this.#faults.set(verb, [...(this.#faults.get(verb) ?? []), ...Array.from({ length: count }, () => fault)])
  }

  /** Cancels all faults that have not happened yet. */
  mend(): void {
    this.#faults.clear()
  }

  get isWell(): boolean {
    return [...this.#faults.values()].every(({ length }) => length === 0)
  }

  /** Whether everybody waits for a handler that keeps the only connection. */
  get isKept(): boolean {
    return this.#subject.writers === 1 && [...this.#underWay].some(({ locked }) => locked.length > 0)
  }

  /** Waits until the database is idle. A transaction that its handler keeps open is idle, and so is one that waits for it. */
  async rest(): Promise<void> {
    for (let quiet = 0, activity = -1; quiet < 3;) {
      if (this.#isAtWork) await this.#next()
      await new Promise((resolve) => setImmediate(resolve))
      quiet = this.#isAtWork || activity !== this.#activity ? 0 : quiet + 1
      activity = this.#activity
    }
    this.#stuck = [...this.#ledger.batches].filter(isGivenUp)
  }

  /** Waits until something happens. Nothing of a schedule takes as long as this waits, so a transaction that hangs is named. */
  async #next(): Promise<void> {
    using stack = new DisposableStack()
    const hanging = Promise.withResolvers<never>()
    stack.adopt(
      setTimeout(() => {
        const open = [...this.#underWay].map(({ asked, begun, ended, writes, locked }) => ({
          asked,
          begun,
          ended,
          writes,
          locked: locked.length,
        }))
        hanging.reject(
          new Error(`for a minute nothing has happened, but these transactions are under way: ${JSON.stringify(open)}`),
        )
      }, 60_000),
      clearTimeout,
    )
    await Promise.race([this.#changed.promise, hanging.promise])
  }

  get #isAtWork(): boolean {
    return [...this.#underWay].some(
      ({ begun, ended, writes, locked }) => begun && (ended || writes || locked.every(({ batch }) => !batch)),
    )
  }

  #happened(): void {
    this.#activity++
    this.#changed.resolve()
    this.#changed = Promise.withResolvers()
  }

  /** Returns a node's transaction source, which notes its transactions in the ledger. */
  transactions(party: Party): TransactionSource<AnyTransaction> {
    const { transactions } = this.#subject
    const { autocommit, classify } = transactions
    const source: TransactionSource<AnyTransaction> = (work, options) => this.#transact(party, transactions, work, options)
    return Object.defineProperties(source, {
      inside: { get: () => transactions.inside },
      connections: { get: () => transactions.connections },
      ...(classify && { classify: { value: classify } }),
      ...(autocommit && {
        autocommit: {
          value: (...[work, options]: Parameters<typeof source>) => this.#transact(party, autocommit, work, options, true),
        },
      }),
    })
  }

  /** Runs a transaction that is not a node's, such as a push. */
  async do<Result>(work: Work<Result>, effect: (result: Result) => void): Promise<void> {
    const store = this.#store({} as Party)
    this.#underWay.add(store)
    try {
      const result = await this.#subject.transactions<Result>((transaction) => {
        store.begun = true
        return work(transaction)
      })
      effect(result)
    } finally {
      this.#underWay.delete(store)
      this.#happened()
    }
  }

  #store(party: Party): Store {
    const { clock } = this.#ledger
    const asked = {
      party,
      asked: this.#ledger.next(),
      askedMs: clock.monotonicMs(),
      losses: party.losses,
      seen: this.#seen(party),
    }
    const begun = this.#subject.writers > 1
    return { ...asked, begun, ended: false, writes: false, fault: undefined, locked: [], effects: [], tells: [] }
  }

  #seen(party: Party): Seen {
    const ledger = this.#ledger
    const own = ledger.runningOf(party).filter(({ isFormer }) => !isFormer)
    const running = own.filter((batch) => !batch.isStuck || isWaitedFor(batch)).length
    const unknown = ledger.openOf(party).filter(({ told }) => !told)
    const stuck = this.#stuck.filter((batch) => own.includes(batch))
    const holdsLease = ledger.clock.monotonicMs() - party.beatMs <= leaseMs
    return { polls: party.polls, holdsLease, running, stuck: stuck.length, unknown }
  }

  async #transact<Result>(
    party: Party,
    source: <Inner>(work: Work<Inner>, options?: Parameters<TransactionSource<AnyTransaction>>[1]) => Promise<Inner>,
    work: Work<Result>,
    options: Parameters<TransactionSource<AnyTransaction>>[1],
    isAlone = false,
  ): Promise<Result> {
    const store = this.#store(party)
    this.#underWay.add(store)
    this.#happened()
    try {
      const result = await source(
        (transaction) => this.#stores.run(store, () => this.#work(store, work, transaction, isAlone)),
        options,
      )
      const holds = this.#letGo(store)
      for (const effect of store.effects) effect()
      for (const hold of holds) hold.toldEnd = this.#ledger.next()
      if (store.fault === 'after') throw new TaskError('DATABASE_UNAVAILABLE', 'gone after the commit')
      if (!abortOf(options)?.aborted) for (const tell of store.tells) tell()
      return result
    } catch (error) {
      party.troubles++
      party.troubleMs = this.#ledger.clock.monotonicMs()
      throw error
    } finally {
      for (const hold of this.#letGo(store)) hold.toldEnd = this.#ledger.next()
      this.#underWay.delete(store)
      this.#happened()
    }
  }

  async #work<Result>(store: Store, work: Work<Result>, transaction: AnyTransaction, isAlone: boolean): Promise<Result> {
    // The source may run the work again, after the first run was rolled back.
    this.#letGo(store)
    Object.assign(store, { begun: true, ended: false, writes: false, effects: [], tells: [] })
    try {
      const result = await work(transaction)
      // A statement that is committed by itself cannot be undone.
      if (store.fault === 'undone' && isAlone) store.fault = 'after'
      if (store.fault === 'undone') throw new TaskError('DATABASE_UNAVAILABLE', 'gone before the commit')
      return result
    } finally {
      store.ended = true
      this.#happened()
    }
  }

  #letGo(store: Store): readonly Hold[] {
    const holds = store.locked.splice(0)
    for (const hold of holds) hold.isLocked = false
    return holds
  }

  #fail(store: Store, verb: string, written: readonly Hold[]): void {
    store.fault ??= this.#faults.get(verb as FaultyVerb)?.shift()
    if (store.fault === 'before') throw new TaskError('DATABASE_UNAVAILABLE', 'gone')
    if (store.fault === 'locked') throw new TaskError('DATABASE_BUSY', 'locked', { shortOf: 'lock' })
    if (store.fault !== 'refused') return
    for (const hold of written) hold.refused++
    throw new Error(`${verb} is refused`)
  }

  /** Returns a node's repository, which notes its verbs in the ledger and fails as the schedule says. */
  repository(own: Tasks): Tasks {
    const ledger = this.#ledger
    const verbs: Verbs = { own, topic: this.#topic, ledger, isSerial: this.#subject.writers === 1 }
    const verb =
      <Result>(called: keyof Tasks & string, { before = () => [], after = () => {} }: Calling<Result>) =>
      async (transaction: AnyTransaction, ...args: readonly unknown[]): Promise<Result> => {
        const store = this.#stores.getStore()!
        this.#happened()
        this.#fail(store, called, before(store, args) ?? [])
        const result = await (own[called] as (...all: readonly unknown[]) => Result | Promise<Result>)(transaction, ...args)
        await after(store, result, transaction, args)
        this.#happened()
        return result
      }
    const beats: Calling<unknown> = {
      after: ({ party: { sentMs }, party, effects, tells }) => {
        effects.push(() => this.#beats.set(own.owner, ledger.clock.now().getTime()))
        tells.push(() => {
          const now = ledger.clock.monotonicMs()
          if (party.answeredMs !== now) Object.assign(party, { answeredMs: now, earlierMs: party.beatMs })
          party.beatMs = Math.max(party.beatMs, sentMs)
        })
      },
    }
    // `register` does not set `sentMs`. A heartbeat that finds its owner unknown registers it anew, and the lease counts from
    // that heartbeat.
    const sends: Calling<unknown> = { ...beats, before: ({ party, askedMs }) => void (party.sentMs = askedMs) }
    const isDead = (owner: string): boolean => (this.#beats.get(owner) ?? -Infinity) < ledger.clock.now().getTime() - leaseMs
    const isReleased = (sequence: number): boolean => ledger.rows.row(sequence).state === 'suspended'
    let predicted: number[] | undefined
    return {
      ...own,
      register: verb('register', beats),
      heartbeat: verb('heartbeat', sends),
      unregister: verb('unregister', { after: ({ effects }) => void effects.push(() => this.#beats.delete(own.owner)) }),
      poll: verb<HeldTask[]>('poll', {
        before: (store, [, options]) => {
          polling(verbs, store, options as PollOptions)
          predicted = prediction(verbs, options as PollOptions)
        },
        after: (store, tasks, transaction, [, options]) =>
          polled(verbs, store, transaction, tasks, options as PollOptions, predicted),
      }),
      complete: verb<Completion>('complete', {
        before: (store, [, decisions]) => writing(verbs, store, decisions as ReadonlyMap<HeldTask, TaskDecision>),
        after: (store, completion, _, [, decisions]) =>
          completed(verbs, store, completion, decisions as ReadonlyMap<HeldTask, TaskDecision>),
      }),
      hold: verb<Holding>('hold', { after: (store, { lost }) => know(ledger, store, lost) }),
      handBack: async (transaction: AnyTransaction, topic: string, given: Iterable<HeldTask>) => {
        const tasks = [...given]
        const handBack = verb<Completion>('handBack', {
          before: (store) =>
            writing(
              verbs,
              store,
              tasks.map((task) => [task, undefined]),
            ),
          after: (store, completion) => handedBack(verbs, store, transaction, completion, tasks),
        })
        return tasks.length > 0 ? handBack(transaction, topic, tasks) : { completed: [], lost: [] }
      },
      promoteDue: verb<PromotedDue>('promoteDue', {
        after: (store, { promoted }, transaction) =>
          promoted > 0
            ? learn(verbs, store, transaction, ({ state, sequence }) => state === 'ready' && isReleased(sequence))
            : undefined,
      }),
      reclaim: verb<number>('reclaim', {
        before: ({ party }) => {
          for (const hold of ledger.openOf(party)) hold.doubted = true
        },
        after: (store, count, transaction) => (count > 0 ? reclaimed(verbs, store, transaction) : undefined),
      }),
      expire: verb<Expiry>('expire', {
        after: (store, { expired: count, ready, failed }, transaction) =>
          count + ready + failed > 0 ? expired(verbs, store, transaction, isDead) : undefined,
      }),
    } as unknown as Tasks
  }
}
