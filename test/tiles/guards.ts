/**
 * The guards of the tile form, one for each thing that a statement does only so that nothing is lost, given twice or overtaken. A scenario takes one
 * away, and must notice.
 */
export const guards = {
  'lock before snapshot': 'a cut, a small claim and LEAVE take the lock of the topic before the snapshot that they look at',
  'key as arbiter': 'where the lock comes after the snapshot: who inserts no range at frontier + 1 takes nothing',
  'small claims lock': 'a small claim holds the lock, shared',
  'leave locks': 'LEAVE holds the lock for a task that is in no range',
  'late first': 'a poll that finds late tasks takes no fresh ones',
  mark: 'a missing block is forgotten only when every transaction before its mark has ended',
  'own id': "the mark is the transaction's own id, drawn after its snapshot",
  'clean mark': 'a transaction that had written before its snapshot sets no mark',
  'id before number': 'a push draws its transaction id before the number of its block',
  'cut breaks': 'a range ends before a missing block',
  'merge breaks at missing': 'merging stops at a missing block',
  'merge breaks at held': 'merging stops at a range that is held, or locked by another',
  token: 'a completion names the token of its lease',
  'n in the fence': 'a completion of all names how many it speaks for',
  'set back': 'a push whose block is not above the frontier lists its rows',
  'rest stays noted': 'what is left of a missing block after a poll stays noted',
  'short answers': 'a cut answers with no more than a socket takes unread: whoever does not read would keep the lock',
  'tiles stay': 'a range that is done stays, with n = 0, until it is merged',
  'leave asks again': 'LEAVE looks again for a task whose range was merged meanwhile',
} as const
export type Guard = keyof typeof guards

export type TaskRecord = 'outcomes' | 'exceptions'

/** What the statements are made for. */
export interface Form {
  readonly record: TaskRecord
  /** The guards that are taken away. */
  readonly without?: readonly Guard[]
  /** Scenarios: statements of a session that has set `lab.gate` wait at this place for the advisory lock `gateKey`, which the scenario holds. */
  readonly gate?: Gate
}

/** `snapshot`: between the snapshot and the lock; `number`: between the number of a block and its rows; `leave`: between the two looks of LEAVE. */
export type Gate = 'snapshot' | 'number' | 'leave'

export const gateKey = 77
/** The class of the advisory locks of topics. */
export const lockClass = 4711

/** One text if the guard is there, another if it is taken away. */
export function guarded({ without }: Form, guard: Guard, present: string, absent = ''): string {
  return without?.includes(guard) ? absent : present
}

/** A condition that waits at the gate, if the session has set `lab.gate`, and is true, as SQL. */
export function gateAt(form: Form, place: Gate): string {
  if (form.gate !== place) return 'true'
  return `case when current_setting('lab.gate', true) = 'on' then pg_advisory_xact_lock_shared(${gateKey}) is not null else true end`
}
