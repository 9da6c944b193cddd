import {
  checkInput,
  isPassing,
  isTaskError,
  jsonOf,
  readInput,
  TaskDecision,
  TaskDecisionError,
  TaskError,
  taskToString,
} from '@taskstream/task-api'
import type { Execution, HeldTask, TaskDependencies, TaskKey, TaskSink } from '@taskstream/task-api'
import type { HandlerContext, TaskHandlerFactory } from '@taskstream/task-processor'
import type { AnyJob, Job } from '../definitions/define-job.ts'
import { topicOf } from '../definitions/define-queue.ts'
import { HandedJob } from './handed-job.ts'
import { JobCommit, JobContinuation } from './held-job.ts'
import type { JobHandler } from './held-job.ts'
import type { Done, InProcess } from '../jobs/in-process.ts'
import { pushedChange } from '../jobs/job-change.ts'
import type { JobRoute } from './job-routes.ts'
import { noSignatures } from '../signatures/job-signatures.ts'
import type { JobSignatures } from '../signatures/job-signatures.ts'
import { JobSlots } from './job-slots.ts'
import { throughMiddleware } from './middleware.ts'
import type { AnyHeldJob, JobMiddleware } from './middleware.ts'
import { neededResults } from './needed-results.ts'
import type { NeededEnding } from './needed-results.ts'
import { dependenciesOf } from '../definitions/needs.ts'
import type { Need } from '../definitions/needs.ts'
import { NewerInputs } from './newer-inputs.ts'
import { creationOf } from '../jobs/push-job.ts'
import { tagsOf } from '../definitions/job-ref.ts'
import type { AnyPushOptions, PushArguments } from '../jobs/push-job.ts'
import { inputOf } from '../definitions/task-input.ts'
import { timeoutOf } from '../definitions/task-timeout.ts'
import { TryTime } from './try-time.ts'

export interface JobEnvironment<Transaction> {
  readonly repository: Pick<TaskSink<Transaction, Execution> & TaskDependencies<Transaction, Execution>, 'push' | 'depend'>
  /** What the tasks that a task needs have returned, and how they have ended. */
  needed(task: HeldTask): Promise<readonly NeededEnding[]>
  readonly process: InProcess
  /** Whether a transaction can be given up while a handler still uses it. */
  readonly closesAbandoned?: boolean
  /** What signs the jobs with which others go on, and verifies those that are handled. Default: no keys, which refuses jobs that are signed. */
  readonly signatures?: JobSignatures
  /** The middleware around all jobs, the first outermost. */
  readonly middleware?: readonly JobMiddleware<Transaction>[]
}

export interface JobHandling<Transaction> {
  /** How many jobs are handled at a time. */
  readonly concurrency: number
  /** Whether the next jobs are polled while these are handled, as many as take some 50 ms. */
  readonly ahead: boolean
  /** The middleware around these jobs, inside that of the environment. */
  readonly use?: readonly JobMiddleware<Transaction>[]
}

/**
 * Makes the handler of a topic from the handler of a job. The topic must be polled with the size 1, so that each job ends as it ends.
 *
 * @example
 * const handler = jobHandler({ repository, process }, email, handle, { concurrency: 10, ahead: true })
 * node.process(email.name, { handler, size: 1, retry: email.settings.retry })
 */
export function jobHandler<Transaction, Name extends string, Given, Input, Next extends string, Returned = void, Needs = void>(
  environment: JobEnvironment<Transaction>,
  job: Job<Name, Given, Input, Next, Returned, unknown, Needs>,
  handle: JobHandler<Transaction, Name, Input, Next, Returned, Needs>,
  handling: JobHandling<Transaction>,
): TaskHandlerFactory<Transaction> {
  const route = { job, handle, use: [], isOpen: false } as unknown as JobRoute<Transaction>
  return routedHandler(environment, () => route, handling)
}

/**
 * Makes the handler of a topic whose jobs have several handlers.
 *
 * @param routeOf finds the handler of a job. What it throws fails the try
 */
export function routedHandler<Transaction>(
  environment: JobEnvironment<Transaction>,
  routeOf: (task: HeldTask) => JobRoute<Transaction>,
  { concurrency, ahead, use = [] }: JobHandling<Transaction>,
): TaskHandlerFactory<Transaction> {
  const { signatures = noSignatures } = environment
  const newer = new Map<string, NewerInputs>()
  const newerInputs = (job: AnyJob): NewerInputs => {
    const known = newer.get(job.name) ?? new NewerInputs(job)
    newer.set(job.name, known)
    return known
  }
  return {
    open: () => {
      const slots = new JobSlots(concurrency, ahead)
      const middleware = [...(environment.middleware ?? []), ...use]
      return {
        get capacity() {
          return slots.capacity
        },
        slots,
        handle: async ([task], context) => {
          // A stop hands the job back. Otherwise its try is refunded, and whoever has room takes it.
          if (!slots.take() && !(await slots.wait(context.clock))) return context.aborted ? undefined : decided(task!, later)
          let isFree = false
          let begunMs: number | undefined
          try {
            // The job may have been cancelled, or the stream stopped, while it waited.
            if (!task || context.aborted) return undefined
            if (context.isHung) return decided(task, later)
            const route = routeOf(task)
            // Nothing of the job is read before: its version and its input may be anybody's.
            const refused = signatures.refused(route.job, task, context)
            const early = refused ?? (route.isOpen ? undefined : newerInputs(route.job).snoozed(task, context))
            if (early) return decided(task, early)
            begunMs = context.clock.monotonicMs()
            const running = new RunningJob(environment, route, task, context)
            const outcome = await running.run(middleware)
            // Commits wait for each other, and share transactions: others are handled meanwhile.
            slots.free()
            isFree = true
            return running.isCommitted(outcome) ? await running.commit(outcome) : running.decided(outcome)
          } finally {
            if (begunMs !== undefined) slots.took(context.clock.monotonicMs() - begunMs)
            if (!isFree) slots.free()
          }
        },
      }
    },
  }
}

function decided(task: HeldTask, decision: TaskDecision): Map<HeldTask, TaskDecision> {
  // A list of pairs would make three objects more for each job.
  const decisions = new Map<HeldTask, TaskDecision>()
  decisions.set(task, decision)
  return decisions
}

/** Gives the try back: another process may have a slot for it. */
const later = TaskDecision.snooze({ afterMs: 0 })

/** After how many milliseconds a job is tried again whose needs could not be read. */
const unreadMs = 1_000

/** One try of one job. */
class RunningJob<Transaction> {
  readonly #environment: JobEnvironment<Transaction>
  readonly #route: JobRoute<Transaction>
  readonly #task: HeldTask
  readonly #context: HandlerContext<Transaction>
  readonly #time: TryTime
  /** Whether the handler has returned, or is waited for no longer: what it asks for then would be lost. */
  #isOver = false
  #commit: JobCommit<Transaction> | undefined
  /** What `next` has returned last. */
  #continuation: JobContinuation | undefined

  constructor(
    environment: JobEnvironment<Transaction>,
    route: JobRoute<Transaction>,
    task: HeldTask,
    context: HandlerContext<Transaction>,
  ) {
    this.#environment = environment
    this.#route = route
    this.#task = task
    this.#context = context
    const { timeoutMs, maxRunMs } = route.job.settings
    this.#time = new TryTime(task, context as HandlerContext<never>, { timeoutMs: timeoutOf(task) ?? timeoutMs, maxRunMs })
  }

  /** @returns what the handler returned, or its middleware. @throws what was thrown; an error that ends the job if its input does not fit */
  async run(outer: readonly JobMiddleware<Transaction>[]): Promise<unknown> {
    const { needs } = this.#route.job.settings
    const time = this.#time
    let handled
    try {
      const input = this.#input()
      handled = this.#environment.process.handling(this.#task, () => {
        time.lose(new TaskError('TASK_LOST', `${taskToString(this.#task)} was cancelled`, { lost: [this.#task] }))
      })
      return await time.of(
        needs
          ? this.#needed(needs).then((results) => this.#handle(input, results, outer))
          : this.#handle(input, undefined, outer),
      )
    } catch (error) {
      if (!time.isLost) throw time.reasonOf(error)
      this.#commit = undefined
      this.#continuation = undefined
      // Whatever is decided is refused, and reported as lost. If it were not, the job would be tried again.
      return TaskDecision.snooze({ afterMs: 0 })
    } finally {
      this.#isOver = true
      handled?.()
      time.end()
    }
  }

  #handle(input: unknown, needs: unknown, outer: readonly JobMiddleware<Transaction>[]): unknown {
    const { handle, use } = this.#route
    const held = new HandedJob(this, this.#route.job, this.#task, input, needs, this.#time) as unknown as AnyHeldJob<Transaction>
    if (outer.length + use.length === 0) return handle(held)
    return throughMiddleware([...outer, ...use], held, () => handle(held))
  }

  /** Whether a transaction completes the job. @throws TaskError LIFECYCLE if the handler has not returned what it was to return */
  isCommitted(outcome: unknown): outcome is JobCommit<Transaction> | JobContinuation {
    if (this.#commit && outcome !== this.#commit)
      throw this.#misuse('called commit and did not return what it returns: write `return commit(…)`')
    this.#checkContinued(outcome)
    return outcome instanceof JobCommit || outcome instanceof JobContinuation
  }

  decided(outcome: unknown): Map<HeldTask, TaskDecision> {
    return decided(this.#task, this.#decisionOf(outcome))
  }

  /** Completes the job in a transaction, with the work of its handler. */
  async commit(outcome: JobCommit<Transaction> | JobContinuation): Promise<undefined> {
    const { process } = this.#environment
    let done: Done | undefined
    try {
      await this.#context.complete(async (transaction, held) => {
        // Each run has a transaction of its own, and what an earlier one did was rolled back.
        done = undefined
        if (held.length === 0) return new Map()
        done = process.begin(transaction)
        this.#continuation = undefined
        const returned = outcome instanceof JobCommit ? await this.#worked(done, transaction, outcome) : outcome
        this.#checkContinued(returned)
        if (returned instanceof JobCommit) throw this.#misuse('returned a commit from its commit: it has one')
        const decision =
          returned instanceof JobContinuation
            ? TaskDecision.success().withSuccessor(await this.#goOn(transaction, returned))
            : this.#decisionOf(returned)
        return decided(this.#task, decision)
      })
    } catch (error) {
      throw this.#time.reasonOf(error)
    }
    if (done) process.committed(done, this.#context.wake)
    return undefined
  }

  /** Does the work of a commit. Work that goes on long after its time is up is left behind, if the connection can be closed under it. */
  async #worked(done: Done, transaction: Transaction, { work }: JobCommit<Transaction>): Promise<unknown> {
    const { process, closesAbandoned } = this.#environment
    const time = this.#time
    time.again()
    this.#isOver = false
    try {
      const outcome = process.within(done, () => work(transaction))
      if (!closesAbandoned) return await outcome
      return await time.of(outcome, (late) => new TaskError('TRANSACTION_ABANDONED', late.message, late.data, { cause: late }))
    } finally {
      this.#isOver = true
      time.end()
    }
  }

  #input(): unknown {
    const { job, isOpen } = this.#route
    try {
      // Nobody knows of a version what it is, and nothing is checked.
      if (isOpen) return job.settings.input && readInput(job.settings.input, job.name, this.#task.input)
      return inputOf(job, this.#task)
    } catch (error) {
      if (!isTaskError(error, 'INPUT_INVALID')) throw error
      // It will not fit at the next try either.
      throw new TaskDecisionError(TaskDecision.failure(error).because('terminated'))
    }
  }

  /** What the job needs. A database that does not answer costs no try. */
  async #needed(needs: ReadonlyMap<string, Need>): Promise<unknown> {
    try {
      return neededResults(this.#task, needs, await this.#environment.needed(this.#task))
    } catch (error) {
      throw isPassing(error) ? new TaskDecisionError(TaskDecision.snooze({ afterMs: unreadMs }, error)) : error
    }
  }

  commits(work: (transaction: Transaction) => unknown): JobCommit<Transaction> {
    if (this.#commit) throw this.#misuse('called commit twice: one transaction completes it')
    if (this.#isOver) throw this.#misuse('called commit after it had returned, or its time was up: write `return commit(…)`')
    return (this.#commit = new JobCommit(work))
  }

  goesOn(job: AnyJob, given: PushArguments<unknown>): JobContinuation {
    if (this.#isOver) throw this.#misuse('called next after it had returned, or its time was up: write `return next(…)`')
    return (this.#continuation = new JobContinuation(job, given))
  }

  #checkContinued(outcome: unknown): void {
    if (this.#continuation && outcome !== this.#continuation)
      throw this.#misuse('called next and did not return what it returns: write `return next(…)`')
  }

  /** What is returned is the job's output, if it has one. It is checked as whoever waits will get it, after JSON. */
  #decisionOf(outcome: unknown): TaskDecision {
    const { name, settings } = this.#route.job
    if (outcome instanceof TaskDecision) {
      if (settings.output && outcome.result === 'success' && outcome.value === undefined)
        throw this.#misuse('decided on success without its output: return the output itself')
      return outcome
    }
    if (!settings.output) return TaskDecision.success()
    const text = jsonOf(name, outcome, 'output')
    checkInput(settings.output, name, JSON.parse(text), 'output')
    return TaskDecision.success().withValue(text)
  }

  /** @returns the job that goes on; one that was pushed before, if the id says so */
  async #goOn(transaction: Transaction, { job, arguments: [input, options] }: JobContinuation): Promise<TaskKey> {
    const { repository, process, signatures } = this.#environment
    const { isOpen, job: own } = this.#route
    if (job.name !== own.name && !isOpen && !own.settings.next().some((known) => known.name === job.name))
      throw this.#misuse(`goes on with "${job.name}", which its definition does not name: add it to next`)
    const { priority, headers } = this.#task
    const inherited = {
      ...(priority !== 0 && { priority }),
      ...(headers?.['tags'] !== undefined && { tags: tagsOf(this.#task) }),
    }
    const topic = topicOf(job)
    const creation = creationOf(job, input, { ...inherited, ...options }, signatures)
    const [pushed] = await repository.push(transaction, topic, creation)
    const on = dependenciesOf(job, (options as AnyPushOptions | undefined)?.needs)
    if (on.length > 0 && pushed!.outcome === 'created') await repository.depend(transaction, pushed!, on)
    process.pushed(transaction, topic)
    process.pushes(job)
    process.changed(transaction, () => [pushedChange(job.name, pushed!, creation, on)])
    return pushed!
  }

  #misuse(what: string): TaskError {
    const { name } = this.#route.job
    return new TaskError('LIFECYCLE', `The handler of the job "${name}" ${what}`, { job: name, task: this.#task })
  }
}
