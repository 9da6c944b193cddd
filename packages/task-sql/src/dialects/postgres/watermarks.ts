/** The knowledge of this process about a topic's low watermark. Each value was true when it was learned, and stays true in its history. */
export interface TopicWatermarks {
  /** Names the database, the initialisation of the topic and the start of the server. Knowledge of one history is void in another. */
  readonly history: string
  /** The low watermark: no fresh row at or below this sequence is ready, or ever will be. */
  readonly low: number
  /** The pair that is waited for now: once every transaction older than `horizon` has ended, all rows up to `high` are visible. */
  readonly pending?: PendingAdvance | undefined
  /** The latest pair, which is waited for next. */
  readonly next?: PendingAdvance | undefined
}

/** A pair of xid horizon and high watermark, for which the low watermark waits. */
export interface PendingAdvance {
  readonly horizon: string
  readonly high: number
  /** When the waiting began, by this process's clock. */
  readonly since: number
  /** The transactions that may have pushed up to the high watermark; absent until `advanceByLocks` has read the locks. */
  readonly holders?: readonly string[]
}

/** The report of one poll. */
export interface WatermarkReport {
  readonly history: string
  readonly low: number
  readonly high: number
  readonly horizon: string | undefined
  /** The new low watermark, if the pending pair has advanced. */
  readonly advanced: number | undefined
}

// mutants: equivalent string, no history has this name
const unknown: TopicWatermarks = { history: '', low: 0 }

export function recall(watermarks: ReadonlyMap<string, TopicWatermarks>, topic: string): TopicWatermarks {
  return watermarks.get(topic) ?? unknown
}

/** The last sequence that is known to have been drawn. */
export function lastDrawn({ low: floor, pending, next }: TopicWatermarks): number {
  return Math.max(floor, pending?.high ?? floor, next?.high ?? floor)
}

/** Learns from the report of a poll. Other polls may have reported since that poll was sent. */
export function learn(
  watermarks: Map<string, TopicWatermarks>,
  topic: string,
  asked: TopicWatermarks,
  report: WatermarkReport,
): TopicWatermarks {
  const current = recall(watermarks, topic)
  const known = current.history === report.history ? current : unknown
  const advanced = report.advanced !== undefined && known.pending?.horizon === asked.pending!.horizon
  const latest =
    report.horizon === undefined ? known.next : { horizon: report.horizon, high: report.high, since: performance.now() }
  const low = Math.max(known.low, report.low, report.advanced ?? 0)
  // Two pairs are enough: the one that is waited for, and the latest, which replaces it.
  const pending = advanced || known.pending === undefined ? latest : known.pending
  const learned = { history: report.history, low, pending, next: pending === latest ? undefined : latest }
  watermarks.set(topic, learned)
  return learned
}

/** Replaces the pair that is waited for, unless it has advanced meanwhile. */
export function replacePending(
  watermarks: Map<string, TopicWatermarks>,
  topic: string,
  before: PendingAdvance,
  after: PendingAdvance,
): void {
  const known = recall(watermarks, topic)
  if (known.pending === before) watermarks.set(topic, { ...known, pending: after })
}
