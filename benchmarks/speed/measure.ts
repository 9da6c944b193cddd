/** Runs a scenario: its subjects take turns in every round, and what they need for more than one is made once. */
import type { Connection } from '../hot-path/database.ts'
import type { Row } from './rows.ts'
import { rowsOf } from './rows.ts'
import type { Bench, Figures, Scale, Scenario } from './scenario.ts'

export async function measure(scenario: Scenario, server: () => Promise<Connection>, scale: Scale): Promise<Row[]> {
  const { name, engine, subjects, rounds = 3 } = scenario
  await using benches = new AsyncDisposableStack()
  const connection = engine === 'SQLite' ? undefined : await server()
  const setting = {
    scale,
    get server(): Connection {
      if (!connection) throw new Error(`${name} is measured on ${engine}`)
      return connection
    },
  }
  const prepared = new Map<string, Bench>()
  for (const [subject, prepare] of Object.entries(subjects))
    prepared.set(subject, benches.use(await timed(`${name}, prepared: ${subject}`, () => prepare(setting))))
  const figures = new Map<string, Figures[]>(Object.keys(subjects).map((subject) => [subject, []]))
  for (let round = 1; round <= rounds; round++) {
    for (const [subject, bench] of prepared)
      figures.get(subject)!.push(await timed(`${name}, round ${round} of ${rounds}: ${subject}`, () => bench.measure()))
  }
  return rowsOf(scenario, figures)
}

/** A line of progress, unless it took no time worth a line. */
async function timed<Result>(what: string, work: () => Promise<Result>): Promise<Result> {
  const started = performance.now()
  const result = await work()
  const seconds = (performance.now() - started) / 1000
  if (seconds > 0.05) process.stderr.write(`${what}, ${seconds.toFixed(1)} s\n`)
  return result
}
