/** Rules about processes: what a dead one held is taken over, a stopped one tells the truth, and nothing is left of any. */
import { states } from './history.ts'
import type { Event, Fault, Violation } from './history.ts'
import type { Held, Index } from './index.ts'
import { violation } from './violation.ts'

/** How long the tasks of each dead owner stayed held, in milliseconds. */
export interface TakeOver {
  readonly actor: string
  readonly ms: number
}

/** From the end of a process until the last of its tasks was let go. */
export function takeOvers(index: Index): (TakeOver & { readonly allowedMs: number; readonly last: Held })[] {
  const { events, setting } = index.history
  const owners = new Map(events.flatMap((event) => (event.verb === 'start' && event.owner ? [[event.actor, event.owner]] : [])))
  const byOwner = Map.groupBy(index.held, ({ owner }) => owner)
  return events.flatMap((event) => {
    if (event.verb !== 'end') return []
    const held = (byOwner.get(owners.get(event.actor)) ?? []).filter(({ end }) => (end?.at ?? Infinity) > event.at)
    const last = held.toSorted((one, other) => (one.end?.at ?? Infinity) - (other.end?.at ?? Infinity)).at(-1)
    if (!last) return []
    const ms = (last.end?.at ?? Infinity) - event.at
    const allowedMs = setting.leaseMs + setting.patienceMs + faultMsBetween(events, event.at, last.end?.at ?? Infinity)
    return [{ actor: event.actor, ms, allowedMs, last }]
  })
}

export function takenOver(index: Index): Violation[] {
  return takeOvers(index)
    .filter(({ ms, allowedMs }) => ms > allowedMs)
    .map(({ actor, ms, last }) => {
      const says = Number.isFinite(ms) ? `stayed held for ${Math.round(ms)} ms` : 'stayed held'
      return violation('taken over', `${last.topic} ${last.sequence} of ${actor}, which has ended, ${says}`, last, { actor })
    })
}

/** Half of the time that a node has for the database when it stops. */
const askedMs = 2_500

/**
 * What a stop calls finished or returned is not held when the stop says so, and what is held it calls abandoned: but for what an unanswered poll took, if
 * the node has asked the database about it in vain.
 */
export function truthful(index: Index): Violation[] {
  const { events } = index.history
  const owners = new Map(events.flatMap((event) => (event.verb === 'start' && event.owner ? [[event.actor, event.owner]] : [])))
  const byOwner = Map.groupBy(index.held, ({ owner }) => owner)
  return events.flatMap((event): Violation[] => {
    if (event.verb !== 'stop' || event.phase !== 'done') return []
    const begun = events.find(({ verb, actor }) => verb === 'stop' && actor === event.actor)
    if (index.mayBeUndone('commits', begun?.at ?? event.at, event.at)) return []
    const held = (byOwner.get(owners.get(event.actor)) ?? []).filter(
      ({ claim, end }) => claim.at < event.at && (end?.at ?? Infinity) > event.at,
    )
    const abandoned = new Set(event.abandoned.map(({ topic, sequence }) => `${topic} ${sequence}`))
    const said = [...event.finished, ...event.returned, ...event.abandoned].map(({ topic, sequence }) => `${topic} ${sequence}`)
    const repeated = said.find((name, position) => said.indexOf(name) !== position)
    return [
      ...held
        .filter(
          (each) => !abandoned.has(`${each.topic} ${each.sequence}`) && !isUnknown(events, each, event, begun?.at ?? event.at),
        )
        .map((each) =>
          violation(
            'truthful',
            `${event.actor} stopped without a word of ${each.topic} ${each.sequence}, which it held`,
            each,
            event,
          ),
        ),
      ...event.finished
        .filter(
          ({ topic, sequence, attempt }) =>
            !index
              .changesOf({ topic, sequence })
              .some((change) => change.attempt === attempt && change.state !== states.active && change.at <= event.at),
        )
        .map((task) =>
          violation('truthful', `${event.actor} called ${task.topic} ${task.sequence} finished, which it was not`, task, event),
        ),
      ...(repeated === undefined ? [] : [violation('truthful', `${event.actor} named ${repeated} twice when it stopped`, event)]),
    ]
  })
}

/** Whether a poll of the task's topic was not answered, and the stop has asked about it until its time was up, or got no answer again. */
function isUnknown(events: readonly Event[], { topic }: Held, stop: Event, begunAt: number): boolean {
  // A node tells the first of several failures in a row.
  const unsure = events.filter(
    (event) => event.verb === 'unsure' && event.actor === stop.actor && event.topic === topic && event.at <= stop.at,
  )
  return unsure.length > 0 && (stop.at - begunAt >= askedMs || unsure.some(({ at }) => at >= begunAt))
}

/** No process ends that nobody has stopped or killed. */
export function endings(index: Index): Violation[] {
  return index.history.events.flatMap((event) =>
    event.verb === 'end' && !event.asked ? [violation('endings', `${event.actor} ended by itself: ${event.how}`, event)] : [],
  )
}

/** A term belongs to one leader, and no commit of an earlier term comes after one of a later term. */
export function terms(index: Index): Violation[] {
  return [...Map.groupBy(index.history.led, ({ group }) => group)].flatMap(([group, led]) => {
    const leaders = new Map<number, string>()
    let greatest = 0
    return led.flatMap(({ term, actor }): Violation[] => {
      const leader = leaders.get(term) ?? actor
      leaders.set(term, leader)
      const isLate = term < greatest
      greatest = Math.max(greatest, term)
      if (leader !== actor)
        return [violation('terms', `${actor} and ${leader} both led ${group} in term ${term}`, { actor }, { actor: leader })]
      return isLate
        ? [violation('terms', `${actor} committed in term ${term} of ${group}, after term ${greatest}`, { actor })]
        : []
    })
  })
}

/** Each occurrence of a timer has one task, and nothing else has. */
export function occurrences(index: Index): Violation[] {
  const { changes, timers } = index.history
  const found = Map.groupBy(
    changes.filter(({ isNew, externalId }) => isNew && externalId?.startsWith('timer:')),
    // In front of the timer's name stands its scope.
    ({ topic, externalId }) => `${topic} ${externalId!.slice(externalId!.indexOf('/') + 1)}`,
  )
  const expected = new Set<string>()
  const wrong: Violation[] = []
  for (const { id, topic, everySeconds, createdMs, nextMs } of timers) {
    for (let at = (Math.floor(createdMs / 1_000) + 1) * 1_000; at < nextMs; at += 1_000) {
      if (((at / 1_000) % 60) % everySeconds !== 0) continue
      const name = `${topic} ${id}@${new Date(at).toISOString()}`
      expected.add(name)
      const count = found.get(name)?.length ?? 0
      if (count !== 1) wrong.push(violation('occurrences', `${name} was submitted ${count} times`))
    }
  }
  const extra = [...found].filter(([name]) => !expected.has(name))
  return [
    ...wrong,
    ...extra.map(([name, [row]]) => violation('occurrences', `${name} was submitted, and is no occurrence`, row!)),
  ]
}

/** Nothing is left when everything has stopped. */
export function left(index: Index): Violation[] {
  return Object.entries(index.history.left)
    .filter(([, count]) => count !== 0)
    .map(([what, count]) => violation('left', `${count} ${what} were left at the end`))
}

/** How long faults that everybody met lasted between two instants. Those that overlap count once. */
function faultMsBetween(events: readonly Event[], from: number, to: number): number {
  const faults = events.filter((event): event is Fault => event.verb === 'fault' && event.isWide === true)
  const ends = new Map(faults.filter(({ phase }) => phase === 'done').map((fault) => [fault.call, fault.at]))
  const spans = faults
    .filter(({ phase }) => phase === 'begun')
    .map(({ at, call }) => ({ from: Math.max(at, from), to: Math.min(ends.get(call) ?? to, to) }))
    .filter((span) => span.from < span.to)
    .toSorted((one, other) => one.from - other.from)
  let until = from
  let ms = 0
  for (const span of spans) {
    ms += Math.max(0, span.to - Math.max(span.from, until))
    until = Math.max(until, span.to)
  }
  return ms
}
