import { hostname } from 'node:os'
import { checkInteger, checkNames, checkText, invalid, optionNames, TaskError } from '@taskstream/task-api'
import type {
  CoordinationRepository,
  CoordinationTables,
  Execution,
  GroupMember,
  TaskRepository,
  TransactionSource,
} from '@taskstream/task-api'
import { systemClock } from '@taskstream/task-processor'
import type { Clock } from '@taskstream/task-processor'

/** A repository that keeps who leads. `sqlTaskRepository` returns one. */
export interface CoordinatedRepository<Transaction, E extends Execution = Execution> extends Pick<
  TaskRepository<Transaction, E>,
  'limitStatements'
> {
  readonly coordination: CoordinationRepository<Transaction, E>
}

/** Events of a node in its group. */
export interface LeaderListener {
  /** The node leads from now on. */
  onElected?(event: GroupMember & { readonly term: number }): void
  /** The node leads no longer, as `reason` says: LEADERSHIP_LOST or SHUTDOWN. */
  onDeposed?(event: GroupMember & { readonly term: number; readonly reason: TaskError }): void
  /**
   * The database did not answer a look, or this node has tried in vain to take over for too long (DATABASE_BUSY); of looks that fail one after the other, the
   * first is told. Or another process uses this node's id (TASK_ID_TAKEN), and this node stands by. Default: a process warning.
   */
  onError?(error: unknown): void
  /** The database answers again. */
  onRecovered?(): void
}

export interface LeaderOptions<Transaction, E extends Execution = Execution> {
  readonly repository: CoordinatedRepository<NoInfer<Transaction>, E>
  readonly transactions: TransactionSource<Transaction>
  /** Which nodes belong together, 1 to 255 characters: one of them leads. */
  readonly groupId: string
  /** The name of this node, 1 to 255 characters, which no other node of the group has. Default: host and process id. */
  readonly taskId?: string
  /**
   * After how many milliseconds another node has taken over from a leader that has died, 50 to 86 400 000. Default 30 000. It is at least five times
   * `heartbeatIntervalMs`, and 5 000 where the column of heartbeats keeps whole seconds. All nodes of a group have the same.
   */
  readonly livenessCheckIntervalMs?: number
  /** How often each node sends a heartbeat and looks who leads, 10 to 3 600 000 ms. Default 1 000. */
  readonly heartbeatIntervalMs?: number
  /** Whether `start` makes the tables if they are missing. Default true. */
  readonly createTables?: boolean
  readonly listener?: LeaderListener
  /** Called when the leader has stopped: `postgresqlDatabase` closes its pool so. */
  readonly close?: () => Promise<void>
  /** The clock of this process. It alone says how long a leadership holds. */
  readonly clock?: Clock
}

const names = optionNames<LeaderOptions<never>>('a leader', {
  repository: true,
  transactions: true,
  groupId: true,
  taskId: true,
  livenessCheckIntervalMs: true,
  heartbeatIntervalMs: true,
  createTables: true,
  listener: true,
  close: true,
  clock: true,
})

/** So many heartbeats fit at least into the time after which others take over: two may be late. */
const leastBeats = 5
/** Heartbeats in whole seconds look alike for up to two seconds. */
const leastCoarseMs = 5_000
const idLength = 255

/** The checked options of a leader. */
export interface LeaderSettings {
  readonly member: GroupMember
  readonly heartbeatIntervalMs: number
  /** How long a node sees no heartbeat of the leader before it takes over. */
  readonly patienceMs: number
  /** How long a heartbeat of this node lets it lead, from its sending. It is shorter than the patience of all others. */
  readonly validMs: number
  /** How long the database may take for a step of a look. */
  readonly lookTimeoutMs: number
  readonly createTables: boolean
  readonly clock: Clock
}

/** @throws TaskError ARGUMENT_INVALID */
export function checkLeader(options: LeaderOptions<never>): LeaderSettings {
  checkNames(names, options)
  const { groupId, taskId = `${hostname().slice(0, 200)}:${process.pid}`, createTables = true, clock = systemClock } = options
  checkParts(options, clock)
  const { livenessCheckIntervalMs = 30_000, heartbeatIntervalMs = 1_000 } = options
  checkText('groupId', groupId, idLength)
  checkText('taskId', taskId, idLength)
  if (typeof createTables !== 'boolean') throw invalid('createTables', createTables, 'must be true or false')
  checkInteger('heartbeatIntervalMs', heartbeatIntervalMs, 10, 3_600_000)
  checkInteger('livenessCheckIntervalMs', livenessCheckIntervalMs, 50, 86_400_000)
  if (livenessCheckIntervalMs < leastBeats * heartbeatIntervalMs) {
    const need = `must be at least ${leastBeats} times heartbeatIntervalMs, which is ${heartbeatIntervalMs}: late heartbeats would change the leader`
    throw invalid('livenessCheckIntervalMs', livenessCheckIntervalMs, need)
  }
  // A heartbeat is seen up to one interval after it was sent. One more is left for the take-over itself.
  const patienceMs = livenessCheckIntervalMs - 2 * heartbeatIntervalMs
  return {
    member: { groupId, taskId },
    heartbeatIntervalMs,
    patienceMs,
    validMs: patienceMs - heartbeatIntervalMs,
    lookTimeoutMs: Math.max(100, Math.min(5_000, Math.floor(patienceMs / 3))),
    createTables,
    clock,
  }
}

/** Whether what is given is of use, before the first look fails in words that name no option. @throws TaskError ARGUMENT_INVALID */
function checkParts({ repository, transactions, close }: LeaderOptions<never>, clock: Clock): void {
  const given: unknown = repository
  const parts: readonly (readonly [name: string, part: unknown])[] = [
    ['repository.coordination.takeOver', (given as Partial<CoordinatedRepository<never>> | null)?.coordination?.takeOver],
    ['transactions', transactions],
    ['clock.monotonicMs', (clock as Partial<Clock> | null)?.monotonicMs],
    ['clock.after', (clock as Partial<Clock> | null)?.after],
    ...(close === undefined ? [] : [['close', close] as const]),
  ]
  for (const [name, part] of parts) if (typeof part !== 'function') throw invalid(name, typeof part, 'must be a function')
}

/** @throws TaskError SCHEMA_MISSING without keys; ARGUMENT_INVALID if ids are too long, or heartbeats cannot be told apart soon enough */
export function checkTables(settings: LeaderSettings, { isKeyed, idLength, resolutionMs }: CoordinationTables): void {
  if (!isKeyed)
    throw new TaskError(
      'SCHEMA_MISSING',
      'A primary key is missing: without it a group may have several leaders. ' +
        'token_holder has that of (group_id), and health_check that of (task_id, group_id)',
    )
  for (const [name, id] of Object.entries(settings.member))
    if (id.length > idLength)
      throw invalid(
        name,
        id,
        `must have at most ${idLength} characters here, as the columns of ids have no more, and has ${id.length}`,
      )
  const { patienceMs, heartbeatIntervalMs } = settings
  const livenessCheckIntervalMs = patienceMs + 2 * heartbeatIntervalMs
  if (resolutionMs < 1_000 || livenessCheckIntervalMs >= leastCoarseMs) return
  const need =
    `must be at least ${leastCoarseMs} here, as the column last_heartbeat of health_check keeps whole seconds: ` +
    'or make it timestamp(6), which other programs do not notice'
  throw invalid('livenessCheckIntervalMs', livenessCheckIntervalMs, need)
}
