/** What a scenario measures, and how much of it. */
import type { Connection } from '../hot-path/database.ts'

export interface Scale {
  /** Tasks that are pushed one by one. */
  readonly singles: number
  /** Tasks that are pushed in batches, and drained. */
  readonly batched: number
}

/** One figure of one subject, in a database of its own. */
type Measure = (connection: Connection, scale: Scale) => Promise<number>

/** By subject: taskstream, its peers, and what the server can do at most. */
export type Measures = Readonly<Record<string, Measure>>

export interface Scenario {
  readonly name: string
  readonly unit: string
  readonly measures: Measures
}

/** How many a second. */
export async function rateOf(count: number, work: () => Promise<unknown>): Promise<number> {
  const started = performance.now()
  await work()
  return (count / (performance.now() - started)) * 1000
}
