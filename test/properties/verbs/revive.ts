/** Steps of the model test that recreate, redrive and reassign tasks, and expect of these verbs what the model says. */
import { stateOf } from '@taskstream/task-api'
import type { RecreatedTask, Task, TaskResult } from '@taskstream/task-api'
import { expect } from 'vitest'
import { codeOf } from '@taskstream/task-testing/suite'
import { become, filterStateOf, revivable } from '../rows.ts'
import type { ModelRow } from '../rows.ts'
import type { Turn, World } from '../world.ts'
import type { Act } from './acts.ts'
import { lockersOf } from './let-go.ts'
import { mayMeetExternalIds, removeOlder } from './push.ts'

const ways = ['append', 'supersede', 'replace'] as const
type Way = 'reset' | (typeof ways)[number]

export const reset: Act = (world, turn) => reviveSome(world, turn, 'reset')

export const recreate: Act = (world, turn) => reviveSome(world, turn, world.keyed ? ways[turn.size % 3]! : 'append')

async function reviveSome(world: World, turn: Turn, way: Way): Promise<void> {
  const { session, party, size, pick } = turn
  const state = revivable[pick % revivable.length]!
  const chosen = free(world, session, (row) => filterStateOf(row) === state).slice(0, size)
  const made = await world.run<RecreatedTask[]>(
    turn,
    () => party.tasks.recreate(party.session.transaction, world.fixture.topic, way, { state, size }) as Promise<RecreatedTask[]>,
    { may: mayMeetExternalIds(world) },
  )
  await putRevived(world, turn, way, chosen, made)
}

/** Recreates given tasks. The verb waits for sessions that work on them, and then refuses unless all of them have ended. */
export const reviveGiven: Act = async (world, turn) => {
  const { model, fixture } = world
  const { session, party, pick } = turn
  const way = pick % 2 ? 'reset' : world.keyed ? ways[pick % 3]! : 'append'
  const given = give(world, turn)
  const made = await world.run(
    turn,
    () => codeOf(() => party.tasks.recreate(party.session.transaction, fixture.topic, way, given.map(toTask))),
    { ...whileGiven(world, turn, given), may: mayMeetExternalIds(world) },
  )
  const chosen = given.map(({ sequence }) => model.row(session, sequence))
  if (areRefused(world, given, chosen)) expect(made).toBe('TASK_STATE')
  else await putRevived(world, turn, way, chosen as ModelRow[], made as RecreatedTask[])
}

async function putRevived(
  world: World,
  turn: Turn,
  way: Way,
  chosen: readonly ModelRow[],
  made: readonly RecreatedTask[],
): Promise<void> {
  const { session } = turn
  const { model, now } = world
  expect(made.map(({ from }) => from)).toEqual(chosen.map(toTask))
  if (way === 'reset') {
    expect(made.map(({ to }) => to)).toEqual(chosen.map(toTask))
    for (const row of chosen) model.write(session, become.reset(row))
    return
  }
  for (const row of chosen) model.write(session, become.recreated(row))
  const last = new Map(chosen.map((row) => [row.identifier, row]))
  const created = chosen.map((row, index) => {
    const state = way === 'append' || last.get(row.identifier) === row ? 'ready' : 'redundant'
    return become.copy(row, made[index]!.to.sequence, state, now)
  })
  expect(made.map(({ to }) => to)).toEqual(created.map(toTask))
  if (way !== 'append' && created.length > 0) await removeOlder(world, turn, way, created)
  for (const row of created) model.write(session, row)
}

export const redrive: Act = async (world, turn) => {
  const { session, party, size, pick } = turn
  const states = pick % 3 ? undefined : (['delayed', 'suspended'] as const)
  const asked: readonly string[] = states ?? ['failed']
  const chosen = free(world, session, (row) => asked.includes(filterStateOf(row))).slice(0, size)
  const [first, last] = [chosen.at(0)?.sequence, chosen.at(-1)?.sequence]
  const redriving = (): unknown =>
    party.tasks.redrive(party.session.transaction, world.fixture.topic, { limit: size, ...(states && { states }) })
  expect(await world.run(turn, redriving)).toEqual(first === undefined ? { count: 0 } : { count: chosen.length, first, last })
  for (const row of chosen) world.model.write(session, become.reset(row))
}

const results = ['success', 'filter', 'failure', 'suspension'] as const

/**
 * Reassigns all tasks in a state. The verb waits for sessions that work on tasks that it sees in this state, and skips those that
 * have left it.
 */
export const reassignAll: Act = async (world, turn) => {
  const { model, fixture } = world
  const { session, party, size, pick } = turn
  const from = revivable[pick % revivable.length]!
  const to = results[size - 1]!
  const isAsked = (row: ModelRow | undefined): row is ModelRow =>
    row !== undefined && filterStateOf(row) === from && from !== stateOf(to)
  const seen = model
    .rows(session)
    .filter(isAsked)
    .map(({ sequence }) => sequence)
  const count = await world.run(
    turn,
    () => party.tasks.reassignAll(party.session.transaction, fixture.topic, { from, to }) as Promise<number>,
    { must: () => lockersOf(world, session, seen) },
  )
  const rows = seen.map((sequence) => model.row(session, sequence)).filter(isAsked)
  expect(count).toBe(rows.length)
  for (const row of rows) model.write(session, become.reassigned(row, stateOf(to)))
}

export const reassignGiven: Act = async (world, turn) => {
  const { model, fixture } = world
  const { session, party, pick } = turn
  const given = give(world, turn)
  const resultOf = new Map<Task, TaskResult>(given.map((row, index) => [toTask(row), results[(pick + index) % results.length]!]))
  const done = await world.run(
    turn,
    () => codeOf(() => party.tasks.reassign(party.session.transaction, fixture.topic, resultOf)),
    whileGiven(world, turn, given),
  )
  const rows = given.map(({ sequence }) => model.row(session, sequence))
  if (areRefused(world, given, rows)) return expect(done).toBe('TASK_STATE')
  expect(done).toBeUndefined()
  for (const [index, result] of [...resultOf.values()].entries())
    model.write(session, become.reassigned(rows[index]!, stateOf(result)))
}

/** Chooses tasks to give to a verb, most of which have ended. */
function give({ model }: World, { session, size, pick }: Turn): ModelRow[] {
  const rows = model.rows(session)
  const some = rows.filter(hasEnded).slice(pick % 3, (pick % 3) + size)
  return pick === 11 ? rows.slice(0, size) : some
}

/**
 * Returns the sessions that a verb waits for: those that work on tasks that it still sees as ended. MariaDB must lock a row to
 * see whether it has.
 */
function whileGiven(world: World, { session }: Turn, given: readonly ModelRow[]): { readonly must: () => readonly number[] } {
  const asked = given.filter((row) => !looksFirst(world) || hasEnded(row)).map(({ sequence }) => sequence)
  return { must: () => lockersOf(world, session, asked) }
}

/**
 * Whether a verb refuses the given tasks: some have not ended. PostgreSQL passes over a task that had not ended when the verb
 * began, even if it ends while the verb waits for another.
 */
function areRefused(world: World, given: readonly ModelRow[], rows: readonly (ModelRow | undefined)[]): boolean {
  return (looksFirst(world) && !given.every(hasEnded)) || rows.some((row) => row === undefined || !hasEnded(row))
}

/** Whether the engine chooses rows by what it sees when the verb begins. */
function looksFirst({ fixture }: World): boolean {
  return fixture.subject.engine === 'postgres'
}

function hasEnded({ state }: ModelRow): boolean {
  return state !== 'active' && state !== 'ready' && state !== 'recreated' && state !== 'redundant'
}

function toTask({ topic, sequence, identifier }: ModelRow): Task {
  return { topic, sequence, identifier }
}

/** Returns the rows that a session sees and no other session has locked. */
export function free({ model }: World, session: number, which: (row: ModelRow) => boolean): ModelRow[] {
  return model.rows(session).filter((row) => which(row) && !model.isLocked(session, row.sequence))
}
