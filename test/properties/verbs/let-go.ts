/** Steps of the model test that complete, hand back, hold and reclaim tasks, and expect of these verbs what the model says. */
import { isTaskError, TaskDecision } from '@taskstream/task-api'
import type { Completion, HeldTask, Holding } from '@taskstream/task-api'
import { expect } from 'vitest'
import { isOnlyLocked } from '../../model.ts'
import { become } from '../rows.ts'
import type { Turn, World } from '../world.ts'
import type { Act } from './acts.ts'

const [plain, returning, retry] = [
  TaskDecision.success(),
  TaskDecision.success().withValue('1'),
  TaskDecision.retry({ afterMs: 10 }),
]

const decisions: readonly TaskDecision[] = [
  plain,
  retry,
  TaskDecision.success('done'),
  TaskDecision.failure('no'),
  TaskDecision.success('returned').withValue('2'),
  TaskDecision.suspension(),
  TaskDecision.filter('nobody wants it').because('cancelled'),
  TaskDecision.retry({ afterMs: 20 }, 'too slow').because('timeout'),
  TaskDecision.failure().because('terminated'),
  TaskDecision.snooze({ afterMs: 10 }, 'busy'),
]

/** Completes tasks of former polls too. Exactly those tasks are refused that are no longer held. */
export const decide: Act = async (world, turn) => {
  const { model, now } = world
  const { session, party, kind, pick } = turn
  const drawn = kind === 'complete' ? [plain, returning] : kind === 'retry' ? [retry] : decisions
  const decisionOf = (index: number): TaskDecision => drawn[(pick + index) % drawn.length]!
  const chosen = new Map(choose(turn).map((task, index) => [task, decisionOf(index)]))
  const { completed, lost } = await whileHeld<Completion>(world, turn, [...chosen.keys()], () =>
    party.tasks.complete(party.session.transaction, world.fixture.topic, chosen),
  )
  const held = split(world, turn, [...chosen.keys()], completed, lost)
  for (const task of held) {
    const row = model.row(session, task.sequence)!
    const active = isOnlyLocked(task) ? become.taken(row, party.tasks.owner, now) : row
    model.write(session, become.decided(active, chosen.get(task)!, now))
  }
}

export const handBack: Act = async (world, turn) => {
  const { model } = world
  const { session, party } = turn
  const chosen = choose(turn)
  const { completed, lost } = await whileHeld<Completion>(world, turn, chosen, () =>
    party.tasks.handBack(party.session.transaction, world.fixture.topic, chosen),
  )
  for (const task of split(world, turn, chosen, completed, lost))
    // Nothing was written about a task that is only locked, as the end of the transaction hands it back.
    if (!isOnlyLocked(task)) model.write(session, become.handedBack(model.row(session, task.sequence)!))
}

export const hold: Act = async (world, turn) => {
  const { session, party } = turn
  const chosen = choose(turn)
  const { held, lost } = await whileHeld<Holding>(world, turn, chosen, () =>
    party.tasks.hold(party.session.transaction, world.fixture.topic, chosen),
  )
  for (const { sequence } of split(world, turn, chosen, held, lost)) world.model.lock(session, sequence)
}

/** Reclaims the tasks that the owner holds but does not list as known. */
export const reclaim: Act = async (world, turn) => {
  const { model, fixture } = world
  const { session, party, size } = turn
  const { tasks } = party
  const isOwn = (sequence: number): boolean => {
    const row = model.row(session, sequence)
    return row?.state === 'active' && row.owner === tasks.owner
  }
  const known = party.polled.slice(-size)
  const lost = model
    .rows(session)
    .map(({ sequence }) => sequence)
    .filter((sequence) => isOwn(sequence) && !known.some((task) => task.sequence === sequence))
  const found = lost.filter((sequence) => !model.isLocked(session, sequence))
  const outcome = await world.run<number | string>(turn, async () => {
    try {
      return await tasks.reclaim(party.session.transaction, fixture.topic, known)
    } catch (error) {
      if (!isTaskError(error)) throw error
      return error.code
    }
  })
  expect(outcome).toBe(lost.length > 0 && found.length === 0 ? 'DATABASE_BUSY' : found.length)
  for (const sequence of found) model.write(session, become.handedBack(model.row(session, sequence)!))
}

/** Chooses the latest or the oldest lease that the owner knows of each task, as an owner's own knowledge can be stale. */
function choose({ party: { polled }, size }: Turn): HeldTask[] {
  const known = new Map((size % 2 ? polled : polled.toReversed()).map((task) => [task.sequence, task]))
  return [...known.values()].slice(-size)
}

/**
 * Runs a verb that waits for sessions that work on tasks that it still sees as held. MariaDB locks a row to see whether it is held, and so may wait for
 * others too: of rows in a range it looks at what was last committed, and passes over those that are not (InnoDB's semi-consistent reads).
 */
function whileHeld<Result>(world: World, turn: Turn, chosen: readonly HeldTask[], verb: () => unknown): Promise<Result> {
  const { model, fixture } = world
  const { session, party } = turn
  const looksFirst = fixture.subject.engine === 'postgres'
  const asked = chosen.filter((task) => !isOnlyLocked(task))
  const held = asked.filter((task) => model.holds(session, party.tasks.owner, task)).map(({ sequence }) => sequence)
  return world.run(turn, verb as () => Promise<Result>, {
    must: () => lockersOf(world, session, held),
    may: !looksFirst && asked.length > held.length,
  })
}

/** The other sessions that have locked some of these rows. */
export function lockersOf({ model }: World, session: number, sequences: readonly number[]): number[] {
  return [...new Set(sequences.flatMap((sequence) => model.lockers(session, sequence)))]
}

/** Expects that a verb found exactly those of the chosen tasks that are still held. @returns these tasks */
function split(
  { model }: World,
  { session, party }: Turn,
  chosen: readonly HeldTask[],
  found: readonly HeldTask[],
  lost: readonly HeldTask[],
): HeldTask[] {
  const held = chosen.filter((task) => model.holds(session, party.tasks.owner, task))
  expect(new Set(found)).toEqual(new Set(held))
  expect(new Set(lost)).toEqual(new Set(chosen.filter((task) => !held.includes(task))))
  return held
}
