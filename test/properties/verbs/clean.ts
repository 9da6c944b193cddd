/** Steps of the model test that run `junction` and `purge`, and expect of them what the model says. */
import type { FilterState } from '@taskstream/task-api'
import { expect } from 'vitest'
import { codeOf } from '@taskstream/task-testing/suite'
import { become, ended, filterStateOf, revivable } from '../rows.ts'
import type { ModelRow } from '../rows.ts'
import type { Act } from './acts.ts'
import { lockersOf } from './let-go.ts'
import { mayMeetExternalIds } from './push.ts'
import { free } from './revive.ts'

/**
 * Runs a junction. It waits for other junctions with one of its identifiers, and then for sessions that work on tasks that it
 * will start.
 */
export const junction: Act = async (world, turn) => {
  const { model, fixture } = world
  const { session, party, pick } = turn
  const kind = pick % 2 ? 'eternal' : 'singular'
  const groups = [[`i${pick % 4}`, `i${(pick + 1) % 4}`], ...(pick % 3 ? [] : [[`i${(pick + 2) % 4}`]])]
  const joining = (): unknown => party.tasks.junction(party.session.transaction, fixture.topic, kind, groups)
  if (!world.keyed) return expect(await codeOf(joining)).toBe('TOPIC_NOT_KEYED')
  const waits = (row: ModelRow | undefined): row is ModelRow => row !== undefined && filterStateOf(row) === 'suspended'
  /** Returns the tasks that the junction will start, judged by the rows that are there once no other junction is under way. */
  const toStart = (): number[] => {
    const rows = model.rows(session)
    const here = new Set(
      rows.filter((row) => (kind === 'singular' ? waits(row) : row.state !== 'redundant')).map(({ identifier }) => identifier),
    )
    const complete = new Set(groups.filter((group) => group.every((identifier) => here.has(identifier))).flat())
    return rows.filter((row) => complete.has(row.identifier) && waits(row)).map(({ sequence }) => sequence)
  }
  let found: readonly number[] | undefined
  const must = (): readonly number[] => {
    const joiners = model.joiners(session, groups.flat())
    if (joiners.length > 0) return joiners
    return lockersOf(world, session, (found ??= toStart()))
  }
  const started = await world.run(turn, joining, { must })
  model.join(session, groups.flat())
  const rows = (found ?? toStart()).map((sequence) => model.row(session, sequence)).filter(waits)
  expect(started).toEqual(new Set(rows.map(({ identifier }) => identifier)))
  for (const row of rows) model.write(session, become.joined(row))
}

export const purge: Act = async (world, turn) => {
  const { model, fixture, now } = world
  const { session, party, size, pick } = turn
  // Without states, a purge deletes tasks that have ended.
  const states: readonly FilterState[] | undefined = [['ready' as const], revivable, undefined, ['delayed' as const]][pick % 4]
  const olderThanMs = pick % 3 ? undefined : 20
  const isOld = ({ completed, created }: ModelRow): boolean =>
    olderThanMs === undefined || (completed ?? created).getTime() <= now.getTime() - olderThanMs
  const rows = free(world, session, (row) => (states ?? ended).includes(filterStateOf(row)) && isOld(row)).slice(0, size)
  const options = { ...(states && { states }), ...(olderThanMs !== undefined && { olderThanMs }), limit: size }
  const purging = (): unknown => party.tasks.purge(party.session.transaction, fixture.topic, options)
  expect(await world.run(turn, purging, { may: mayMeetExternalIds(world) })).toBe(rows.length)
  for (const { sequence } of rows) model.remove(session, sequence)
}
