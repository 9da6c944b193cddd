/** Adding, changing and removing timers. */
import { timersName } from '@taskstream/task-api'
import type { NewTimer, TimerChange, TimerKey } from '@taskstream/task-api'
import { nothing, sql } from '../../core/statement.ts'
import type { Context } from '../../core/verb-context.ts'
import type { Verb } from '../../core/verb.ts'
import { assigned, stored } from './columns.ts'

export function* add({ dialect }: Context, timer: NewTimer): Verb<boolean> {
  const { tables, writes } = dialect
  return (yield* writes.touched(writes.insertIfAbsent(tables.periodic, stored(dialect, timer), 'scope, id'))) > 0
}

export function* change({ dialect }: Context, { scope, id }: TimerKey, values: TimerChange): Verb<void> {
  yield sql`
    update ${dialect.tables.periodic}
       set ${assigned(dialect, values)}
     where scope = ${scope} and id = ${id}`
}

export function* remove({ dialect }: Context, { scope, id }: TimerKey, name?: string): Verb<void> {
  const named = name === undefined ? nothing : sql` and name = ${name}`
  yield sql`delete from ${dialect.tables.periodic} where scope = ${scope} and id = ${id}${named}`
}

/** Listeners learn of timers as they do of topics, so nodes may look at their topics once in vain. */
export function* notify({ dialect }: Context): Verb<void> {
  for (const statement of dialect.topics.notify(timersName)) yield statement
}
