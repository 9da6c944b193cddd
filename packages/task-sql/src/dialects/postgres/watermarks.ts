/** What this process knows of a topic's low watermark. Every value in it was true when it was learned, and stays true. */
export interface TopicWatermarks {
  /** Tells apart the databases, initialisations of the topic and starts of the server: what was learned in one is void in another. */
  readonly history: string
  /** No fresh row at or below it is ready, or ever will be. */
  readonly low: number
  /** When every transaction older than `horizon` has ended, everything up to `high` is visible. */
  readonly pending: PendingAdvance | undefined
  /** The latest such pair, waited for next. */
  readonly next: PendingAdvance | undefined
}

/** Waits until the low watermark may advance. */
export interface PendingAdvance {
  readonly horizon: string
  readonly high: number
  /** When the waiting began, by this process's clock. */
  readonly since: number
  /** Transactions that may have pushed up to the high watermark, where that has been looked into. */
  readonly holders?: readonly string[]
}

/** What one poll reports. */
export interface WatermarkReport {
  readonly history: string
  readonly low: number
  readonly high: number
  readonly horizon: string | undefined
  /** The new low watermark, if the pending pair has advanced. */
  readonly advanced: number | undefined
}

const unknown: TopicWatermarks = { history: '', low: 0, pending: undefined, next: undefined }

export function recall(watermarks: ReadonlyMap<string, TopicWatermarks>, topic: string): TopicWatermarks {
  return watermarks.get(topic) ?? unknown
}

/** The last sequence that is known to have been drawn. */
export function lastDrawn({ low: floor, pending, next }: TopicWatermarks): number {
  return Math.max(floor, pending?.high ?? 0, next?.high ?? 0)
}

/** Takes up what a poll reported, whatever other polls have reported since it was sent. */
export function learn(
  watermarks: Map<string, TopicWatermarks>,
  topic: string,
  asked: TopicWatermarks,
  report: WatermarkReport,
): TopicWatermarks {
  const current = recall(watermarks, topic)
  const known = current.history === report.history ? current : { ...unknown, history: report.history }
  const advanced =
    report.advanced !== undefined && known.pending !== undefined && known.pending.horizon === asked.pending?.horizon
  const latest =
    report.horizon === undefined ? known.next : { horizon: report.horizon, high: report.high, since: performance.now() }
  const low = Math.max(known.low, report.low, report.advanced ?? 0)
  // Two pairs are enough: one that is waited for, and the latest, which takes its place.
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
  const known = watermarks.get(topic)
  if (known?.pending === before) watermarks.set(topic, { ...known, pending: after })
}
