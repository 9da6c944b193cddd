/** What a node's own events say about how it fares. It adds a few additions to a batch, and nothing to a task. */
import { cutText, isTaskError } from '@taskstream/task-api'
import type { NodeTopic, NodeTrouble } from '@taskstream/task-api'
import type { Activity, TaskListener } from '../core/listener.ts'

/** Activities that say when they work again. */
const watched: ReadonlySet<Activity> = new Set<Activity>(['poll', 'heartbeat', 'maintenance', 'complete', 'listen', 'activation'])

const messageLength = 500

/** Between two reports. */
interface Counts {
  ended: number
  failed: number
}

export class Hearing implements TaskListener {
  readonly #troubles: Map<string, NodeTrouble & { readonly topic?: string }> = new Map()
  #counts: Map<string, Counts> = new Map()
  #before: Map<string, Counts> = new Map()
  #blockedMs = 0
  #blockedBefore = 0
  #changes = 0

  onComplete: NonNullable<TaskListener['onComplete']> = ({ topic, tasks, decisions }) => {
    let counts = this.#counts.get(topic)
    if (!counts) this.#counts.set(topic, (counts = { ended: 0, failed: 0 }))
    counts.ended += tasks.length
    for (const task of tasks) if (decisions.get(task)?.isRecorded) counts.failed++
    // What is completed was polled, too. Not every error says when it is over: a task that cannot be written leaves its neighbours alone.
    if (this.#troubles.size > 0) for (const activity of ['poll', 'complete'] as const) this.#forget(keyOf(activity, topic))
  }

  onError: NonNullable<TaskListener['onError']> = ({ activity, topic, error }) => {
    const key = keyOf(activity, topic)
    if (!watched.has(activity) || this.#troubles.has(key)) return
    this.#changes++
    this.#troubles.set(key, {
      activity,
      message: withoutPassword(error instanceof Error ? error.message : String(error)),
      since: new Date(),
      ...(isTaskError(error) && { code: error.code }),
      ...(topic !== undefined && { topic }),
    })
  }

  onRecovered: NonNullable<TaskListener['onRecovered']> = ({ activity, topic }) => {
    this.#forget(keyOf(activity, topic))
  }

  onBlocked: NonNullable<TaskListener['onBlocked']> = ({ blockedMs }) => {
    this.#blockedMs = Math.max(this.#blockedMs, Math.round(blockedMs))
  }

  /** Begins a new span of counts. What is told stands for two spans, so that it is never empty just because one has begun. */
  turn(): void {
    this.#before = this.#counts
    this.#counts = new Map()
    this.#blockedBefore = this.#blockedMs
    this.#blockedMs = 0
  }

  /** How often something has begun to fail, or has worked again. */
  get changes(): number {
    return this.#changes
  }

  get blockedMs(): number {
    return Math.max(this.#blockedMs, this.#blockedBefore)
  }

  /** What does not work in the whole node. */
  get trouble(): NodeTrouble | undefined {
    return this.#troubleOf(undefined)
  }

  of(topic: string): Pick<NodeTopic, 'ended' | 'failed' | 'error'> {
    const sum = (what: keyof Counts): number => (this.#counts.get(topic)?.[what] ?? 0) + (this.#before.get(topic)?.[what] ?? 0)
    const error = this.#troubleOf(topic)
    return { ended: sum('ended'), failed: sum('failed'), ...(error && { error }) }
  }

  #forget(key: string): void {
    if (this.#troubles.delete(key)) this.#changes++
  }

  #troubleOf(where: string | undefined): NodeTrouble | undefined {
    for (const { topic, ...trouble } of this.#troubles.values()) if (topic === where) return trouble
    return undefined
  }
}

function keyOf(activity: Activity, topic: string | undefined): string {
  return JSON.stringify([activity, topic])
}

/** The text of a driver's error may have an address in it, and a password may have any character but a space. */
function withoutPassword(message: string): string {
  return cutText(
    message
      .replaceAll(/:\/\/\S*@/g, '://…@')
      .toWellFormed()
      .replaceAll('\0', '\uFFFD'),
    messageLength,
  )
}
