/** Every threshold of every check of the doctor, of `attention`, and of the alerts that are made for monitoring systems. */
import type { LookName } from '@taskstream/task-sql'

/** In what a threshold is given. */
export type Unit =
  | 'ms'
  | 'bytes'
  | 'share'
  | 'rows'
  | 'tries'
  | 'attempts'
  | 'leases'
  | 'transactions'
  | 'version'
  /** The check counts what should not be there at all. */
  | 'any'

/** From where on a value is worth a notice, a warning or more. A value that equals a threshold is still well. */
export interface Threshold {
  readonly unit: Unit
  readonly notice?: number
  readonly warn?: number
  readonly crit?: number
  /** Whether small values are the bad ones. Default: large values are. */
  readonly below?: boolean
  /** How bad a thing is whose value the database cannot tell. Default: the check is skipped. */
  readonly unknown?: 'warn'
  /** What is smaller than this is passed over, whatever its value is. */
  readonly from?: { readonly size: number; readonly unit: Unit }
}

const second = 1_000
const minute = 60 * second
const hour = 60 * minute
const mebibyte = 2 ** 20

const anyNotice: Threshold = { unit: 'any', notice: 0 }
const anyWarn: Threshold = { unit: 'any', warn: 0 }
const anyCrit: Threshold = { unit: 'any', crit: 0 }

/** The name of a check. It is never given to another check. */
export type CheckName =
  | 'reachable'
  | 'round-trip'
  | 'clock'
  | 'schema'
  | 'wake-up'
  | 'wal-size'
  | 'network-files'
  | 'free-space'
  // A look at the file tells only where it is.
  | Exclude<LookName, 'file'>

export const thresholds: Readonly<Record<CheckName, Threshold>> = {
  reachable: anyCrit,
  'round-trip': { unit: 'ms', warn: 20, crit: 200 },
  clock: { unit: 'ms', warn: 2 * second, crit: 10 * second },
  schema: anyCrit,
  rights: anyWarn,
  'wake-up': anyWarn,

  'nobody-processes': { unit: 'ms', warn: minute, crit: 10 * minute },
  'node-failing': { unit: 'share', warn: 0, crit: 0.99 },
  failing: { unit: 'share', warn: 0.05, crit: 0.5, from: { size: 20, unit: 'attempts' } },
  'release-skew': { unit: 'ms', warn: hour },
  'options-unlike': anyWarn,
  'event-loop': { unit: 'ms', warn: second, crit: 5 * second },
  paused: { unit: 'ms', warn: 24 * hour },
  overdue: { unit: 'ms', warn: 10 * second, crit: 5 * minute },
  'owner-silent': { unit: 'leases', warn: 1, crit: 3 },
  'timer-overdue': { unit: 'ms', warn: minute, crit: 10 * minute },
  'retry-endless': { unit: 'tries', warn: 1_000 },
  'identifier-blocked': { unit: 'ms', warn: hour, crit: 24 * hour },
  history: { unit: 'rows', warn: 10_000_000, crit: 100_000_000 },
  attempts: { unit: 'rows', warn: 5_000_000 },

  'read-only': anyWarn,
  'transaction-open': { unit: 'ms', warn: minute, crit: 15 * minute },
  'lock-waits': { unit: 'ms', warn: 5 * second },
  connections: { unit: 'share', warn: 0.8, crit: 0.95 },

  'postgres-version': { unit: 'version', warn: 15, below: true },
  'transaction-prepared': { unit: 'ms', warn: minute, crit: 15 * minute },
  'replication-slot': { unit: 'ms', warn: minute, crit: 15 * minute, unknown: 'warn' },
  'hot-updates': { unit: 'share', notice: 0.8, below: true, from: { size: 100_000, unit: 'rows' } },
  'dead-rows': { unit: 'share', warn: 0.2, from: { size: 100_000, unit: 'rows' } },
  'never-analysed': { unit: 'any', warn: 0, from: { size: 10_000, unit: 'rows' } },
  'index-invalid': anyWarn,
  'partition-detaching': anyWarn,
  autovacuum: anyWarn,
  wraparound: { unit: 'transactions', warn: 1_200_000_000, crit: 1_800_000_000 },
  'partition-locks': { unit: 'share', warn: 0.8 },
  fsync: anyCrit,
  'full-page-writes': anyCrit,
  'synchronous-commit': anyNotice,

  'mariadb-version': { unit: 'version', warn: 10.06, below: true },
  'mysql-version': { unit: 'version', warn: 8, below: true },
  'storage-engine': anyCrit,
  collation: anyWarn,
  'history-list': { unit: 'transactions', warn: 100_000, crit: 1_000_000 },
  'flush-log': anyNotice,
  'cluster-state': anyCrit,
  'cluster-writers': { unit: 'any', crit: 0, from: { size: 1_000, unit: 'transactions' } },
  'cluster-flow': { unit: 'share', warn: 0.1 },

  journal: anyWarn,
  synchronous: anyWarn,
  'busy-timeout': { unit: 'ms', warn: 5 * second, below: true },
  'wal-size': { unit: 'bytes', warn: 64 * mebibyte, crit: 1_024 * mebibyte },
  'network-files': anyCrit,
  'free-space': { unit: 'share', warn: 0.1, crit: 0.02, below: true },
  'free-pages': { unit: 'share', warn: 0.3, from: { size: 16 * mebibyte, unit: 'bytes' } },
  statistics: { unit: 'any', warn: 0, from: { size: 100_000, unit: 'rows' } },
  integrity: anyCrit,
}

export const checkNames: readonly CheckName[] = Object.keys(thresholds) as CheckName[]

/** Thresholds that replace those above. */
export type Thresholds = Readonly<Partial<Record<CheckName, Threshold>>>

/** From where on `attention` tells of something for which the doctor has no check. Spans are in milliseconds. */
export const attentionThresholds: {
  readonly backlogAge: Threshold & { readonly warn: number }
  readonly errorAttempts: Threshold & { readonly warn: number }
  readonly inputNewer: Threshold & { readonly warn: number }
  readonly activeLong: Threshold & { readonly warn: number }
} = {
  /** The age of the oldest ready task of a topic that is processed, or paused. */
  backlogAge: { unit: 'ms', warn: 5 * minute },
  /** How many failed attempts of one error are many, within the span in which failures are counted. */
  errorAttempts: { unit: 'attempts', warn: 20 },
  /** For how long nodes have put off what a later release has pushed. A rolling deploy takes some minutes. */
  inputNewer: { unit: 'ms', warn: 10 * minute },
  /** For how long a task has been at work. A handler without a time-out may wait for ever, and nothing else would tell of it. */
  activeLong: { unit: 'ms', warn: hour },
}

/** Attempts that failed or ended within this span are counted, in milliseconds. */
export const failuresWithinMs: number = 15 * minute

/** An error is new for so long after it was first seen, in milliseconds. */
export const newErrorMs: number = hour

/** An alert for a monitoring system. It is raised once its values have been beyond for `forMs`. */
export interface Alert {
  readonly severity: 'warn' | 'crit'
  readonly unit: Unit
  /** A value above this is bad; where `below` is set, a value below it. */
  readonly level: number
  readonly below?: boolean
  /** How long the value must be bad, in milliseconds. 0 raises the alert at once. */
  readonly forMs: number
  /** Over which span the value is counted or measured, in milliseconds. Absent: the value is of now. */
  readonly withinMs?: number
  /** How many attempts within the span are too few to judge. */
  readonly fewAttempts?: number
  /** The check of the doctor that measures the same; absent where only a counter over time tells. */
  readonly check?: CheckName
  /** One sentence: what is wrong. */
  readonly says: string
  /** The page that tells what to do, from docs/ on. */
  readonly page: string
}

/** The name of an alert. It is never given to another alert. */
export type AlertName =
  | 'NotScraped'
  | 'NobodyProcesses'
  | 'BacklogAge'
  | 'FailureRatio'
  | 'NewFailures'
  | 'RetryStorm'
  | 'LeaseLost'
  | 'Stuck'
  | 'PausedLong'
  | 'TimerOverdue'
  | 'ThroughputCollapse'

const operators = 'guides/operators.md'

/** Alerts share their levels with the checks of the doctor, so that the two never disagree. */
export const alerts: Readonly<Record<AlertName, Alert>> = {
  NotScraped: {
    severity: 'crit',
    // Whether a process that is scraped could read the database.
    unit: 'any',
    level: 1,
    below: true,
    forMs: 5 * minute,
    says: 'no process tells how the topics fare: none is scraped, or none reaches the database',
    page: 'guides/telemetry.md',
  },
  NobodyProcesses: {
    severity: 'crit',
    // How many nodes process a topic that has ready tasks.
    unit: 'any',
    level: 1,
    below: true,
    forMs: 5 * minute,
    check: 'nobody-processes',
    says: 'a topic has ready tasks, and no node processes it',
    page: operators,
  },
  BacklogAge: {
    severity: 'warn',
    unit: 'ms',
    level: attentionThresholds.backlogAge.warn,
    forMs: 2 * minute,
    says: 'the oldest ready task of a topic was pushed long ago',
    page: operators,
  },
  FailureRatio: {
    severity: 'warn',
    unit: 'share',
    level: thresholds.failing.warn!,
    forMs: 0,
    withinMs: 5 * minute,
    fewAttempts: thresholds.failing.from!.size,
    check: 'failing',
    says: 'many attempts of a topic fail',
    page: operators,
  },
  NewFailures: {
    severity: 'warn',
    unit: 'attempts',
    level: 0,
    forMs: 0,
    withinMs: newErrorMs,
    says: 'a topic fails that did not fail before, and its tasks have not succeeded since',
    page: operators,
  },
  RetryStorm: {
    severity: 'warn',
    // Retries, of all attempts that ended.
    unit: 'share',
    level: thresholds.failing.crit!,
    forMs: 5 * minute,
    withinMs: 5 * minute,
    fewAttempts: thresholds.failing.from!.size,
    says: 'most attempts of a topic end in a retry',
    page: 'guides/retries.md',
  },
  LeaseLost: {
    severity: 'warn',
    unit: 'attempts',
    level: 0,
    forMs: 0,
    withinMs: 10 * minute,
    check: 'owner-silent',
    says: 'no heartbeat of a node came through for a whole lease, so others may have taken its tasks',
    page: operators,
  },
  Stuck: {
    severity: 'warn',
    unit: 'attempts',
    level: 0,
    forMs: 0,
    withinMs: 10 * minute,
    says: 'a handler was asked to end, and did not',
    page: 'guides/timeouts.md',
  },
  PausedLong: {
    severity: 'warn',
    unit: 'ms',
    level: thresholds.paused.warn!,
    forMs: 0,
    check: 'paused',
    says: 'a topic has been paused for long',
    page: operators,
  },
  TimerOverdue: {
    severity: 'warn',
    unit: 'ms',
    level: thresholds['timer-overdue'].warn!,
    forMs: minute,
    check: 'timer-overdue',
    says: 'a timer is due, and nobody fires it',
    page: 'guides/periodic-tasks.md',
  },
  ThroughputCollapse: {
    severity: 'warn',
    // The pace of the last five minutes, of that of the span, while tasks are ready.
    unit: 'share',
    level: 0.1,
    below: true,
    forMs: 5 * minute,
    withinMs: hour,
    says: 'a topic ends far fewer tasks than before, though tasks are ready',
    page: operators,
  },
}

export const alertNames: readonly AlertName[] = Object.keys(alerts) as AlertName[]
