/** Steps of the model test that poll, and expect the tasks that the model would take. */
import { TaskDecision } from '@taskstream/task-api'
import type { HeldTask, PollHold } from '@taskstream/task-api'
import { expect } from 'vitest'
import { isOnlyLocked } from '../../model.ts'
import { engine, isPostgres } from '../../subject.ts'
import { claim, mayTake } from '../claims.ts'
import type { Claimed } from '../claims.ts'
import { become, change, isLate } from '../rows.ts'
import type { ModelRow } from '../rows.ts'
import type { Turn, World } from '../world.ts'
import type { Act } from './acts.ts'

export const poll: Act = async (world, turn) => void (await pollSome(world, turn))

/** Polls for the transaction only. Tasks that are not completed when the transaction ends are not held any more. */
export const lock: Act = async (world, turn) => void (await pollSome(world, turn, 'transaction'))

/** Polls twice and completes all tasks in one transaction. The second poll must not return the tasks of the first. */
export const take: Act = async (world, turn) => {
  const { model, fixture, now } = world
  const { session, party, pick } = turn
  const first = await pollSome(world, turn, 'transaction')
  const second = await pollSome(world, turn, pick % 2 ? 'transaction' : 'lease')
  const batch = [...first, ...second]
  const decision = pick % 3 ? TaskDecision.success() : TaskDecision.retry({ afterMs: 10 }, 'not yet')
  const completing = (): unknown =>
    party.tasks.complete(party.session.transaction, fixture.topic, new Map(batch.map((task) => [task, decision])))
  expect(await world.run(turn, completing)).toMatchObject({ lost: [], completed: { length: batch.length } })
  for (const task of batch) {
    const row = model.row(session, task.sequence)!
    const taken = isOnlyLocked(task) ? become.taken(row, party.tasks.owner, now) : row
    model.write(session, become.decided(taken, decision, now))
  }
}

async function pollSome(world: World, turn: Turn, asked: PollHold = 'lease'): Promise<readonly HeldTask[]> {
  // A topic that keeps outcomes is polled with leases only.
  const hold = engine.outcomes ? 'lease' : asked
  const { model, fixture, topic, now } = world
  const { session, party, size } = turn
  const { tasks, polled } = party
  const isFree = (row: ModelRow): boolean => !model.isLocked(session, row.sequence) && !model.hasTaken(session, row)
  const before = model.rows(session)
  const polling = (): unknown => tasks.poll(party.session.transaction, fixture.topic, { size, hold })
  const batch = (await world.run(turn, polling)) as HeldTask[]
  // Under a condition, other sessions may keep tasks from a poll without taking them. Where identifiers share, a poll reads on where others are polling.
  const place = world.placeOf(tasks)
  if (topic.order === 'shared') place.isKnown &&= model.others(session).length === 0
  const isSure = topic.order === 'shared' ? place.isKnown : model.others(session).length === 0 || topic.condition === 'none'
  const { taken, late } = isSure
    ? claim(topic, before, size, now, isFree, place)
    : await claimedBesideOthers(world, turn, before, batch)
  if (topic.order === 'shared') expectShared(before.filter(isFree), taken, late, size)
  expect(batch.map(({ sequence }) => sequence)).toEqual(taken.map(({ sequence }) => sequence))
  for (const row of late) model.write(session, become.late(become.taken(row, tasks.owner, now), now))
  for (const [index, row] of taken.entries()) {
    const task = batch[index]!
    const active = become.taken(row, tasks.owner, now)
    expect(task).toEqual(heldOf(active, task))
    if (isOnlyLocked(task)) {
      expect([isPostgres, hold, topic]).toEqual([true, 'transaction', { order: 'fifo', condition: 'none' }])
      model.take(session, row)
    } else model.write(session, active)
  }
  polled.push(...batch)
  return batch
}

/** Expects that a poll took all that it could, and the first of each identifier and kind. */
function expectShared(free: readonly ModelRow[], taken: readonly ModelRow[], late: readonly ModelRow[], size: number): void {
  const ready = free.filter(({ state }) => state === 'ready')
  const isTaken = (row: ModelRow): boolean => [...taken, ...late].some(({ sequence }) => sequence === row.sequence)
  expect(taken).toHaveLength(Math.min(size, ready.length - late.length))
  for (const rows of Map.groupBy(ready, ({ identifier, priority }) => `${priority < 0} ${identifier}`).values()) {
    const left = rows.findIndex((row) => !isTaken(row))
    if (left >= 0) expect(rows.slice(left).filter(isTaken)).toEqual([])
  }
}

/** Returns the held task that a poll should make of a row. */
function heldOf(row: ModelRow, { lease }: HeldTask): unknown {
  const { state: _state, descent: _descent, owner: _owner, created: _created, started: _started, ...held } = row
  return { ...change(held as ModelRow, { history: undefined, output: undefined, completed: undefined }), lease }
}

/**
 * Expects that a poll beside others took only tasks that it may take, by its own view and by the others' uncommitted writes. It
 * may miss tasks.
 */
async function claimedBesideOthers(
  world: World,
  { session, party }: Turn,
  before: readonly ModelRow[],
  batch: readonly HeldTask[],
): Promise<Claimed> {
  const { model, topic, now } = world
  const rowOf = new Map(before.map((row) => [row.sequence, row]))
  const filtered = (await world.page(party.session)).filter(
    ({ state, sequence }) => state === 'filtered' && rowOf.get(sequence)?.state === 'ready',
  )
  // The order is that in which tasks of one identifier block each other.
  const ascending = filtered.map(({ sequence }) => rowOf.get(sequence)!)
  const late = topic.order === 'lifo' ? ascending.toReversed() : ascending
  const taken = batch.map(({ sequence }) => rowOf.get(sequence)!)
  let seen = before
  for (const row of [...late, ...taken]) {
    expect(row.state).toBe('ready')
    expect(isLate(row, now)).toBe(late.includes(row))
    expect(model.lockers(session, row.sequence)).toEqual([])
    expect(mayTake(topic, seen, row)).toBe(true)
    for (const other of topic.condition === 'none' ? [] : model.others(session)) {
      const theirs = model.written(other).filter(({ after }) => after?.state === 'active' && after.identifier === row.identifier)
      expect(theirs).toEqual([])
    }
    const state = late.includes(row) ? 'filtered' : 'active'
    seen = seen.map((one) => (one === row ? { ...row, state } : one))
  }
  return { taken, late }
}
