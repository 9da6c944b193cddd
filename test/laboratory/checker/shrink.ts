/** Reduces a history to the part that shows a violation. */
import { check } from './check.ts'
import type { Event, History, Violation } from './history.ts'

/** @returns the least part of `history` that was found, in which the same rule still fails about the same subjects */
export function shrink(history: History, violation: Violation): History {
  const { tasks = [], keys = [], actors = [] } = violation.subjects
  const names = new Set(tasks.map(({ topic, sequence }) => `${topic} ${sequence}`))
  const known = new Set([
    ...keys,
    ...history.changes.flatMap((each) =>
      names.has(`${each.topic} ${each.sequence}`) && each.key !== undefined ? [each.key] : [],
    ),
  ])
  const isAbout = (task: { readonly topic: string; readonly sequence: number }, key: string | undefined): boolean =>
    names.has(`${task.topic} ${task.sequence}`) || (key !== undefined && known.has(key))
  const changes = history.changes.filter((change) => isAbout(change, change.key))
  const owners = new Set(changes.map(({ owner }) => owner))
  const concerned = new Set([
    ...actors,
    ...history.events.flatMap((event) => (event.verb === 'start' && owners.has(event.owner) ? [event.actor] : [])),
  ])
  const calls = new Set(
    history.events.flatMap((event) =>
      event.verb === 'push' && event.phase === 'begun' && event.keys.some((key) => known.has(key))
        ? [`${event.actor} ${event.call}`]
        : [],
    ),
  )
  const isEventAbout = (event: Event): boolean => {
    if (event.verb === 'push') return calls.has(`${event.actor} ${event.call}`)
    return event.verb === 'fault' || concerned.has(event.actor)
  }
  const part: History = {
    ...history,
    changes,
    events: history.events.filter(isEventAbout),
    effects: history.effects.filter((effect) => isAbout(effect, effect.key)),
    led: violation.rule === 'terms' ? history.led.filter(({ actor }) => concerned.has(actor)) : [],
    timers: violation.rule === 'occurrences' ? history.timers : [],
  }
  return fails(part, violation) ? withoutNeedless(part, violation) : history
}

function fails(history: History, { rule, says }: Violation): boolean {
  return check(history).some((found) => found.rule === rule && found.says === says)
}

/** Leaves out halves, quarters and so on of the events, and then of the changes, as long as the rule still fails. */
function withoutNeedless(history: History, violation: Violation): History {
  const events = reduce(history.events, (kept) => fails({ ...history, events: kept }, violation))
  const changes = reduce(history.changes, (kept) => fails({ ...history, events, changes: kept }, violation))
  return { ...history, events, changes }
}

function reduce<Item>(all: readonly Item[], stillFails: (kept: readonly Item[]) => boolean): readonly Item[] {
  let kept = all
  for (let size = Math.ceil(all.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let from = 0; from < kept.length;) {
      const without = [...kept.slice(0, from), ...kept.slice(from + size)]
      if (stillFails(without)) kept = without
      else from += size
    }
  }
  return kept
}
