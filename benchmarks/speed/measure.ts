/** Runs scenarios. Subjects take turns in every round, and each subject is set up once for all rounds. */
import type { Connection } from './database.ts'
import { rowsOf } from './rows.ts'
import type { Row } from './rows.ts'
import type { Bench, Figures, Scale, Scenario } from './scenario.ts'

/** Scenarios that are compared with each other take turns too. */
export async function measure(scenarios: readonly Scenario[], server: () => Promise<Connection>, scale: Scale): Promise<Row[]> {
  await using benches = new AsyncDisposableStack()
  const prepared = new Map<Scenario, { readonly bench: Bench; readonly subject: string; readonly figures: Figures[] }[]>()
  for (const scenario of scenarios) {
    const { name, engine, subjects } = scenario
    const connection = engine === 'SQLite' ? undefined : await server()
    const setting = {
      scale,
      get server(): Connection {
        if (!connection) throw new Error(`${name} is measured on ${engine}`)
        return connection
      },
    }
    prepared.set(scenario, [])
    for (const [subject, prepare] of Object.entries(subjects)) {
      const bench = benches.use(await timed(`${name}, prepared: ${subject}`, () => prepare(setting)))
      prepared.get(scenario)!.push({ bench, subject, figures: [] })
    }
  }
  for (let round = 1; round <= Math.max(...scenarios.map(roundsOf)); round++) {
    for (const scenario of scenarios.filter((each) => round <= roundsOf(each))) {
      const what = `${scenario.name}, round ${round} of ${roundsOf(scenario)}`
      for (const { bench, subject, figures } of prepared.get(scenario)!)
        figures.push(await timed(`${what}: ${subject}`, () => bench.measure()))
    }
  }
  return [...prepared].flatMap(([scenario, measured]) =>
    rowsOf(scenario, new Map(measured.map(({ subject, figures }) => [subject, figures]))),
  )
}

function roundsOf({ rounds = 3 }: Scenario): number {
  return rounds
}

/** Prints a line of progress, unless the work was too short for one. */
async function timed<Result>(what: string, work: () => Promise<Result>): Promise<Result> {
  const started = performance.now()
  const result = await work()
  const seconds = (performance.now() - started) / 1000
  if (seconds > 0.05) process.stderr.write(`${what}, ${seconds.toFixed(1)} s\n`)
  return result
}
