/** The tables of coordination in memory, and nodes whose connections and processes a test breaks. */
import { TaskError } from '@taskstream/task-api'
import type { CoordinationRepository, GroupLeader, TransactionSource } from '@taskstream/task-api'
import { Leader } from '@taskstream/task-coordination'
import type { CoordinatedRepository, LeaderOptions } from '@taskstream/task-coordination'
import type { Clock } from '@taskstream/task-processor'
import { testClock } from '@taskstream/task-testing'
import type { TestClock } from '@taskstream/task-testing'

interface Rows {
  readonly token: Omit<GroupLeader, 'heartbeat'> | undefined
  readonly beats: Readonly<Record<string, number>>
  /** What leaders have committed: by whom and in which term. */
  readonly written: readonly GroupLeaderTerm[]
}

export interface GroupLeaderTerm {
  readonly taskId: string
  readonly term: number
}

/** A transaction: what it has changed so far. */
export interface MemoryTransaction {
  rows: Rows
}

export interface MemoryNode {
  /** What its leader is made of. */
  readonly options: LeaderOptions<MemoryTransaction, 'sync'>
  readonly leader: Leader<MemoryTransaction, 'sync'>
  /** Whether the database can be reached. */
  isAway: boolean
  /** Whether the next commit that changes the leader is done and not answered. */
  isUnanswered: boolean
  /** How long the answer to a commit takes. */
  answerMs: number
  /** The process stands still: none of its timers fires. */
  pause(): void
  resume(): void
  /** Writes as the leader of a term, whatever the node believes. */
  write(term: number): Promise<void>
}

export interface MemoryGroup {
  readonly clock: TestClock
  rows: Rows
  node(taskId: string, options?: Partial<LeaderOptions<MemoryTransaction, 'sync'>>): MemoryNode
  /** Lets time pass, and everything happen that is due. */
  pass(ms: number): Promise<void>
  quiet(): Promise<void>
}

const stepMs = 50

export function memoryGroup(): MemoryGroup {
  const clock = testClock(new Date('2026-01-01'))
  let beats = 0
  const coordination: CoordinationRepository<MemoryTransaction, 'sync'> = {
    tables: () => ({ found: true, isKeyed: true, idLength: 255, resolutionMs: 0 }),
    createTables: () => {},
    beat: (transaction, { taskId }) => change(transaction, { beats: { ...transaction.rows.beats, [taskId]: ++beats } }),
    leave: (transaction, { taskId }) => {
      const { [taskId]: _gone, ...rest } = transaction.rows.beats
      change(transaction, { beats: rest })
    },
    leader: ({ rows: { token, beats } }) => token && { ...token, heartbeat: beatOf(beats, token.taskId) },
    takeOver: (transaction, { taskId }, term, seen) => {
      const { token, beats } = transaction.rows
      const isSilent =
        seen?.heartbeat === undefined || beatOf(beats, seen.taskId) === seen.heartbeat || beatOf(beats, seen.taskId) === null
      if (token?.taskId !== seen?.taskId || token?.term !== seen?.term || !isSilent) return 'changed'
      change(transaction, { token: { taskId, term } })
      return 'taken'
    },
    holds: ({ rows: { token } }, { taskId }, term) => token?.taskId === taskId && token.term === term,
    limitIdle: () => {},
  }
  const repository: CoordinatedRepository<MemoryTransaction, 'sync'> = { coordination, limitStatements: () => {} }
  const group: MemoryGroup = {
    clock,
    rows: { token: undefined, beats: {}, written: [] },
    node: (taskId, options = {}) => {
      const process = stoppable(clock)
      const transactions: TransactionSource<MemoryTransaction> = async (work) => {
        if (node.isAway) throw away('cannot be reached')
        const transaction: MemoryTransaction = { rows: group.rows }
        const begun = group.rows
        const result = await work(transaction)
        if (node.isAway) throw away('was lost')
        // One transaction at a time: another one has committed meanwhile.
        if (begun !== group.rows) return transactions(work)
        group.rows = transaction.rows
        if (node.isUnanswered && begun.token !== group.rows.token) {
          node.isUnanswered = false
          throw away('did not answer')
        }
        if (node.answerMs > 0) await new Promise<void>((resolve) => clock.after(node.answerMs, resolve))
        return result
      }
      const made: LeaderOptions<MemoryTransaction, 'sync'> = {
        repository,
        transactions,
        groupId: 'group',
        taskId,
        livenessCheckIntervalMs: 1_000,
        heartbeatIntervalMs: 100,
        listener: { onError: () => {} },
        clock: process.clock,
        ...options,
      }
      const leader = new Leader(made)
      const node: MemoryNode = {
        options: made,
        leader,
        isAway: false,
        isUnanswered: false,
        answerMs: 0,
        pause: process.pause,
        resume: process.resume,
        write: (term) =>
          transactions<void>((transaction) => {
            change(transaction, { written: [...transaction.rows.written, { taskId, term }] })
            leader.check(transaction, term)
          }),
      }
      return node
    },
    quiet,
    pass: async (ms) => {
      await quiet()
      for (let left = ms; left > 0; left -= stepMs) {
        clock.advance(Math.min(stepMs, left))
        await quiet()
      }
    },
  }
  return group
}

function beatOf(beats: Rows['beats'], taskId: string): string | null {
  return beats[taskId] === undefined ? null : String(beats[taskId])
}

function change(transaction: MemoryTransaction, rows: Partial<Rows>): void {
  transaction.rows = { ...transaction.rows, ...rows }
}

function away(what: string): TaskError {
  return new TaskError('DATABASE_UNAVAILABLE', `The database ${what}`)
}

/** Nothing here waits for anything but time, so a few turns of the event loop are enough. */
async function quiet(): Promise<void> {
  for (let turn = 0; turn < 8; turn++) await new Promise((resolve) => setImmediate(resolve))
}

/** The clock of a process that can stand still. Its time goes on. */
function stoppable(clock: TestClock): { readonly clock: Clock; pause(): void; resume(): void } {
  let isPaused = false
  let late: (() => void)[] = []
  return {
    clock: {
      monotonicMs: () => clock.monotonicMs(),
      after: (ms, callback) => {
        let isCancelled = false
        const call = (): void => {
          if (isCancelled) return
          if (isPaused) late.push(call)
          else callback()
        }
        const cancel = clock.after(ms, call)
        return () => {
          isCancelled = true
          cancel()
        }
      },
    },
    pause: () => void (isPaused = true),
    resume: () => {
      isPaused = false
      const due = late
      late = []
      for (const call of due) call()
    },
  }
}
