/** Runs a verb on the tasks that a command names, and tells those that are not there from those that stay as they are. */
import type { Task, TaskSelector } from '@taskstream/task-api'
import { visible } from '../output/visible.ts'
import type { NamedDatabase } from './database.ts'
import { noTask } from './known.ts'
import { findTask, names, toRef, toSelector } from './refs.ts'
import type { Ref } from './refs.ts'
import { nameOf, stateOf } from './tasks.ts'

/** Calls the verb for each way in which the tasks are named, in the transaction. */
export async function onNamedTasks<Result>(
  transaction: unknown,
  texts: readonly string[],
  verb: (transaction: unknown, selector: TaskSelector) => Promise<Result>,
): Promise<readonly Result[]> {
  const refs = texts.map(toRef)
  // One call for all sequences locks the tasks in their order, so two such commands cannot deadlock.
  const sequences = refs.flatMap((ref) => ('sequence' in ref ? [ref.sequence] : []))
  const selectors = [...(sequences.length > 0 ? [sequences] : []), ...refs.filter((ref) => !('sequence' in ref)).map(toSelector)]
  const results: Result[] = []
  for (const selector of selectors) results.push(await verb(transaction, selector))
  return results
}

/**
 * Says on standard error of each named task that the verb left as it is in which state it is.
 *
 * @throws CommandError missing, if one of them is not there
 */
export async function explainUntouched(
  database: NamedDatabase,
  topic: string,
  texts: readonly string[],
  touched: readonly Task[],
): Promise<void> {
  const missing: Ref[] = []
  for (const ref of texts.map(toRef)) {
    if (touched.some((task) => names(ref, task))) continue
    const task = await database.reading((transaction) => findTask(database, transaction, topic, ref))
    if (task === undefined) missing.push(ref)
    else if (!touched.some(({ sequence }) => sequence === task.sequence))
      console.error(visible(`${ref.text} stays as it is: ${nameOf(task)} is ${stateOf(task)}`))
  }
  if (missing[0] !== undefined) throw noTask(topic, missing.map(({ text }) => text).join(', '), database.place)
}
