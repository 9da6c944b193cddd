/** Errors for topics and tasks that are not there. */
import type { NamedDatabase } from './database.ts'
import { quoted } from './explain.ts'
import { CommandError } from './exit-codes.ts'

/** @throws TaskError TOPIC_UNKNOWN; ARGUMENT_INVALID if no topic can have this name */
export async function checkTopicKnown({ reading, tasks }: NamedDatabase, topic: string): Promise<void> {
  await reading((transaction) => tasks.task(transaction, topic, 0))
}

export function noTask(topic: string, ref: string, place: string): CommandError {
  // What a program calls the id of a job is an external id here.
  const meant = /^(?:@|\d+$|ext:|id:)/.test(ref) || ref.includes(', ') ? '' : `; by its id as a job: ext:${ref}`
  return new CommandError(
    'missing',
    `no task ${ref} in topic "${topic}" in ${place}${meant} (list them: taskstream ls ${quoted(topic)})`,
  )
}
