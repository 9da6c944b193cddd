/** What those who watch a topic know of its jobs, so that each state is told once, whoever sees it first. */
import type { TaskInfo, TaskState } from '@taskstream/task-api'
import { foundChange, mergedChange } from '@taskstream/task-jobs'
import type { JobChange, JobState } from '@taskstream/task-jobs'

/** So many jobs of a topic are known at a time. */
export const knownJobs = 10_000

/** Nothing happens to these jobs any more, unless somebody revives them. */
const ended: ReadonlySet<JobState> = new Set(['failed', 'filtered', 'succeeded', 'recreated', 'redundant'])

interface Known {
  readonly change: JobChange
  /** The state when it was last read or told, as a number that only grows. */
  readonly at: number
  /** Whether it was read, and nobody was told: it was there when the watching began. */
  readonly isSilent: boolean
  /** Whether its row has to be read. */
  readonly isUnread: boolean
}

/** A job that is looked at again. */
export interface FollowedJob {
  readonly sequence: number
  /** The state as rows have it; undefined if the row has to be read. */
  readonly state: TaskState | undefined
}

export class WatchedTopic {
  readonly name: string
  /** When the next look is due. */
  nextMs: number
  /** By sequence. The job that was looked at longest ago comes first. */
  readonly #known = new Map<number, Known>()
  /** New jobs are above. The greatest sequence of the look before the last: what is committed out of order is found while that is recent. */
  #mark: number | undefined
  #newest = 0
  #at = 0

  constructor(name: string, nextMs: number) {
    this.name = name
    this.nextMs = nextMs
  }

  /** Undefined until the first look. */
  get mark(): number | undefined {
    return this.#mark
  }

  /** Stands for what is known now. What is read after this moment may be older than what this process says itself meanwhile. */
  get at(): number {
    return this.#at
  }

  knows(sequence: number): boolean {
    return this.#known.has(sequence)
  }

  /** Takes in what this process did. @returns the change, with all that is known of the job; undefined if it is not to be told */
  did(change: JobChange): JobChange | undefined {
    const known = this.#known.get(change.sequence)
    if (change.state === undefined) {
      this.#note(known ? mergedChange(known.change, { ...change, state: known.change.state }) : change, { isUnread: true })
      return undefined
    }
    if (!known) return this.#note(change)
    if (change.isPush && !known.isSilent) return undefined
    // The job has gone on meanwhile. Its number of attempts says that this is older.
    if (isOlder(change, known.change)) return change
    if (isSame(change, known.change) && !known.isSilent) return undefined
    return this.#note(mergedChange(known.change, change))
  }

  /** Takes in a row that was read. @returns the change; undefined if it is not to be told */
  found(task: TaskInfo, at: number): JobChange | undefined {
    const known = this.#known.get(task.sequence)
    if (known && known.at > at) return undefined
    const change = foundChange(task)
    if (known && isOlder(change, known.change)) return undefined
    // Nobody is told of what was there when the watching began.
    const isFirst = !known && this.#mark === undefined
    const isNews = !isFirst && !(known && isSame(change, known.change))
    this.#note(change, { isSilent: isFirst || (!isNews && known?.isSilent === true) })
    return isNews ? change : undefined
  }

  /** The jobs that may change, first those that were looked at longest ago. */
  followed(limit: number, but: ReadonlySet<number>): FollowedJob[] {
    const followed: FollowedJob[] = []
    for (const [sequence, { change, isUnread }] of this.#known) {
      if (followed.length >= limit) break
      if (but.has(sequence) || (isEnded(change) && !isUnread)) continue
      followed.push({ sequence, state: isUnread || change.state === undefined ? undefined : rowState(change.state) })
    }
    return followed
  }

  /** Takes in that jobs are as they were. */
  unchanged(sequences: Iterable<number>): void {
    for (const sequence of sequences) {
      const known = this.#known.get(sequence)
      if (!known) continue
      this.#known.delete(sequence)
      this.#known.set(sequence, known)
    }
  }

  /** Forgets a job that is not there any more. */
  gone(sequence: number, at: number): void {
    if ((this.#known.get(sequence)?.at ?? Infinity) <= at) this.#known.delete(sequence)
  }

  /** Ends a look that began at `at`. @param newest the greatest sequence that it has read */
  looked(at: number, newest: number): void {
    const before = this.#newest
    this.#newest = Math.max(before, newest)
    // All that the first look has read was there before.
    this.#mark = this.#mark === undefined ? this.#newest : Math.max(this.#mark, before)
    // What has ended is no longer read. It is known for one more look, as this process may say later that it was the one.
    for (const [sequence, known] of this.#known)
      if (known.at <= at && sequence <= this.#mark && isEnded(known.change) && !known.isUnread) this.#known.delete(sequence)
  }

  #note(change: JobChange, { isSilent = false, isUnread = false } = {}): JobChange {
    const { sequence } = change
    this.#known.delete(sequence)
    this.#known.set(sequence, { change, at: ++this.#at, isSilent, isUnread })
    if (this.#known.size > knownJobs) {
      const [oldest = 0] = this.#known.keys()
      this.#known.delete(oldest)
      // Otherwise it would be read again as new, and told again.
      if (this.#mark !== undefined) this.#mark = Math.max(this.#mark, oldest)
      this.#newest = Math.max(this.#newest, oldest)
    }
    return change
  }
}

function isEnded({ state }: JobChange): boolean {
  return state !== undefined && ended.has(state)
}

function isOlder({ attempt }: JobChange, than: JobChange): boolean {
  return attempt !== undefined && than.attempt !== undefined && attempt < than.attempt
}

/** Of a job that was cancelled unseen, the attempt is not known. */
function isSame({ state, attempt }: JobChange, as: JobChange): boolean {
  return state === as.state && (attempt === undefined || as.attempt === undefined || attempt === as.attempt)
}

function rowState(state: JobState): TaskState {
  return state === 'delayed' || state === 'retrying' || state === 'blocked' ? 'suspended' : state
}
