/** Looks at the connection, the clocks and the version of the tables: what comes before everything else. */
import { databaseTime } from '@taskstream/task-sql'
import type { Row, SchemaStatus } from '@taskstream/task-sql'
import type { Reading } from './reading.ts'

/** How often the database is asked for its time. The fastest answer counts. */
const rounds = 3

/** What the time of a database says. */
export interface Answer {
  readonly roundTripMs: number
  /** By how much the clock of the database is ahead. It is known to half a round trip. */
  readonly aheadMs: number
}

export async function answerOf(read: Reading, clock: () => Date): Promise<Answer> {
  const answers: Answer[] = []
  for (let round = 0; round < rounds; round++) {
    answers.push(
      await read(function* ({ dialect, now }) {
        const [asked, begin] = [clock().getTime(), performance.now()]
        const time = yield* databaseTime(dialect, now())
        const roundTripMs = performance.now() - begin
        return { roundTripMs, aheadMs: time - asked - roundTripMs / 2 }
      }),
    )
  }
  return answers.reduce((best, answer) => (answer.roundTripMs < best.roundTripMs ? answer : best))
}

export function clockRow({ roundTripMs, aheadMs }: Answer): Row {
  return {
    value: Math.max(0, Math.abs(aheadMs) - roundTripMs / 2),
    side: aheadMs > 0 ? 'behind the clock of the database' : 'ahead of the clock of the database',
  }
}

/** Nothing if this release works on the tables. */
export function schemaRows({ found, known, works }: SchemaStatus): readonly Row[] {
  if (works) return []
  if (found === 0) return [{ value: 1, state: 'the tables are missing', found, known, remedy: 'taskstream migrate up' }]
  return found < known
    ? [{ value: 1, state: 'the tables are older', found, known, remedy: 'taskstream migrate up' }]
    : [{ value: 1, state: 'the tables are newer', found, known, remedy: 'upgrade taskstream' }]
}
