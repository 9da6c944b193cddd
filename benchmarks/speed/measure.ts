/** Runs scenarios. Subjects take turns in every round, and each subject is set up once for all rounds. */
import type { RedisServer } from '../../test/redis.ts'
import { Rate } from './cost.ts'
import { figure } from './chart.ts'
import type { Connection } from './database.ts'
import { judgedRatios, rowsOf } from './rows.ts'
import type { Row } from './rows.ts'
import type { Bench, Figures, Scale, Scenario } from './scenario.ts'
import { spread } from './statistics.ts'
import { verdictOn } from './stopping.ts'

export interface Surroundings {
  /** Starts the PostgreSQL server when it is first asked for. */
  readonly server: () => Promise<Connection>
  readonly redis: (isLogged: boolean) => Promise<RedisServer>
  readonly scale: Scale
  /** Whether this subject takes part in the run. */
  readonly takesPart: (subject: string) => boolean
  /** Prints a line of progress. */
  readonly say: (line: string) => void
}

interface Turn {
  readonly subject: string
  readonly bench: Bench
  readonly figures: Figures[]
}

/** Measures scenarios that are compared with each other: they take turns too. @param shareMs how long they may take together */
export async function measure(scenarios: readonly Scenario[], shareMs: number, around: Surroundings): Promise<Row[]> {
  const started = performance.now()
  const { say } = around
  await using benches = new AsyncDisposableStack()
  const turns = new Map<Scenario, Turn[]>()
  for (const scenario of scenarios) {
    turns.set(scenario, [])
    const setting = await settingOf(scenario, around)
    for (const [subject, prepare] of Object.entries(scenario.subjects).filter(([name]) => around.takesPart(name))) {
      const preparing = performance.now()
      const bench = benches.use(await prepare(setting))
      const seconds = (performance.now() - preparing) / 1000
      if (seconds > 1) say(`${scenario.name}: ${subject} is prepared, ${seconds.toFixed(1)} s`)
      turns.get(scenario)!.push({ subject, bench, figures: [] })
    }
  }
  let longestRoundMs = 0
  for (let round = 1; ; round++) {
    const begun = performance.now()
    for (const [scenario, subjects] of turns) {
      const told: string[] = []
      for (const { subject, bench, figures } of subjects) {
        const measured = await bench.measure()
        figures.push(measured)
        told.push(`${subject} ${mainFigure(measured)}`)
      }
      say(`${scenario.name}, round ${round}: ${told.join(', ')} ${scenario.unit}`)
    }
    longestRoundMs = Math.max(longestRoundMs, performance.now() - begun)
    const verdicts = scenarios.map((scenario) => {
      const ratios = judgedRatios(scenario, roundsOf(turns.get(scenario)!))
      const course = { ratios, spentMs: performance.now() - started, longestRoundMs, shareMs, isOnce: scenario.once === true }
      return { scenario, verdict: verdictOn(course), spread: spread(ratios) }
    })
    if (verdicts.some(({ verdict }) => verdict === 'out of time') || verdicts.every(({ verdict }) => verdict !== 'go on')) {
      for (const each of verdicts)
        say(`${each.scenario.name} ends, ${each.verdict}${each.spread === null ? '' : `, spread ${percent(each.spread)}`}`)
      return scenarios.flatMap((scenario) => rowsOf(scenario, roundsOf(turns.get(scenario)!)))
    }
  }
}

function roundsOf(turns: readonly Turn[]): Map<string, readonly Figures[]> {
  return new Map(turns.map(({ subject, figures }) => [subject, figures]))
}

async function settingOf({ name, engine }: Scenario, { server, redis, scale }: Surroundings) {
  const connection = engine === 'PostgreSQL 18' ? await server() : undefined
  return {
    scale,
    redis,
    get server(): Connection {
      if (!connection) throw new Error(`${name} is measured on ${engine}`)
      return connection
    },
  }
}

function mainFigure(figures: Figures): string {
  if (typeof figures === 'number') return figure(figures)
  return figures instanceof Rate ? figure(figures.perSecond) : mainFigure(Object.values(figures)[0] ?? Number.NaN)
}

export function percent(share: number): string {
  return `${(share * 100).toFixed(share < 0.1 ? 1 : 0)} %`
}
