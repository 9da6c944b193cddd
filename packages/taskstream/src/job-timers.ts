import type { Execution } from '@taskstream/task-api'
import { creationOf, topicOf, withoutSuffix } from '@taskstream/task-jobs'
import type { AnyJob } from '@taskstream/task-jobs'
import { PeriodicScheduler, periodicTasks } from '@taskstream/task-scheduler'
import type { Definition } from './definitions.ts'
import { given } from './given.ts'
import type { StreamDriver, StreamOptions } from './stream-options.ts'

/** The scope of the timers of jobs. */
const scope = 'jobs'
const noApplication = 'taskstream'

/** The timers of a stream's jobs: stored at each start, and fired by a scheduler while the stream runs. */
export class JobTimers<Transaction, E extends Execution> {
  readonly #driver: StreamDriver<Transaction, E>
  readonly #options: StreamOptions<Transaction>
  readonly #wake: (topic: string) => void
  #scheduler: PeriodicScheduler<Transaction, E> | undefined

  /** @param wake called after a job was pushed by the clock */
  constructor(driver: StreamDriver<Transaction, E>, options: StreamOptions<Transaction>, wake: (topic: string) => void) {
    this.#driver = driver
    this.#options = options
    this.#wake = wake
  }

  /**
   * Stores the timers of these jobs, removes those that the application no longer has, and fires them from now on.
   *
   * @param checkGoOn throws before the timers are fired if the stream was stopped meanwhile
   */
  async start(definitions: Iterable<Definition>, checkGoOn: () => void): Promise<void> {
    const { repository, transactions, notifier } = this.#driver
    const { application, clock, statementTimeoutMs } = this.#options
    const timed = [...definitions].filter((one): one is AnyJob => one.settings.what === 'job' && one.settings.timer !== undefined)
    if (timed.length === 0 && application === undefined) return
    const timers = periodicTasks(repository, { scope })
    const undeclared = application === undefined ? 'report' : 'remove'
    await transactions(async (transaction) => {
      await timers.reconcile(transaction, application ?? noApplication, timed.map(toTask), { undeclared })
    })
    if (timed.length === 0) return
    checkGoOn()
    const topics = new Map(timed.map((job) => [job.name, topicOf(job)]))
    this.#scheduler = new PeriodicScheduler<Transaction, E>({
      repository,
      transactions,
      ...given({ notifier, clock, statementTimeoutMs }),
      listener: { onFired: ({ timer }) => this.#wake(topics.get(timer.id) ?? timer.id) },
    })
    await this.#scheduler.start()
  }

  async stop(): Promise<void> {
    await this.#scheduler?.stop()
  }
}

function toTask(job: AnyJob): Parameters<ReturnType<typeof periodicTasks>['schedule']>[1] {
  const { name, settings } = job
  const { priority, maxTries, headers, ...creation } = creationOf(job, undefined)
  // Another one at each start would be a change of the timer.
  const identifier = settings.subKeys?.of(withoutSuffix(creation.identifier))[0] ?? creation.identifier
  return { id: name, name, topic: topicOf(job), timer: settings.timer!, identifier, ...given({ priority, maxTries, headers }) }
}
