import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { TaskNotifier } from '@taskstream/task-api'
import type { Row } from '@taskstream/task-sql'

/**
 * Notifies and listens, as a push and a node do.
 *
 * @param notify notifies of ready tasks in a topic, and returns whether this database has notifications
 * @returns undefined if there are none
 */
export async function wakeUp(
  notifier: TaskNotifier,
  notify: (topic: string) => Promise<boolean>,
  withinMs: number,
): Promise<readonly Row[] | undefined> {
  // No node has a topic of this name, so nobody is woken.
  const topic = `taskstream.doctor.${randomBytes(8).toString('hex')}`
  const heard = Promise.withResolvers<true>()
  await using _listening = await notifier.listen({ onTasks: (told) => void (told === topic && heard.resolve(true)) })
  if (!(await notify(topic))) return undefined
  const late = new AbortController()
  const isHeard = await Promise.race([heard.promise, delay(withinMs, false, { signal: late.signal }).catch(() => false)])
  late.abort()
  return isHeard ? [] : [{ value: withinMs }]
}
