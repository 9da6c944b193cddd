/** The printed rows of a scenario: medians of its rounds, how far apart these are, and their ratios to the peers and to the limit. */
import { Rate } from './cost.ts'
import type { Cost } from './cost.ts'
import type { Figures, Scenario } from './scenario.ts'
import { median, spread } from './statistics.ts'
import { isPeer, isRedis } from './subjects.ts'

export interface Row extends Cost {
  readonly scenario: string
  readonly engine: string
  readonly subject: string
  readonly rounds: number
  readonly median: number
  /** The interquartile range of the rounds, relative to the median. Null for a single round. */
  readonly spread: number | null
  readonly unit: string
  /** Of the medians. Null where no peer takes part. */
  readonly ratioToBestPeer: number | null
  /** The interquartile range of the rounds' ratios to the same peer, relative to their median. */
  readonly ratioSpread: number | null
  /** Null where the scenario has no limit. */
  readonly ratioToLimit: number | null
}

/** The figures of every round, by subject. */
export type Rounds = ReadonlyMap<string, readonly Figures[]>

interface Series {
  readonly scenario: string
  readonly subject: string
  readonly values: readonly number[]
  readonly costs: readonly Cost[]
}

export function rowsOf(scenario: Scenario, rounds: Rounds): Row[] {
  return [...Map.groupBy(seriesOf(scenario.name, rounds), (each) => each.scenario).values()].flatMap((series) => {
    const peer = bestPeer(scenario, series)
    const limit = series.find(({ subject }) => subject === 'limit')
    return series.map((each) => ({
      scenario: each.scenario,
      engine: isRedis(each.subject) ? 'Redis' : scenario.engine,
      subject: each.subject,
      rounds: each.values.length,
      median: median(each.values),
      spread: spread(each.values),
      unit: scenario.unit,
      ratioToBestPeer: peer ? median(each.values) / median(peer.values) : null,
      ratioSpread: peer && peer !== each ? spread(ratios(each, peer)) : null,
      ratioToLimit: limit ? median(each.values) / median(limit.values) : null,
      processUs: medianCost(each, 'processUs'),
      serverUs: medianCost(each, 'serverUs'),
      logBytes: medianCost(each, 'logBytes'),
    }))
  })
}

/**
 * One ratio for each round, by which it is judged whether there were enough of them: taskstream relative to its best peer, without
 * peers to the limit, and without either its own figure.
 */
export function judgedRatios(scenario: Scenario, rounds: Rounds): number[] {
  const all = seriesOf(scenario.name, rounds)
  const main = all.find((each) => each.scenario === scenario.name)?.scenario ?? all[0]?.scenario
  const series = all.filter((each) => each.scenario === main)
  const own = series.find(({ subject }) => subject === 'taskstream')
  const other = bestPeer(scenario, series) ?? series.find(({ subject }) => subject === 'limit')
  if (!own) return []
  return other ? ratios(own, other) : [...own.values]
}

function seriesOf(name: string, rounds: Rounds): Series[] {
  return [...rounds].flatMap(([subject, all]) => {
    const records = all.map((each) => (typeof each === 'number' || each instanceof Rate ? { [name]: each } : each))
    return Object.keys(records[0] ?? {}).map((scenario) => {
      const figures = records.map((record) => record[scenario] ?? Number.NaN)
      return {
        scenario,
        subject,
        values: figures.map((figure) => (figure instanceof Rate ? figure.perSecond : figure)),
        costs: figures.flatMap((figure) => (figure instanceof Rate ? [figure.cost] : [])),
      }
    })
  })
}

function bestPeer({ better }: Scenario, series: readonly Series[]): Series | undefined {
  const sign = better === 'higher' ? 1 : -1
  return series
    .filter(({ subject }) => isPeer(subject))
    .toSorted((left, right) => sign * (median(right.values) - median(left.values)))[0]
}

function ratios(own: Series, other: Series): number[] {
  const rounds = Math.min(own.values.length, other.values.length)
  return own.values.slice(0, rounds).map((value, round) => value / other.values[round]!)
}

function medianCost({ costs }: Series, part: keyof Cost): number | null {
  const known = costs.map((cost) => cost[part]).filter((value) => value !== null)
  return known.length > 0 ? median(known) : null
}
