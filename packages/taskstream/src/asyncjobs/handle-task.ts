import type { HeldJob, JobCommit } from '@taskstream/task-jobs'
import { decided } from './errors.ts'
import type { TaskRouter } from './router.ts'
import { fieldsOf, resultOf, toStoredResult } from './stored-task.ts'
import type { StoredResult, StoredTask } from './stored-task.ts'
import { notHandled, Task } from './task.ts'
import type { TaskResult } from './task.ts'

/** The part of a held job that handlers of tasks use. */
type Held<Transaction> = Pick<
  HeldJob<Transaction, string, StoredTask, never, StoredResult>,
  'id' | 'input' | 'tries' | 'deadline' | 'signal'
> & {
  readonly commit: (work: (transaction: Transaction) => Promise<StoredResult>) => JobCommit<Transaction>
  readonly extend: () => void
}

type Handle<Transaction> = (
  job: Held<Transaction>,
  results: readonly StoredResult[] | undefined,
) => Promise<StoredResult | JobCommit<Transaction>>

/** Makes the handler of a queue's jobs from a router. It gets what the dependencies of the task have returned, in their order. */
export function handlerOf<Transaction>(queue: string, router: TaskRouter<Transaction>): Handle<Transaction> {
  return async (job, results) => {
    let isOver = false
    const extend = (): void => {
      if (isOver) throw notHandled(job.id)
      job.extend()
    }
    const task = new Task(
      { ...fieldsOf(job.input), ...stateOf(job, queue), dependencyResults: loaded(job.input, results) },
      extend,
    )
    let committed: JobCommit<Transaction> | undefined
    const commit = (work: (transaction: Transaction) => unknown): JobCommit<Transaction> => {
      committed = job.commit(async (transaction) => {
        try {
          return toStoredResult(task.type, await work(transaction))
        } catch (error) {
          throw decided(error)
        }
      })
      return committed
    }
    try {
      const outcome = await router.handler(task)(task, { signal: job.signal, commit })
      return outcome !== undefined && outcome === committed ? committed : toStoredResult(task.type, outcome)
    } catch (error) {
      throw decided(error)
    } finally {
      isOver = true
    }
  }
}

function stateOf(
  { id, tries, deadline }: Pick<Held<never>, 'id' | 'tries' | 'deadline'>,
  queue: string,
): { [Field in 'id' | 'queue' | 'deadline' | 'state' | 'tries' | 'lastTriedAt' | 'lastErr']: Task[Field] } {
  return { id, queue, deadline, state: 'active', tries, lastTriedAt: new Date(), lastErr: '' }
}

function loaded(
  { dependencies = [], load_dependencies }: StoredTask,
  results: readonly StoredResult[] | undefined,
): Readonly<Record<string, TaskResult>> | undefined {
  if (!load_dependencies || !results) return undefined
  return Object.fromEntries(dependencies.map((id, index) => [id, resultOf(results[index])!]))
}
