/** Steps of the model test that cancel and reschedule selected tasks, and expect of these verbs what the model says. */
import type { Cancellation, FilterState, Rescheduling, Task, TaskSelector } from '@taskstream/task-api'
import { expect } from 'vitest'
import { codeOf } from '@taskstream/task-testing/suite'
import { become, filterStateOf } from '../rows.ts'
import type { ModelRow } from '../rows.ts'
import type { Turn, World } from '../world.ts'
import type { Act } from './acts.ts'
import { lockersOf } from './let-go.ts'

export const cancel: Act = async (world, turn) => {
  const unended: readonly FilterState[] = ['active', 'ready', 'delayed', 'suspended', 'expired']
  await onSelected(world, turn, unended, (selector, rows) => ({
    run: ({ tasks, session }) => tasks.cancel(session.transaction, world.fixture.topic, selector),
    expect: (answer) => {
      const chosen = rows()
      const taken = chosen.filter(({ state }) => state === 'active')
      expect(answer).toEqual({ cancelled: chosen.map(toTask), taken: taken.map(toTask) } satisfies Cancellation)
      for (const row of chosen) world.model.write(turn.session, become.cancelled(row, world.now))
    },
  }))
}

export const reschedule: Act = async (world, turn) => {
  const { now } = world
  const ways: readonly Rescheduling[] = [
    { delayMs: 20, priority: 3 },
    { delayMs: 0 },
    { deadlineMs: 10, priority: -2 },
    { due: new Date(now.getTime() + 10), deadline: null },
  ]
  const to = ways[turn.size - 1]!
  await onSelected(world, turn, ['ready', 'delayed'], (selector, rows) => ({
    run: ({ tasks, session }) => tasks.reschedule(session.transaction, world.fixture.topic, selector, to),
    expect: (answer) => {
      const chosen = rows()
      expect(answer).toEqual(chosen.map(toTask))
      for (const row of chosen) world.model.write(turn.session, become.rescheduled(row, to, now))
    },
  }))
}

interface Selected {
  run(party: Turn['party']): unknown
  expect(answer: unknown): void
}

/** Selects tasks by sequences, external id or identifier, and runs a verb on those in certain states. */
async function onSelected(
  world: World,
  turn: Turn,
  states: readonly FilterState[],
  verb: (selector: TaskSelector, rows: () => ModelRow[]) => Selected,
): Promise<void> {
  const { model, keyed, fixture } = world
  const { session, party, pick, size } = turn
  const meets = (row: ModelRow | undefined): row is ModelRow => row !== undefined && states.includes(filterStateOf(row))
  const rows = model.rows(session)
  const [selector, selected] = select(rows, pick, size)
  const byIdentifier = pick % 3 === 2
  if (byIdentifier && !keyed) return expect(await codeOf(() => verb(selector, () => []).run(party))).toBe('TOPIC_NOT_KEYED')
  // MariaDB must lock a given row to see its state. PostgreSQL, and a search for an identifier, choose rows by what they see first.
  const looksFirst = byIdentifier || fixture.subject.engine === 'postgres'
  const asked = selected.filter((row) => !looksFirst || meets(row)).map(({ sequence }) => sequence)
  const { run, expect: check } = verb(selector, () => asked.map((sequence) => model.row(session, sequence)).filter(meets))
  check(await world.run(turn, () => run(party), { must: () => lockersOf(world, session, asked) }))
}

function select(rows: readonly ModelRow[], pick: number, size: number): [TaskSelector, readonly ModelRow[]] {
  if (pick % 3 === 0) {
    const some = rows.slice(-(pick + size)).slice(0, size)
    return [some.map(({ sequence }) => sequence).toReversed(), some]
  }
  if (pick % 3 === 1) {
    const id = `x${pick % 5}`
    return [{ externalId: id }, rows.filter(({ externalId }) => externalId === id)]
  }
  const wanted = `i${pick % 4}`
  return [{ identifier: wanted }, rows.filter(({ identifier }) => identifier === wanted)]
}

function toTask({ topic, sequence, identifier }: ModelRow): Task {
  return { topic, sequence, identifier }
}
