import type { HeldTask } from '@taskstream/task-api'
import type { AnyJob } from '../definitions/define-job.ts'
import { idOf, tagsOf } from '../definitions/job-ref.ts'
import { keyOf } from '../definitions/sub-keys.ts'
import type { JobTags } from '../definitions/task-settings.ts'
import type { PushArguments } from '../jobs/push-job.ts'
import type { JobCommit, JobContinuation } from './held-job.ts'
import type { TryTime } from './try-time.ts'

/** How a handler ends its job otherwise than by what it returns. */
export interface Continuing<Transaction> {
  commits(work: (transaction: Transaction) => unknown): JobCommit<Transaction>
  goesOn(job: AnyJob, given: PushArguments<unknown>): JobContinuation
}

/** What the handler of a job is given. An object literal with a getter would take longer than all else that a quick job needs. */
export class HandedJob<Transaction> {
  readonly name: string
  readonly id: string
  readonly key: string | undefined
  readonly input: unknown
  readonly needs: unknown
  readonly tries: number
  readonly attempt: number
  readonly maxTries: number | undefined
  readonly deadline: Date | undefined
  readonly tags: JobTags
  readonly hasOutput: boolean
  declare readonly signal: AbortSignal
  readonly task: HeldTask
  readonly commit: (work: (transaction: Transaction) => unknown) => JobCommit<Transaction>
  readonly next: (job: AnyJob, ...given: PushArguments<unknown>) => JobContinuation
  readonly extend: () => void
  readonly #time: TryTime

  constructor(
    running: Continuing<Transaction>,
    { name, settings }: AnyJob,
    task: HeldTask,
    input: unknown,
    needs: unknown,
    time: TryTime,
  ) {
    this.#time = time
    this.name = name
    this.id = idOf(task)
    this.key = settings.key && keyOf(settings, task.identifier)
    this.input = input
    this.needs = needs
    this.tries = task.tries
    this.attempt = task.attempt
    this.maxTries = task.maxTries
    this.deadline = task.deadline
    this.tags = tagsOf(task)
    this.hasOutput = settings.output !== undefined
    Object.defineProperty(this, 'signal', HandedJob.#signal)
    this.task = task
    this.commit = (work) => running.commits(work)
    this.next = (job, ...given) => running.goesOn(job, given)
    this.extend = time.extend
  }

  /** An own property, so that a handler may spread its job. */
  static readonly #signal: PropertyDescriptor & ThisType<HandedJob<unknown>> = {
    enumerable: true,
    get() {
      return this.#time.signal
    },
  }
}
