/** The worker of `taskstream work`: a node whose handlers are programs or services. */
import type { TaskError } from '@taskstream/task-api'
import { withAskedPause } from '@taskstream/task-jobs'
import { prometheusMetrics } from '@taskstream/task-telemetry/prometheus'
import { bound, exponential, fixed, never, TaskNode } from '@taskstream/task-processor'
import type { RetryPolicy, StopReport } from '@taskstream/task-processor'
import { openDatabase } from '../core/database.ts'
import type { NamedDatabase } from '../core/database.ts'
import { withoutSecrets } from '../core/secrets.ts'
import { durationText } from './durations.ts'
import { Endings } from './endings.ts'
import type { EndOptions } from './endings.ts'
import { headersIn, secretIn } from './header-file.ts'
import { openHealth } from './health.ts'
import { programHandler } from './program-handler.ts'
import { Progress } from './progress.ts'
import type { RetryWords } from './retry-words.ts'
import { serviceHandler } from './service-handler.ts'
import { onSignals } from './signals.ts'
import { TaskFiles } from './task-files.ts'
import { handlerOf } from './task-handler.ts'
import type { HandleTask, ProgramMissing } from './task-handler.ts'
import type { WorkOptions } from './work-options.ts'

/** How often the summary is printed, in milliseconds. */
const summaryMs = 10_000

/** The longest pause between polls of an empty topic, in milliseconds. A worker that hears of pushes is woken by them. */
const idleMs = 1_000

/** How much longer than its program a handler may take to let go, so that a task is not decided while its program runs, in milliseconds. */
const lettingGoMs = 2_000

/**
 * Works until it is asked to stop, by a signal or by an option.
 *
 * @throws TaskError if the work cannot begin; ProgramMissing if the program is not there any more
 */
export async function runWorker(topics: readonly string[], options: WorkOptions): Promise<void> {
  // Nobody may be reading any more. The work goes on.
  process.stderr.on('error', () => {})
  using files = new TaskFiles()
  // What is wrong with the program or the service is said before anything is taken.
  const handle = handlerFor(options, files)
  await using database = await openDatabase(options)
  await checkTopics(database, topics, options.initialize === true)
  const worker = new Worker(topics, options, database, handle)
  await worker.run()
}

class Worker {
  readonly #topics: readonly string[]
  readonly #options: WorkOptions
  readonly #database: NamedDatabase
  readonly #node: TaskNode<unknown>
  readonly #progress: Progress
  readonly #endings: Endings
  readonly #stopped = Promise.withResolvers<StopReport>()
  #missing: ProgramMissing | undefined
  #isStopping = false

  constructor(topics: readonly string[], options: WorkOptions, database: NamedDatabase, handle: HandleTask) {
    this.#topics = topics
    this.#options = options
    this.#database = database
    const { tasks, transactions, notifier } = database
    this.#progress = new Progress(say, options.verbose === true)
    this.#endings = new Endings(topics, endsOf(options), (why) => this.#stop(why))
    const { concurrency, lease, killAfter, timeout, http } = options
    this.#node = new TaskNode({
      repository: tasks,
      transactions,
      ...(notifier && { notifier }),
      leaseMs: lease,
      heartbeatIntervalMs: Math.min(5_000, Math.floor(lease / 6)),
      listener: [this.#progress.listener, this.#endings.listener],
      // Of several topics, all together run so many programs.
      ...(topics.length > 1 && { limiter: bound(concurrency) }),
    })
    const watch = {
      began: (task: Parameters<Progress['began']>[0]): void => [this.#progress, this.#endings].forEach((one) => one.began(task)),
      ended: (task: Parameters<Progress['ended']>[0]): void => [this.#progress, this.#endings].forEach((one) => one.ended(task)),
      missing: (error: ProgramMissing): void => {
        this.#missing ??= error
        this.#stop('its program is missing')
      },
    }
    for (const topic of topics)
      this.#node.process(topic, {
        handler: handlerOf(handle, watch),
        size: 1,
        concurrency,
        // Behind a pooler without sessions nothing is heard.
        idleMs,
        retry: withAskedPause(policyOf(options.retry)),
        abortMs: killAfter + lettingGoMs,
        // A request has a time-out of its own.
        ...(timeout !== undefined && http === undefined && { timeoutMs: timeout }),
      })
  }

  async run(): Promise<void> {
    using _signals = onSignals((signal) => this.#stop(signal), say)
    using _endings = this.#endings
    const { health } = this.#options
    using metrics = health && prometheusMetrics({ fleet: { tasks: this.#database.tasks, transactions: this.#database.reading } })
    await using opened = health && metrics && (await openHealth(health, this.#node, metrics))
    if (opened) say(`health: ${opened.url}/livez and /readyz, and /metrics`)
    await this.#start()
    const summaries = setInterval(() => this.#progress.saySummary(), summaryMs)
    try {
      const { abandoned } = await this.#stopped.promise
      say(`stopped: ${this.#progress.summary}`)
      if (abandoned.length > 0) {
        say(
          `${abandoned.length} could not be handed back: others have taken them, or will when the lease of this worker has run out`,
        )
        process.exitCode = 1
      }
    } finally {
      clearInterval(summaries)
    }
    if (this.#missing) throw this.#missing
  }

  async #start(): Promise<void> {
    try {
      const { inactive } = await this.#node.start()
      for (const topic of inactive) say(`${topic} is paused: go on with taskstream resume ${topic}`)
      say(`working on ${this.#topics.join(', ')}, ${this.#options.concurrency} at a time`)
      this.#endings.start()
    } catch (error) {
      // A stop ends the start.
      if (!this.#isStopping || (error as TaskError).code !== 'LIFECYCLE') throw error
    }
  }

  #stop(why: string): void {
    if (this.#isStopping) return
    this.#isStopping = true
    const { grace, killAfter } = this.#options
    const { atWork } = this.#progress
    const wait = atWork > 0 ? `; ${atWork} at work may go on for ${durationText(grace)}` : ''
    say(`${why}: takes no more tasks${wait}`)
    this.#node.stop({ graceMs: grace, abortMs: killAfter + lettingGoMs }).then(this.#stopped.resolve, this.#stopped.reject)
  }
}

function handlerFor(options: WorkOptions, files: TaskFiles): HandleTask {
  const { command, http, headersFile, secretFile, timeout, env = {}, killAfter, decisions = false, value = false } = options
  if (command) return programHandler({ command, env, killAfterMs: killAfter, decisions, value }, files)
  return serviceHandler({
    url: http!,
    value,
    ...(headersFile !== undefined && { headers: headersIn(headersFile) }),
    ...(secretFile !== undefined && { signingSecret: secretIn(secretFile) }),
    ...(timeout !== undefined && { attemptMs: timeout }),
  })
}

/** @throws TaskError TOPIC_UNKNOWN, as a misspelt topic would never have a task */
async function checkTopics(
  { tasks, transactions, reading }: NamedDatabase,
  topics: readonly string[],
  initialize: boolean,
): Promise<void> {
  for (const topic of topics)
    if (initialize) await transactions<boolean>((transaction) => tasks.initialize(transaction, topic))
    else await reading((transaction) => tasks.task(transaction, topic, 0))
}

function policyOf(words: RetryWords): RetryPolicy {
  if (words.kind === 'none') return never
  const { tries } = words
  return words.kind === 'fixed'
    ? fixed({ tries, afterMs: words.afterMs })
    : exponential({ tries, firstMs: words.firstMs, maxMs: words.maxMs })
}

function endsOf({ untilEmpty, for: forMs, quietAfter }: WorkOptions): EndOptions {
  return {
    ...(untilEmpty && { untilEmpty }),
    ...(forMs !== undefined && { forMs }),
    ...(quietAfter !== undefined && { quietAfterMs: quietAfter }),
  }
}

function say(line: string): void {
  process.stderr.write(`${withoutSecrets(line)}\n`)
}
