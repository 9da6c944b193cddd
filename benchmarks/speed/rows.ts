/** The printed rows of a scenario: medians of its rounds, and their ratios to the peers and to the limit. */
import { median } from './median.ts'
import type { Figures, Scenario } from './scenario.ts'

export interface Row {
  readonly scenario: string
  readonly engine: string
  readonly subject: string
  readonly rounds: number
  readonly median: number
  readonly unit: string
  /** Null where no peer takes part. BullMQ is not a peer, as it runs on another engine and promises less. */
  readonly ratioToBestPeer: number | null
  /** Null where the scenario has no limit. */
  readonly ratioToLimit: number | null
}

/** @param figures the figures of every round, by subject */
export function rowsOf({ name, engine, unit, better }: Scenario, figures: ReadonlyMap<string, readonly Figures[]>): Row[] {
  const named = [...figures].flatMap(([subject, all]) => {
    const records = all.map((each) => (typeof each === 'number' ? { [name]: each } : each))
    return Object.keys(records[0] ?? {}).map((scenario) => ({
      scenario,
      subject,
      rounds: records.length,
      median: median(records.map((record) => record[scenario] ?? Number.NaN)),
    }))
  })
  const best = better === 'higher' ? Math.max : Math.min
  return [...Map.groupBy(named, ({ scenario }) => scenario).values()].flatMap((rows) => {
    const peers = rows.filter(({ subject }) => !['taskstream', 'limit', 'bullmq'].includes(subject))
    const bestPeer = peers.length > 0 ? best(...peers.map((row) => row.median)) : undefined
    const limit = rows.find(({ subject }) => subject === 'limit')?.median
    return rows.map((row) => ({
      scenario: row.scenario,
      engine: row.subject === 'bullmq' ? 'Redis' : engine,
      subject: row.subject,
      rounds: row.rounds,
      median: row.median,
      unit,
      ratioToBestPeer: bestPeer === undefined ? null : row.median / bestPeer,
      ratioToLimit: limit === undefined ? null : row.median / limit,
    }))
  })
}
