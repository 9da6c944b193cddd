/** Those who watch the jobs of a stream: what this process does is told at once, and one look for all of them finds what others do. */
import { isPassing } from '@taskstream/task-api'
import type { Execution } from '@taskstream/task-api'
import { completedChange, lostChange, returnedChange, takenChange, topicOf } from '@taskstream/task-jobs'
import type { InProcess, JobChange, JobRef } from '@taskstream/task-jobs'
import { Condition, safeListener, systemClock } from '@taskstream/task-processor'
import type { Clock, ProcessOptions, TaskListener } from '@taskstream/task-processor'
import type { Definition } from './definitions.ts'
import { JobWatcher } from './job-watcher.ts'
import { lookAtJobs } from './look-at-jobs.ts'
import type { StreamDriver, StreamOptions } from './stream-options.ts'
import { checkWatch } from './watch-options.ts'
import type { JobEvent, WatchOptions } from './watch-options.ts'
import { WatchedTopic } from './watched-topic.ts'

/** A row that this process has changed, and has to read, is read after so many milliseconds. */
const soonMs = 20

/** What the watching needs of its stream. */
export interface WatchedStream {
  readonly process: InProcess
  /** What is handled, by name. */
  readonly handled: ReadonlyMap<string, Definition>
}

export class JobWatches<Transaction, E extends Execution> {
  readonly #driver: StreamDriver<Transaction, E>
  readonly #stream: WatchedStream
  readonly #clock: Clock
  readonly #condition: Condition
  readonly #watchers = new Set<JobWatcher>()
  readonly #topics = new Map<string, WatchedTopic>()
  /** Topics that are polled and completed in one transaction: nobody sees their jobs being active. */
  readonly #transactional = new Set<string>()
  #isLooking = false
  #cancel = (): void => {}

  constructor(
    driver: StreamDriver<Transaction, E>,
    stream: WatchedStream,
    { clock = systemClock, listener = {} }: Pick<StreamOptions<Transaction>, 'clock' | 'listener'>,
  ) {
    this.#driver = driver
    this.#stream = stream
    this.#clock = clock
    this.#condition = new Condition(safeListener(...[listener].flat()), 'watch')
  }

  /** @throws TaskError ARGUMENT_INVALID */
  watch(options: WatchOptions): JobWatcher {
    const watch = checkWatch(options)
    for (const definition of [...(options.jobs ?? []), ...(options.queues ?? [])]) this.#stream.process.knows(definition)
    const watcher = new JobWatcher(watch, (ended) => this.#ended(ended))
    if (watch.signal?.aborted) return watcher
    this.#watchers.add(watcher)
    this.#stream.process.watching = (changes) => this.#did(changes)
    this.#schedule()
    return watcher
  }

  /** Learns how a topic is processed. */
  processed(topic: string, { mode }: Pick<ProcessOptions<Transaction>, 'mode'>): void {
    if (mode === 'transactional') this.#transactional.add(topic)
  }

  /** Hears from the node what this process does. */
  readonly listener: TaskListener = {
    onStart: ({ topic, tasks }) => {
      if (this.#isWatched(topic) && !this.#transactional.has(topic)) this.#did(tasks.map(takenChange))
    },
    onComplete: ({ topic, completion, decisions }) => {
      if (this.#isWatched(topic)) this.#did(completion.completed.map((task) => completedChange(task, decisions.get(task)!)))
    },
    onReturned: ({ topic, tasks }) => {
      // A transaction that was rolled back leaves no trace of the attempt.
      const change = this.#transactional.has(topic) ? lostChange : returnedChange
      if (this.#isWatched(topic)) this.#did(tasks.map(change))
    },
    onLost: ({ topic, tasks }) => {
      if (this.#isWatched(topic)) this.#did(tasks.map(lostChange))
    },
  }

  /** Ends all watching. What was not read yet may still be read. */
  stop(): void {
    for (const watcher of this.#watchers) watcher.end()
  }

  #ended(watcher: JobWatcher): void {
    this.#watchers.delete(watcher)
    const watched = this.#intervals()
    for (const name of this.#topics.keys()) if (!watched.has(name)) this.#topics.delete(name)
    if (this.#watchers.size > 0) return
    this.#stream.process.watching = undefined
    // A timer would keep the process alive.
    this.#cancel()
  }

  /** Whether a topic that this process handles has jobs, and somebody watches. */
  #isWatched(topic: string): boolean {
    const handled = this.#watchers.size > 0 && this.#stream.handled.get(topic)
    return handled ? handled.settings.what !== 'topic' : false
  }

  #did(changes: Iterable<JobChange>): void {
    const nowMs = this.#clock.monotonicMs()
    let isUnread = false
    for (const change of changes) {
      if (![...this.#watchers].some((watcher) => watcher.watches(change.topic))) continue
      const topic = this.#topicOf(change.topic, nowMs)
      for (const step of topic.knows(change.sequence) ? [change] : withPush(change)) {
        const told = topic.did(step)
        if (told) this.#tell(told)
      }
      if (change.state !== undefined) continue
      isUnread = true
      topic.nextMs = Math.min(topic.nextMs, nowMs + soonMs)
    }
    if (isUnread) this.#schedule()
  }

  #tell(change: JobChange): void {
    const { topic, sequence, job, id = `@${sequence}`, state, reason, tries, attempt, error } = change
    const identifier = this.#stream.process.keyOf(change)
    const ref: JobRef = { topic, sequence, identifier, outcome: 'created', job, id }
    const event: Omit<JobEvent, 'dropped'> = { job, ref, state: state!, reason, tries, attempt, at: new Date(), error }
    for (const watcher of this.#watchers) watcher.tell(change, event)
  }

  /** How often each watched topic is looked at, in milliseconds. */
  #intervals(): Map<string, number> {
    const intervals = new Map<string, number>()
    for (const { topics = this.#ownTopics(), everyMs } of this.#watchers)
      for (const topic of topics) intervals.set(topic, Math.min(everyMs, intervals.get(topic) ?? everyMs))
    return intervals
  }

  /** The topics of the jobs that this stream handles, or has pushed. */
  #ownTopics(): Set<string> {
    const topics = new Set(this.#stream.process.pushedTo)
    for (const { name, settings } of this.#stream.handled.values())
      if (settings.what !== 'topic') topics.add(settings.what === 'job' ? topicOf({ name, settings }) : name)
    return topics
  }

  #topicOf(name: string, nextMs: number): WatchedTopic {
    const topic = this.#topics.get(name) ?? new WatchedTopic(name, nextMs)
    this.#topics.set(name, topic)
    return topic
  }

  #schedule(): void {
    if (this.#isLooking || this.#watchers.size === 0) return
    this.#cancel()
    const nowMs = this.#clock.monotonicMs()
    // Without any topic there may be one later: of a job that is pushed.
    let nextMs = nowMs + Math.min(...[...this.#watchers].map(({ everyMs }) => everyMs))
    for (const name of this.#intervals().keys()) nextMs = Math.min(nextMs, this.#topicOf(name, nowMs).nextMs)
    this.#cancel = this.#clock.after(Math.max(0, nextMs - nowMs), () => void this.#look())
  }

  /** The topics whose look is due. Their next ones are due later, even if these fail. */
  #due(atMs: number): WatchedTopic[] {
    const due: WatchedTopic[] = []
    for (const [name, everyMs] of this.#intervals()) {
      const topic = this.#topicOf(name, atMs)
      if (topic.nextMs > atMs) continue
      topic.nextMs = atMs + everyMs
      due.push(topic)
    }
    return due
  }

  /** Never rejects. */
  async #look(): Promise<void> {
    this.#isLooking = true
    try {
      const atMs = this.#clock.monotonicMs()
      let failure: { readonly error: unknown } | undefined
      for (const topic of this.#due(atMs)) {
        // Its last watcher has gone meanwhile.
        if (!this.#topics.has(topic.name)) continue
        try {
          for (const change of await lookAtJobs(this.#driver, topic)) this.#tell(change)
        } catch (error) {
          failure ??= { error }
          // The database is away, for the other topics too.
          if (isPassing(error)) break
        }
      }
      // Nobody wants to know any more.
      if (this.#watchers.size === 0) return
      if (failure) this.#condition.failed(failure.error)
      else this.#condition.worked()
    } finally {
      this.#isLooking = false
      this.#schedule()
    }
  }
}

/** A job may be taken before this process has heard that its push was committed. It was ready, so that is told first. */
function withPush(change: JobChange): JobChange[] {
  const isFirst = change.state === 'active' && change.attempt === 1
  return isFirst ? [{ ...change, state: 'ready', tries: 0, attempt: 0 }, change] : [change]
}
