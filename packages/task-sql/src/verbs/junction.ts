import { checkInteger, checkText, checkTopic, invalid, listOf, taskLimits } from '@taskstream/task-api'
import type { Junction } from '@taskstream/task-api'
import { states } from '../core/states.ts'
import { raw, sql } from '../core/statement.ts'
import type { Verb } from '../core/verb.ts'
import type { Context } from '../core/verb-context.ts'
import { isIn } from './filter-state.ts'
import { checkKeyed } from './topics.ts'
import { setReadyClass } from './recheck.ts'

export function* junction(
  context: Context,
  topic: string,
  kind: Junction,
  groups: Iterable<readonly string[]>,
): Verb<ReadonlySet<string>> {
  const { dialect } = context
  checkTopic(topic)
  if (kind !== 'singular' && kind !== 'eternal') throw invalid('junction', kind, "must be 'singular' or 'eternal'")
  const asked = checkGroups(groups)
  yield* checkKeyed(context, topic, 'junction')
  const identifiers = [...new Set(asked.flat())]
  // mutants: equivalent condition:false, of no identifiers none has arrived
  if (identifiers.length === 0) return new Set()
  yield* dialect.locks.junction(topic, identifiers)
  // A delayed task does not count as suspended, and a redundant one has not arrived (suite/junction.ts).
  // mutants: equivalent sql-distinct `distinct t.identifier`, a set is made of them
  const arrived = yield sql`
    select distinct t.identifier
      from ${dialect.paths.byIdentifiers(topic, identifiers)}
       and ${kind === 'singular' ? isIn(dialect, 'suspended') : sql`t.state between ${states.active} and ${states.recreated}`}`
  const here = new Set(arrived.map(({ identifier }) => String(identifier)))
  const complete = new Set(asked.filter((group) => group.every((identifier) => here.has(identifier))).flat())
  // mutants: equivalent condition:false, of no identifiers nothing is found
  if (complete.size === 0) return new Set()
  // No recheck is needed: the tasks block the same tasks as before, and are themselves put on the ready list.
  const found = yield* dialect.locks.identified(topic, [...complete], isIn(dialect, 'suspended'), 'wait')
  // mutants: equivalent condition:false, a change of no rows changes nothing
  if (found.length === 0) return new Set()
  const started = yield* dialect.writes.change({
    topic,
    sequences: found,
    // mutants: equivalent lock, the rows are locked already
    locked: 'wait',
    set: sql`state = ${states.ready}, listed = ${dialect.expr.true}, completed = null, ${setReadyClass()}`,
    returning: raw('identifier'),
  })
  for (const statement of dialect.topics.wake(topic)) yield statement
  return new Set(started.map(({ identifier }) => String(identifier)))
}

function checkGroups(groups: Iterable<readonly string[]>): string[][] {
  const checked = listOf('groups', groups).map((group, index) => {
    if (!Array.isArray(group)) throw invalid(`groups[${index}]`, group, 'must be an array of identifiers')
    if (group.length === 0) throw invalid(`groups[${index}]`, '[]', 'must not be empty')
    for (const identifier of group) checkText(`groups[${index}]`, identifier, taskLimits.identifierLength)
    const seen = new Set<string>()
    for (const identifier of group as string[]) {
      if (seen.has(identifier)) throw invalid(`groups[${index}]`, identifier, 'must not name an identifier twice')
      seen.add(identifier)
    }
    return [...seen]
  })
  checkInteger('the number of identifiers', checked.flat().length, 0, taskLimits.batchSize)
  return checked
}
