import type { DeclaredTimers, Execution, StoredTimer } from '@taskstream/task-api'
import { creationOf, topicOf, withoutSuffix } from '@taskstream/task-jobs'
import type { AnyJob } from '@taskstream/task-jobs'
import { Condition, safeListener } from '@taskstream/task-processor'
import type { SafeListener } from '@taskstream/task-processor'
import { PeriodicScheduler, periodicTasks } from '@taskstream/task-scheduler'
import type { Definition } from './definitions.ts'
import { consoleListener } from './console-listener.ts'
import { given } from './given.ts'
import type { StreamDriver, StreamOptions } from './stream-options.ts'
import { UndeclaredTimers } from './undeclared-timers.ts'

/** The scope of the timers of jobs. */
const scope = 'jobs'
const noApplication = 'taskstream'
/** How many timers a process tells of. */
const mostDeclared = 1_000

/** The timers of a stream's jobs: stored at each start, and fired by a scheduler while the stream runs. */
export class JobTimers<Transaction, E extends Execution> {
  readonly #driver: StreamDriver<Transaction, E>
  readonly #options: StreamOptions<Transaction>
  readonly #wake: (topic: string) => void
  readonly #listener: SafeListener
  #timed: readonly string[] = []
  #undeclared: UndeclaredTimers<Transaction, E> | undefined
  #scheduler: PeriodicScheduler<Transaction, E> | undefined

  /** @param wake called after a job was pushed by the clock */
  constructor(driver: StreamDriver<Transaction, E>, options: StreamOptions<Transaction>, wake: (topic: string) => void) {
    this.#driver = driver
    this.#options = options
    this.#wake = wake
    this.#listener = safeListener(...[options.listener ?? consoleListener].flat())
  }

  /**
   * Stores the timers of these jobs, removes those that the application no longer has, and fires the others from now on.
   *
   * @param checkGoOn throws before the timers are fired if the stream was stopped meanwhile
   */
  async start(definitions: Iterable<Definition>, checkGoOn: () => void): Promise<void> {
    const { repository, transactions, notifier } = this.#driver
    const { application, clock, statementTimeoutMs } = this.#options
    const timed = [...definitions].filter((one): one is AnyJob => one.settings.what === 'job' && one.settings.timer !== undefined)
    this.#timed = timed.map(({ name }) => name)
    if (timed.length === 0 && application === undefined) return
    const timers = periodicTasks(repository, { scope })
    if (application !== undefined) {
      const condition = new Condition(this.#listener, 'timers')
      this.#undeclared = new UndeclaredTimers(this.#driver, this.#options, {
        scope,
        application,
        condition,
        own: new Map(timed.map((job) => [job.name, toTask(job)])),
      })
    }
    await transactions(async (transaction) => {
      const { undeclared } = await timers.reconcile(transaction, application ?? noApplication, timed.map(toTask))
      await this.#undeclared?.remove(transaction, undeclared)
    })
    checkGoOn()
    this.#undeclared?.begin()
    if (timed.length === 0) return
    const topics = new Map(timed.map((job) => [job.name, topicOf(job)]))
    this.#scheduler = new PeriodicScheduler<Transaction, E>({
      repository,
      transactions,
      ...given({ notifier, clock, statementTimeoutMs }),
      declares: declarationOf(application ?? noApplication, [...topics.keys()]),
      listener: {
        onFired: ({ timer }) => this.#wake(topics.get(timer.id) ?? timer.id),
        onError: (error, timer) => void this.#listener.onError({ activity: 'timers', error, ...given({ timer }) }),
      },
    })
    await this.#scheduler.start()
  }

  /** In how many milliseconds the next of these jobs is pushed by its timer; 0 or less if one should have been. Infinite if none will be. */
  async dueMs(transaction: Transaction): Promise<number> {
    const { timers } = this.#driver.repository
    let dueMs = Infinity
    for (const id of this.#timed) {
      const timer = (await timers.get(transaction, { scope, id })) as StoredTimer | undefined
      if (timer?.due !== null && timer?.due !== undefined) dueMs = Math.min(dueMs, timer.due - timer.now)
    }
    return dueMs
  }

  async stop(): Promise<void> {
    await Promise.all([this.#scheduler?.stop(), this.#undeclared?.stop()])
  }
}

function declarationOf(application: string, ids: readonly string[]): DeclaredTimers {
  const omitted = ids.length - mostDeclared
  return { scope, application, timers: ids.slice(0, mostDeclared), ...(omitted > 0 && { omitted }) }
}

function toTask(job: AnyJob): Parameters<ReturnType<typeof periodicTasks>['schedule']>[1] {
  const { name, settings } = job
  const { priority, maxTries, headers, ...creation } = creationOf(job, undefined)
  // Another one at each start would be a change of the timer.
  const identifier = settings.subKeys?.of(withoutSuffix(creation.identifier))[0] ?? creation.identifier
  return { id: name, name, topic: topicOf(job), timer: settings.timer!, identifier, ...given({ priority, maxTries, headers }) }
}
