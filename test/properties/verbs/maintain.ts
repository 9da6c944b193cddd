/** Steps of the model test that promote due tasks, expire owners, repair and initialize. They expect what the model says. */
import { expect } from 'vitest'
import { become, filterStateOf } from '../rows.ts'
import type { Act } from './acts.ts'
import { free } from './revive.ts'

export const release: Act = async (world, turn) => {
  const { model, now } = world
  const { session, party } = turn
  const due = free(world, session, (row) => filterStateOf(row) === 'delayed' && row.due! <= now)
  const releasing = (): unknown => party.tasks.promoteDue(party.session.transaction, world.fixture.topic)
  const released = await world.run(turn, releasing)
  for (const row of due) model.write(session, become.released(row))
  const next = Math.min(...model.rows(session).map((row) => row.due?.getTime() ?? Infinity))
  expect(released).toEqual({
    promoted: due.length,
    ...(next < Infinity && { nextDueMs: Math.max(0, next - now.getTime()) }),
  })
}

/**
 * Expires all owners but the asking one, as they have been silent since the history began. Rows that others have locked are
 * passed over.
 */
export const expire: Act = async (world, turn) => {
  const { model, fixture, now } = world
  const { session, party, pick } = turn
  const asking = pick % 3 ? fixture.tasks : party.tasks
  const then = pick % 2 ? 'ready' : 'expired'
  const rows = free(world, session, ({ state, owner }) => state === 'active' && owner !== asking.owner)
  const expiring = (): unknown => asking.expire(party.session.transaction, { olderThanMs: 0, then })
  const expiry = await world.run(turn, expiring)
  const after = rows.map((row) => (then === 'expired' ? become.expired(row, now) : become.recovered(row, now)))
  for (const row of after) model.write(session, row)
  const count = (asked: string): number => after.filter(({ state }) => state === asked).length
  expect(expiry).toEqual({
    expired: count('expired'),
    ready: count('ready'),
    failed: count('failed'),
    topics: count('ready') > 0 ? [fixture.topic] : [],
  })
}

/** The report of a repair that finds nothing to correct. */
export const nothingWrong = { topics: 1, corrected: 0, listed: 0, noted: 0, held: 0, left: 0, sequence: 'ahead' } as const

/** Repairs while others work. There must be nothing to correct. */
export const repair: Act = async (world, turn) => {
  const { party } = turn
  const repairing = (): unknown => party.tasks.repair(party.session.transaction, world.fixture.topic)
  expect(await world.run(turn, repairing, { may: keepsTopicRow(world.fixture.subject.engine) })).toEqual(nothingWrong)
}

export const initialize: Act = async (world, turn) => {
  const { party } = turn
  const initializing = (): unknown => party.tasks.initialize(party.session.transaction, world.fixture.topic, world.options)
  expect(await world.run(turn, initializing, { may: keepsTopicRow(world.fixture.subject.engine) })).toBe(false)
}

/** Whether others may keep the topic's row locked: on PostgreSQL a repair writes it, and now and then a poll. */
function keepsTopicRow(engine: string): boolean {
  return engine === 'postgres'
}
