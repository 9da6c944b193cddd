import type { Verb, VerbContext } from '@taskstream/task-sql'

/** Told together with topics, whose nodes look once more for nothing: no topic of this name is meant. */
export const timersName = 'taskstream:timers'

/** Wakes schedulers, at commit, where the database can. */
export function* notifySchedulers({ dialect }: VerbContext): Verb<void> {
  for (const statement of dialect.topics.notify(timersName)) yield statement
}
