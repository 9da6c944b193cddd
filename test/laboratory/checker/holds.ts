/** Rules about who holds a task: one owner at a time, one task of an identifier, no more than a limit, and in order. */
import { states } from './history.ts'
import type { Change, Violation } from './history.ts'
import { topicsOf } from './index.ts'
import type { Held, Index } from './index.ts'
import { violation } from './violation.ts'

/** Each claim of a task has a greater attempt than the one before, and follows a change that let the task go. */
export function heldTwice(index: Index): Violation[] {
  return [...index.rows.values()].flatMap((changes) =>
    changes.flatMap((claim, position): Violation[] => {
      const before = changes[position - 1]
      if (claim.state !== states.active || !before) return []
      const name = `${claim.topic} ${claim.sequence}`
      if (before.state === states.active)
        return [violation('held twice', `${name} was taken by ${claim.owner} while ${before.owner} held it`, claim)]
      if (claim.attempt > before.attempt) return []
      return [
        violation('held twice', `${name} was taken again as attempt ${claim.attempt}, after attempt ${before.attempt}`, claim),
      ]
    }),
  )
}

/** In a keyed topic no two tasks of an identifier are held at a time. */
export function heldBeside(index: Index): Violation[] {
  const keyed = topicsOf(index.history, (topic) => topic.keyed)
  const held = index.held.filter(({ topic }) => keyed.has(topic))
  return [...Map.groupBy(held, ({ topic, identifier }) => `${topic} ${identifier}`).values()].flatMap((all) => {
    let last: Held | undefined
    return all
      .toSorted((one, other) => one.from - other.from)
      .flatMap((each): Violation[] => {
        const before = last
        if (!last || each.to > last.to) last = each
        if (!before || before.to < each.from || before.sequence === each.sequence) return []
        const says = `${each.topic}: ${before.sequence} and ${each.sequence} of ${each.identifier} were held together`
        return [violation('held beside', says, before, each)]
      })
  })
}

/** No more tasks are held than the limit of the topic allows. */
export function limits(index: Index): Violation[] {
  return index.history.setting.topics.flatMap(({ name, total }): Violation[] => {
    if (total === undefined) return []
    const held = index.held.filter(({ topic }) => topic === name)
    // An end comes before a claim of the same instant: both may be of one transaction.
    const moments = held
      .flatMap((each) => [
        { position: each.from, step: 1, each },
        { position: each.to, step: -1, each },
      ])
      .toSorted((one, other) => one.position - other.position || one.step - other.step)
    let count = 0
    for (const { step, each } of moments) {
      count += step
      if (count <= total) continue
      const others = held.filter(({ from, to }) => from <= each.from && to > each.from)
      return [violation('limits', `${name}: ${count} tasks were held at a time, of at most ${total}`, ...others)]
    }
    return []
  })
}

/** In a keyed topic nothing is done before an earlier task of its identifier that was there when it was taken. */
export function order(index: Index): Violation[] {
  const { history } = index
  const keyed = topicsOf(history, (topic) => topic.keyed && topic.strict && topic.order !== 'lifo')
  const answered = answersOf(index)
  const done = history.changes.filter(({ state, topic }) => state === states.succeeded && keyed.has(topic))
  return [...Map.groupBy(done, ({ topic, identifier }) => `${topic} ${identifier}`).values()].flatMap((all) =>
    all.flatMap((late, position): Violation[] => {
      const from = answered.get(`${late.topic} ${late.key ?? ''}`)
      const early = all
        .slice(0, position)
        .find((each) => each.sequence > late.sequence && claimOf(index, each).began > (from ?? Infinity))
      if (!early) return []
      const says = `${late.topic}: ${early.sequence} of ${late.identifier} was done before ${late.sequence}, which was there`
      return [violation('order', says, late, early)]
    }),
  )
}

/** No task is taken before those that it needs are done. */
export function needs(index: Index): Violation[] {
  const { changes } = index.history
  const done = new Map(changes.filter(({ state }) => state === states.succeeded).map((change) => [change.key, change]))
  const needed = new Map(index.asked.flatMap(({ push }) => push.keys.map((key) => [key, push.needs ?? []])))
  return index.held.flatMap(({ claim }): Violation[] => {
    const early = needed.get(claim.key ?? '')?.find((key) => index.positionOf(done.get(key) ?? claim) >= index.positionOf(claim))
    if (early === undefined) return []
    return [violation('needs', `${claim.key} of ${claim.topic} was taken before ${early}, which it needs`, claim, { key: early })]
  })
}

/** The pushes of a line get ascending sequences, and so do the tasks of a push, unless numbers are drawn anew. */
export function lines(index: Index): Violation[] {
  const done = index.asked.filter(({ outcome, push, at }) => outcome === 'done' && !index.mayBeUndone('numbers', push.at, at))
  const byLine = Map.groupBy(done, ({ push }) => `${push.topic} ${push.line}`)
  return [...byLine.values()].flatMap((pushes) => {
    let greatest = 0
    return pushes.flatMap(({ push, sequences }): Violation[] => {
      const wrong = sequences.find((sequence) => sequence <= greatest || !(greatest = sequence))
      if (wrong === undefined) return []
      const says = `${push.topic}: ${wrong} of line ${push.line} came after ${greatest}`
      return [violation('lines', says, { topic: push.topic, sequence: wrong }, { topic: push.topic, sequence: greatest })]
    })
  })
}

/**
 * A ready task is not passed over for long by those that come after it. It may be passed over for a while: somebody who was taking it may have been
 * stopped or killed.
 */
export function passedOver(index: Index): Violation[] {
  const { history } = index
  const { patienceMs } = history.setting
  const ranked = history.setting.topics.filter(
    ({ strict, keyed, order, total }) => strict && !keyed && order !== 'lifo' && !total,
  )
  return ranked.flatMap(({ name, order }): Violation[] => {
    const isByPriority = order === 'priority'
    const answered = answersOf(index)
    const first = new Map<number, Change>()
    for (const { claim, topic, sequence } of index.held) if (topic === name && !first.has(sequence)) first.set(sequence, claim)
    const claims = [...first.values()].toSorted((one, other) => one.began - other.began)
    return claims.flatMap((late): Violation[] => {
      const from = answered.get(`${late.topic} ${late.key ?? ''}`)
      if (from === undefined || late.began - from <= patienceMs) return []
      const early = claims.find(
        (claim) =>
          claim.began > from &&
          claim.began < late.began - patienceMs &&
          (isByPriority && claim.priority !== late.priority ? claim.priority < late.priority : claim.sequence > late.sequence),
      )
      if (!early) return []
      const waitedMs = Math.round(late.began - early.began)
      return [violation('passed over', `${name}: ${late.sequence} was taken ${waitedMs} ms after ${early.sequence}`, late, early)]
    })
  })
}

/** When the push of each task was answered. From then on every poll sees it. Tasks that need others are there later, when those are done. */
function answersOf(index: Index): Map<string, number> {
  return new Map(
    index.asked
      .filter(({ outcome, push }) => outcome === 'done' && push.needs === undefined)
      .flatMap(({ push, at }) => push.keys.map((key): [string, number] => [`${push.topic} ${key}`, at])),
  )
}

/** The change by which the attempt that ended in `done` was taken: in a transactional topic, itself. */
function claimOf(index: Index, done: Change): Change {
  return index.changesOf(done).find(({ state, attempt }) => state === states.active && attempt === done.attempt) ?? done
}
