/** A topic that keeps outcomes, and what its tests look at. */
import type { HeldTask } from '@taskstream/task-api'
import { sql } from '@taskstream/task-sql'
import type { Row } from '@taskstream/task-sql'
import { useFixture } from '@taskstream/task-testing/suite'
import type { Fixture, Session, Tasks } from '@taskstream/task-testing/suite'
import { beforeAll } from 'vitest'
import { engine } from '../subject.ts'

export interface Outcomes {
  readonly clock: { now: number }
  readonly fixture: Fixture
  readonly one: Session
  readonly two: Session
  /** The repository of another owner. */
  readonly rival: Tasks
  ranges(): Promise<readonly Row[]>
  statesOfRanges(): Promise<number[]>
  pollBy(session: Session, size: number, by?: Tasks): Promise<HeldTask[]>
  execute(statement: Parameters<Fixture['subject']['execute']>[1]): Promise<readonly Row[]>
  expire(): Promise<unknown>
}

export function useOutcomes(): Outcomes {
  const clock = { now: Date.UTC(2026, 0, 1) }
  const fixture = useFixture(engine, { clock: () => new Date(clock.now), topic: { record: 'outcomes' } })
  const opened: Partial<Record<'one' | 'two', Session>> & { rival?: Tasks } = {}
  beforeAll(async () => {
    opened.one = await fixture.subject.session()
    opened.two = await fixture.subject.session()
    opened.rival = await fixture.owner()
  })
  const execute: Outcomes['execute'] = (statement) =>
    fixture.commit((transaction) => fixture.subject.execute(transaction, statement))
  const ranges = (): Promise<readonly Row[]> =>
    execute(
      sql`select lo::int, hi::int, state::int, owner from taskstream.task_range where topic = ${fixture.topic} and lo > 0 order by lo`,
    )
  return {
    clock,
    fixture,
    get one() {
      return opened.one!
    },
    get two() {
      return opened.two!
    },
    get rival() {
      return opened.rival!
    },
    ranges,
    execute,
    statesOfRanges: async () => (await ranges()).map(({ state }) => Number(state)),
    pollBy: (session, size, by = opened.rival!) => by.poll(session.transaction, fixture.topic, { size }) as Promise<HeldTask[]>,
    expire: () =>
      fixture.commit(async (transaction) => {
        await fixture.tasks.heartbeat(transaction)
        return fixture.tasks.expire(transaction, { olderThanMs: 1_000, then: 'ready' })
      }),
  }
}
