import { checkNames, invalid, optionNames, taskLimits } from '@taskstream/task-api'
import type { Execution, HeldTask, SupplementToken, TaskJuncture, TaskSink } from '@taskstream/task-api'
import { pushesOf } from './pushes.ts'
import type { Asked, Postprocess, Pushes } from './pushes.ts'
import type { TaskContextFactory } from './task-context.ts'

export interface PushingOptions<Transaction> {
  readonly repository: Pick<TaskSink<Transaction, Execution> & TaskJuncture<Transaction, Execution>, 'push' | 'junction'>
  /** Changes every creation before it is pushed, for example `tagging()`. */
  readonly postprocess?: Postprocess
}

const names = optionNames<PushingOptions<never>>('pushing', { repository: true, postprocess: true })

/** A context that is also the token by which steps get their `Pushes`. */
export interface Pushing<Transaction> extends TaskContextFactory<Transaction>, SupplementToken<Pushes> {
  readonly name: string
}

/**
 * Makes a context by which the steps of a composite push to topics, and start tasks that wait there at a junction.
 *
 * The pushes and junctions happen in the transaction that completes the batch, so they are committed together with the completion or not
 * at all. They happen only for tasks that are still held and that all steps and all earlier contexts have continued. After the commit,
 * the node looks for work in these topics at once. Place this context last, because it does not see the decisions of later contexts.
 *
 * Tasks that are pushed together have the order of the tasks that they are pushed for. The creations for one task have the order of the
 * calls. A step that handles several tasks at a time does not change this order.
 *
 * @throws TaskError ARGUMENT_INVALID
 * @example
 * const outbox = pushing({ repository: tasks, postprocess: tagging() })
 * const pipeline = composite({ contexts: [outbox] })
 *   .each('send', async (task, supplement) => {
 *     await send(task.input)
 *     supplement.require(outbox).pushByTask(task, 'sent')
 *   })
 */
export function pushing<Transaction>(options: PushingOptions<Transaction>): Pushing<Transaction> {
  checkNames(names, options)
  const { repository, postprocess = (creation) => creation } = options
  if (typeof postprocess !== 'function') throw invalid('postprocess', postprocess, 'must be a function')
  const context: Pushing<Transaction> = {
    name: 'pushing',
    open: ({ tasks, supplement }) => {
      const asked = pushesOf(tasks, postprocess)
      supplement.register(context, asked.pushes)
      let touched = new Set<string>()
      return {
        apply: async (transaction, decisions) => {
          asked.end()
          // An earlier run may have been rolled back, so its topics are forgotten.
          touched = new Set()
          const goesOn = tasks.filter((task) => decisions.get(task)?.continued)
          for (const { topic, kind: insertion, items } of inRuns(asked.creations, goesOn)) {
            for (let from = 0; from < items.length; from += taskLimits.batchSize)
              await repository.push(transaction, topic, items.slice(from, from + taskLimits.batchSize), { insertion })
            touched.add(topic)
          }
          for (const { topic, kind: junction, items } of inRuns(asked.groups, goesOn)) {
            const started = await repository.junction(transaction, topic, junction, items)
            if (started.size > 0) touched.add(topic)
          }
        },
        afterTransaction: ({ wake }) => {
          for (const topic of touched) wake(topic)
        },
      }
    },
  }
  return Object.freeze(context)
}

/** Items that one statement of the repository can take together: one push, or one junction. */
interface Run<Kind, Item> {
  readonly topic: string
  readonly kind: Kind
  readonly items: readonly Item[]
}

/** Groups the requests for these tasks by topic, and within a topic joins consecutive requests of one kind. */
function inRuns<Kind, Item>(asked: readonly Asked<Kind, Item>[], tasks: readonly HeldTask[]): Run<Kind, Item>[] {
  const position = new Map(tasks.map((task, index) => [task, index]))
  const byTopic = Map.groupBy(
    asked.filter(({ task }) => position.has(task)),
    ({ topic }) => topic,
  )
  // Topics are sorted by name: two completions then lock topics in the same order, and cannot deadlock.
  const topics = [...byTopic].sort(([left], [right]) => (left < right ? -1 : 1))
  return topics.flatMap(([topic, ofTopic]) => {
    const runs: Asked<Kind, Item>[][] = []
    for (const one of ofTopic) {
      const last = runs.at(-1)
      if (last?.[0]?.kind === one.kind) last.push(one)
      else runs.push([one])
    }
    return runs.map((run) => ({
      topic,
      kind: run[0]!.kind,
      items: run.sort((left, right) => position.get(left.task)! - position.get(right.task)!).flatMap(({ items }) => items),
    }))
  })
}
