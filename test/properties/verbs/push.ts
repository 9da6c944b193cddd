/** Steps of the model test that push with each insertion, and expect the tasks and the outcomes that the model says. */
import type { Insertion, PushedTask, TaskCreation } from '@taskstream/task-api'
import { expect } from 'vitest'
import { codeOf } from '@taskstream/task-testing/suite'
import { become, filterStateOf, olderStates } from '../rows.ts'
import type { ModelRow } from '../rows.ts'
import type { Turn, World } from '../world.ts'
import type { Act } from './acts.ts'

export const push: Act = (world, turn) => insert(world, turn, creationsOf(world, turn), 'append')

/** Pushes with external ids, some of which may exist already. */
export const pushAgain: Act = (world, turn) => {
  const creations = creationsOf(world, turn).map((creation, index) => ({
    ...creation,
    ...(index % 3 < 2 && { externalId: `x${(turn.pick + index) % 5}` }),
  }))
  return insert(world, turn, creations, 'append')
}

/** Pushes with an insertion that makes older tasks of the identifiers redundant, or deletes them. */
export const pushInstead: Act = async (world, turn) => {
  const insertion = (['supersede', 'replace', 'delete'] as const)[turn.pick % 3]!
  if (world.keyed) return insert(world, turn, repeat(turn, creationsOf(world, turn)), insertion)
  const { party } = turn
  const pushing = (): unknown => party.tasks.push(party.session.transaction, world.fixture.topic, 'a', { insertion })
  expect(await codeOf(pushing)).toBe('TOPIC_NOT_KEYED')
}

/** Sometimes gives creations external ids, of which one may stand twice in the push, or exist already. */
function repeat({ pick, size }: Turn, creations: readonly TaskCreation[]): TaskCreation[] {
  return creations.map((creation, index) => ({
    ...creation,
    ...(pick > 5 && (size + index) % 3 > 0 && { externalId: `x${(pick + (index % 2)) % 5}` }),
  }))
}

function creationsOf(world: World, { size, pick }: Turn): TaskCreation[] {
  const first = world.pushed
  world.pushed += size
  const now = world.now.getTime()
  return Array.from({ length: size }, (_, index) => {
    const number = first + index
    return {
      identifier: world.keyed ? `i${(pick + index * (pick % 3)) % 4}` : `t${number}`,
      ...(world.topic.order === 'priority' && { priority: ((first + index * pick) % 3) - 1 }),
      ...(number % 2 && { input: `input ${number}` }),
      // An insert always has a column for each property above, but for the following ones only if a creation has them.
      ...(pick % 4 && {
        ...(number % 3 === 0 && { reference: `r${number % 4}`, headers: { number, tags: ['a', 'b'] } }),
        ...(number % 3 === 1 && { maxTries: 1 + (number % 2) }),
        ...(number % 5 === 1 && { deadline: new Date(now + 10 + (pick % 3) * 10) }),
        ...(number % 5 === 2 && { deadlineMs: 20 }),
      }),
      ...(index === 2 && (pick % 2 ? { due: new Date(now + 15) } : { delayMs: 15 })),
      ...(index === 3 && { suspended: true }),
    }
  })
}

async function insert(world: World, turn: Turn, creations: readonly TaskCreation[], insertion: Insertion): Promise<void> {
  const { model, fixture } = world
  const { session, party } = turn
  const counts = whichCount(creations, insertion)
  const kept = insertion === 'delete' ? creations.filter(counts) : creations
  const asked = new Set(kept.flatMap(({ externalId }) => externalId ?? []))
  if (asked.size > 0) model.nameTasks(session)
  const pushed = await world.run<PushedTask[]>(
    turn,
    () => party.tasks.push(party.session.transaction, fixture.topic, creations, { insertion }) as Promise<PushedTask[]>,
    // Whether a task with such an external id will exist depends on the sessions that work on it.
    {
      must: () => model.others(session).filter((other) => touches(world, other, asked)),
      may: asked.size > 0 || mayMeetExternalIds(world),
    },
  )
  const there = new Map(model.rows(session).flatMap((row) => (row.externalId === undefined ? [] : [[row.externalId, row]])))
  const created: ModelRow[] = []
  for (const [index, creation] of kept.entries()) {
    const { sequence } = pushed[index]!
    const first = creation.externalId === undefined ? undefined : there.get(creation.externalId)
    if (first) {
      expect(pushed[index]).toEqual({
        topic: fixture.topic,
        sequence: first.sequence,
        identifier: first.identifier,
        outcome: 'duplicate',
      })
      // The insert reads the latest version of the existing row by a shared lock, which several sessions can have.
      if (isMariadb(world)) model.lock(session, first.sequence)
      continue
    }
    const row = toRow(world, creation, sequence, counts(creation))
    expect(sequence).toBeGreaterThan(created.at(-1)?.sequence ?? Math.max(0, ...model.rows(session).map((one) => one.sequence)))
    if (row.externalId !== undefined) there.set(row.externalId, row)
    created.push(row)
  }
  const superseded = insertion === 'append' ? undefined : await removeOlder(world, turn, insertion, created)
  for (const row of created) {
    const { topic, sequence, identifier, state } = row
    const outcome =
      state === 'redundant'
        ? { outcome: 'redundant' }
        : { outcome: 'created', ...(superseded && { superseded: superseded.get(identifier) ?? 0 }) }
    expect(pushed.find((one) => one.sequence === sequence)).toEqual({ topic, sequence, identifier, ...outcome })
    model.write(session, row)
  }
  expect(pushed).toHaveLength(kept.length)
}

/** Of several creations of an identifier only the last counts. One that repeats an external id stands for the first of it. */
function whichCount(creations: readonly TaskCreation[], insertion: Insertion): (creation: TaskCreation) => boolean {
  if (insertion === 'append') return () => true
  const firstOf = (creation: TaskCreation): TaskCreation =>
    creations.find(({ externalId }) => externalId !== undefined && externalId === creation.externalId) ?? creation
  const firsts = creations.filter((creation) => firstOf(creation) === creation)
  return (creation) => firsts.findLast(({ identifier }) => identifier === firstOf(creation).identifier) === firstOf(creation)
}

/** Whether a session works on a task with one of these external ids. */
function touches({ model }: World, session: number, externalIds: ReadonlySet<string>): boolean {
  return model
    .written(session)
    .some(({ before, after }) => [before, after].some((row) => row?.externalId !== undefined && externalIds.has(row.externalId)))
}

/**
 * Whether a session may wait for another's external id. MariaDB locks the index around an external id, so inserts and deletes
 * beside it wait.
 */
export function mayMeetExternalIds(world: World): boolean {
  const { model } = world
  if (!isMariadb(world)) return false
  // A deleted index entry stays until its transaction has ended.
  if (model.someNameTasks) return true
  return [undefined, ...model.open].some((session) => model.rows(session).some(({ externalId }) => externalId !== undefined))
}

function isMariadb({ fixture }: World): boolean {
  return fixture.subject.engine === 'mariadb'
}

function toRow({ fixture, now }: World, creation: TaskCreation, sequence: number, counts: boolean): ModelRow {
  const { suspended = false, due, delayMs, deadline, deadlineMs, ...rest } = creation
  const after = (ms: number | undefined): Date | undefined => (ms === undefined ? undefined : new Date(now.getTime() + ms))
  const waitsUntil = suspended ? undefined : (due ?? after(delayMs))
  const waits = suspended || waitsUntil !== undefined
  const endsAt = deadline ?? after(deadlineMs)
  return {
    topic: fixture.topic,
    sequence,
    state: counts ? (waits ? 'suspended' : 'ready') : 'redundant',
    descent: waits ? 'suspended' : 'ready',
    attempt: 0,
    tries: 0,
    priority: 0,
    created: now,
    ...rest,
    ...(counts && waitsUntil && { due: waitsUntil }),
    ...(endsAt && { deadline: endsAt }),
  }
}

/**
 * Does to the model's older rows what an insertion does, and passes over rows that others have locked. Identifiers of which the
 * new rows are all redundant keep their older rows: the creation that counts was a duplicate.
 *
 * @returns their number by identifier
 */
export async function removeOlder(
  world: World,
  { session, party }: Pick<Turn, 'session' | 'party'>,
  insertion: Exclude<Insertion, 'append'>,
  created: readonly Pick<ModelRow, 'sequence' | 'identifier' | 'state'>[],
): Promise<ReadonlyMap<string, number>> {
  const { model, letGo } = world
  // Only the database knows whether the verb reached these rows before or after its wait.
  const page = letGo.size > 0 ? await world.page(party.session) : []
  const isUntouched = (row: ModelRow): boolean =>
    letGo.has(row.sequence) && page.some(({ sequence, state }) => sequence === row.sequence && state === row.state)
  const identifiers = new Set(created.filter(({ state }) => state !== 'redundant').map(({ identifier }) => identifier))
  const before = Math.min(...created.map(({ sequence }) => sequence))
  const counts = new Map<string, number>()
  for (const row of model.rows(session)) {
    const { sequence, identifier } = row
    if (sequence >= before || !identifiers.has(identifier) || !olderStates[insertion].includes(filterStateOf(row))) continue
    if (model.isLocked(session, sequence) || isUntouched(row)) continue
    if (insertion === 'delete') model.remove(session, sequence)
    else model.write(session, become.redundant(row))
    counts.set(identifier, (counts.get(identifier) ?? 0) + 1)
  }
  return counts
}
