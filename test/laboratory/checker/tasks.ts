/** Rules about what becomes of tasks: none is lost, invented or done twice, and what is done is what was written. */
import { states } from './history.ts'
import type { Violation } from './history.ts'
import { topicsOf } from './index.ts'
import type { Index } from './index.ts'
import { violation } from './violation.ts'

/** A push that was answered has left a row for each key. In a strict topic each was done. */
export function lost(index: Index): Violation[] {
  const strict = topicsOf(index.history, (topic) => topic.strict)
  const rows = new Map(index.history.changes.filter(({ isNew }) => isNew).map((change) => [change.key, change]))
  return index.asked.flatMap(({ push, outcome }) => {
    if (outcome !== 'done') return []
    return push.keys.flatMap((key): Violation[] => {
      const row = rows.get(key)
      if (!row) return [violation('lost', `${key} was pushed to ${push.topic}, which was answered, and has no row`, { key })]
      if (!strict.has(push.topic)) return []
      const last = index.changesOf(row).at(-1)
      if (last?.state === states.succeeded) return []
      const state = last?.state === undefined ? 'deleted' : `in state ${last.state}`
      return [violation('lost', `${key} of ${push.topic} was not done: it is ${state}`, { ...row, key })]
    })
  })
}

/** Every row comes of a push that was asked for and has not failed, of a timer, of a handler, or of an operator. */
export function invented(index: Index): Violation[] {
  const { history } = index
  const failed = new Set<string>()
  const known = new Set<string>()
  for (const { push, outcome } of index.asked)
    for (const key of push.keys) (outcome === 'failed' ? failed : known).add(`${push.topic} ${key}`)
  const strict = topicsOf(history, (topic) => topic.strict)
  const timed = topicsOf(history, (topic) => topic.timed === true)
  const following = topicsOf(history, (topic) => history.setting.topics.some(({ next }) => next === topic.name))
  return history.changes.flatMap((change): Violation[] => {
    if (!change.isNew || timed.has(change.topic) || following.has(change.topic)) return []
    const name = `${change.topic} ${change.key}`
    if (known.has(name) || (!strict.has(change.topic) && change.key === undefined)) return []
    const why = failed.has(name) ? 'whose push was rolled back' : 'that nobody has pushed'
    return [violation('invented', `${change.topic} has a task ${change.key ?? change.sequence} ${why}`, change)]
  })
}

/** In a strict topic a key has one row, and one effect. */
export function twice(index: Index): Violation[] {
  const { history } = index
  const strict = topicsOf(history, (topic) => topic.strict)
  const rows = Map.groupBy(
    history.changes.filter(({ isNew, topic, key }) => isNew && key !== undefined && strict.has(topic)),
    ({ topic, key }) => `${topic} ${key}`,
  )
  const effects = Map.groupBy(
    history.effects.filter(({ topic }) => strict.has(topic)),
    ({ topic, sequence }) => `${topic} ${sequence}`,
  )
  return [
    ...[...rows.values()]
      .filter((each) => each.length > 1)
      .map(([first, second]) =>
        violation('twice', `${first!.key} is in ${first!.topic} twice, also as ${second!.sequence}`, first!),
      ),
    ...[...effects.values()]
      .filter((each) => each.length > 1)
      .map(([first, ...more]) =>
        violation(
          'twice',
          `${first!.topic} ${first!.sequence} took effect in the attempts ${[first!, ...more].map(({ attempt }) => attempt).join(' and ')}`,
          first!,
        ),
      ),
  ]
}

/** An effect is committed with the completion of its attempt, and no completion is without one. */
export function effects(index: Index): Violation[] {
  const { history } = index
  const handled = topicsOf(history, () => true)
  // A number that was drawn anew may be that of a task which was deleted.
  const completions = Map.groupBy(
    history.changes.filter(({ state }) => state === states.succeeded),
    (change) => `${change.topic} ${change.sequence} ${change.attempt}`,
  )
  const written = new Map(history.effects.map((effect) => [`${effect.topic} ${effect.sequence} ${effect.attempt}`, effect]))
  return [
    ...history.effects.flatMap((effect): Violation[] => {
      const all = completions.get(`${effect.topic} ${effect.sequence} ${effect.attempt}`)
      const says = `the effect of ${effect.topic} ${effect.sequence} in attempt ${effect.attempt}`
      if (!all) return [violation('effects', `${says} was committed, and its completion was not`, effect)]
      if (all.some(({ transaction }) => transaction === effect.transaction)) return []
      return [violation('effects', `${says} is not of the transaction that completed it`, effect)]
    }),
    ...[...completions]
      .filter(([name, [{ topic } = { topic: '' }]]) => handled.has(topic) && !written.has(name))
      .flatMap(([, all]) => all)
      .map((change) =>
        violation(
          'effects',
          `${change.topic} ${change.sequence} was completed in attempt ${change.attempt} without its effect`,
          change,
        ),
      ),
  ]
}

/** In a strict topic a task goes from ready over active to succeeded. Retries are suspended or ready again, and nothing leaves succeeded. */
export function ways(index: Index): Violation[] {
  const strict = topicsOf(index.history, (topic) => topic.strict)
  const allowed = new Set<number | undefined>([states.active, states.ready, states.suspended, states.succeeded])
  return [...index.rows.values()].flatMap((changes): Violation[] => {
    if (!strict.has(changes[0]!.topic)) return []
    const done = changes.findIndex(({ state }) => state === states.succeeded)
    const wrong = changes.find(({ state }, position) => !allowed.has(state) || (done !== -1 && position > done))
    if (!wrong) return []
    const became = wrong.state === undefined ? 'was deleted' : `came into state ${wrong.state}`
    return [violation('ways', `${wrong.topic} ${wrong.sequence} ${became}${done === -1 ? '' : ' after it was done'}`, wrong)]
  })
}

/** What a task of a pipeline pushes is there once if the task was done, and otherwise not. */
export function pipelines(index: Index): Violation[] {
  const { history } = index
  return history.setting.topics.flatMap(({ name, next }): Violation[] => {
    if (next === undefined) return []
    const done = history.effects.filter(({ topic }) => topic === name)
    const pushed = Map.groupBy(
      history.changes.filter(({ topic, isNew }) => topic === next && isNew),
      ({ key }) => key,
    )
    const wrong = done.filter(({ key }) => pushed.get(`${key} of ${name}`)?.length !== 1)
    const missing = wrong.map((effect) =>
      violation(
        'pipelines',
        `${effect.key} of ${name} was done, and ${pushed.get(`${effect.key} of ${name}`)?.length ?? 0} tasks of it are in ${next}`,
        effect,
      ),
    )
    const expected = new Set(done.map(({ key }) => `${key} of ${name}`))
    const extra = [...pushed].filter(([key]) => key === undefined || !expected.has(key))
    return [...missing, ...extra.map(([key, [row]]) => violation('pipelines', `${key} is in ${next} without its cause`, row!))]
  })
}
