/** Every threshold of every check. */
import type { LookName } from '@taskstream/task-sql'

/** In what a threshold is given. */
export type Unit =
  | 'ms'
  | 'bytes'
  | 'share'
  | 'rows'
  | 'tries'
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
