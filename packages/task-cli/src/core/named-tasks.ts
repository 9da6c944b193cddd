/** Of tasks that a command names, tells those that are not there from those that stay as they are. */
import type { Task } from '@taskstream/task-api'
import { visible } from '../output/visible.ts'
import type { NamedDatabase } from './database.ts'
import { noTask } from './known.ts'
import { findTask, names, toRef } from './refs.ts'
import type { Ref } from './refs.ts'
import { nameOf, stateOf } from './tasks.ts'

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
