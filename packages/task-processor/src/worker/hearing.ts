/** What a node's own events say about how it fares. It adds a few additions to a batch, and nothing to a task. */
import { isTaskError } from '@taskstream/task-api'
import type { NodeTopic, NodeTrouble } from '@taskstream/task-api'
import type { Activity, TaskListener } from '../core/listener.ts'
import { toTrouble } from '../liveness/trouble.ts'

/** Activities that are over once they say so. Others are about single tasks, which their attempts tell of. */
const watched: ReadonlySet<Activity> = new Set<Activity>(['poll', 'heartbeat', 'maintenance', 'complete', 'listen', 'activation'])

/** What does not work of a topic that is not processed, or no longer. */
const processing = 'process'

/** A right is missing without which tasks cannot be written. */
const refusal = 'complete a task'

/** Activities without which a node takes no tasks. */
const taking: ReadonlySet<string> = new Set(['poll', 'heartbeat', processing])

/** Tasks that are put off for a newer release come by once a minute at least, and a span lasts half a minute: after so many without one, there are none. */
const spansOfNewer = 6

/** What a process puts off, and how many spans ago it has last done so. */
interface Newer {
  readonly trouble: NodeTrouble
  spans: number
}

/** Between two regular reports. */
interface Counts {
  ended: number
  failed: number
}

export class Hearing implements TaskListener {
  /** By topic, and then by activity. What concerns the whole node has no topic. */
  readonly #troubles: Map<string | undefined, Map<string, NodeTrouble>> = new Map()
  readonly #onNews: () => void
  #counts: Map<string, Counts> = new Map()
  #before: Map<string, Counts> = new Map()
  /** Topics of which the database has refused to write a task, in this span. */
  readonly #refused: Set<string | undefined> = new Set()
  readonly #newer: Map<string, Newer> = new Map()
  #blockedMs = 0
  #blockedBefore = 0

  /** @param onNews called when something has begun to fail, or works again */
  constructor(onNews: () => void) {
    this.#onNews = onNews
  }

  onStart: NonNullable<TaskListener['onStart']> = ({ topic }) => this.#polled(topic)

  onEmpty: NonNullable<TaskListener['onEmpty']> = ({ topic }) => this.#polled(topic)

  onComplete: NonNullable<TaskListener['onComplete']> = ({ topic, completion, outcomes }) => {
    let counts = this.#counts.get(topic)
    if (!counts) this.#counts.set(topic, (counts = { ended: 0, failed: 0 }))
    counts.ended += completion.completed.length
    counts.failed += outcomes.failure + outcomes.retry
    // Batches fail to be written each by itself, and one that is given up does not say that others were written.
    if (this.#troubles.size > 0) this.#forget(topic, 'complete')
  }

  onError: NonNullable<TaskListener['onError']> = ({ activity, topic, tasks, error }) => {
    if (topic !== undefined && isTaskError(error, 'INPUT_NEWER')) this.#putsOff(topic, error)
    // A task that cannot be written as decided says so itself, unless the database refuses that too.
    if (watched.has(activity) && tasks === undefined) this.#note(activity, topic, error)
    else if (activity === 'complete' && isTaskError(error, 'PERMISSION_DENIED')) {
      this.#refused.add(topic)
      this.#note(refusal, topic, error)
    }
  }

  onRecovered: NonNullable<TaskListener['onRecovered']> = ({ activity, topic }) => this.#forget(topic, activity)

  onFatal: NonNullable<TaskListener['onFatal']> = ({ topic, error }) => this.#note(processing, topic, error)

  onStuck: NonNullable<TaskListener['onStuck']> = () => this.#onNews()

  onBlocked: NonNullable<TaskListener['onBlocked']> = ({ blockedMs }) => {
    this.#blockedMs = Math.max(this.#blockedMs, Math.round(blockedMs))
  }

  /**
   * Begins a new span of counts. What is told stands for two spans, so that it is never empty just because one has begun. A right that was not missed for a
   * whole span counts as given.
   */
  turn(): void {
    for (const topic of this.#troubles.keys()) if (!this.#refused.has(topic)) this.#forget(topic, refusal)
    this.#refused.clear()
    for (const [topic, newer] of this.#newer) if (++newer.spans > spansOfNewer) this.#newer.delete(topic)
    this.#before = this.#counts
    this.#counts = new Map()
    this.#blockedBefore = this.#blockedMs
    this.#blockedMs = 0
  }

  get blockedMs(): number {
    return Math.max(this.#blockedMs, this.#blockedBefore)
  }

  /** What does not work in the whole node. */
  get trouble(): NodeTrouble | undefined {
    return this.#troubleOf(undefined)
  }

  /** What keeps the node from taking tasks, as `poll mails`. @param isPolled tells whether a topic is polled, or was to be */
  obstacles(isPolled: (topic: string) => boolean): readonly string[] {
    return [...this.#troubles].flatMap(([topic, activities]) =>
      topic === undefined || isPolled(topic) || activities.has(processing)
        ? [...activities.keys()].filter((each) => taking.has(each)).map((each) => [each, topic].filter(Boolean).join(' '))
        : [],
    )
  }

  /** @param isPolled whether the topic is polled. Nobody knows whether what has failed in polls before would fail again */
  of(topic: string, isPolled: boolean): Pick<NodeTopic, 'ended' | 'failed' | 'error' | 'newer'> {
    const sum = (what: keyof Counts): number => (this.#counts.get(topic)?.[what] ?? 0) + (this.#before.get(topic)?.[what] ?? 0)
    const lasting = this.#troubles.get(topic)?.get(processing) ?? this.#troubles.get(topic)?.get('activation')
    const error = isPolled ? this.#troubleOf(topic) : lasting
    const newer = isPolled ? this.#newer.get(topic)?.trouble : undefined
    return { ended: sum('ended'), failed: sum('failed'), ...(error && { error }), ...(newer && { newer }) }
  }

  /** A poll has come back. Not every error of a poll or of a start says when it is over. */
  #polled(topic: string): void {
    if (this.#troubles.size > 0) this.#forget(topic, 'poll', processing, 'activation')
  }

  #putsOff(topic: string, error: unknown): void {
    const known = this.#newer.get(topic)
    if (known) known.spans = 0
    else {
      this.#newer.set(topic, { trouble: toTrouble('handle', error), spans: 0 })
      this.#onNews()
    }
  }

  #note(activity: string, topic: string | undefined, error: unknown): void {
    const troubles = this.#troubles.get(topic) ?? new Map<string, NodeTrouble>()
    if (troubles.has(activity)) return
    this.#troubles.set(topic, troubles.set(activity, toTrouble(activity, error)))
    this.#onNews()
  }

  #forget(topic: string | undefined, ...activities: readonly string[]): void {
    const troubles = this.#troubles.get(topic)
    if (!troubles) return
    const before = troubles.size
    for (const activity of activities) troubles.delete(activity)
    if (troubles.size === before) return
    if (troubles.size === 0) this.#troubles.delete(topic)
    this.#onNews()
  }

  /** What has failed for the longest. */
  #troubleOf(topic: string | undefined): NodeTrouble | undefined {
    return this.#troubles.get(topic)?.values().next().value
  }
}
