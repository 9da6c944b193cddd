/** What this process knows of a topic's floor. Every value in it was true when it was learned, and stays true. */
export interface TopicFloor {
  /** Tells apart the databases, initialisations of the topic and starts of the server: what was learned in one is void in another. */
  readonly history: string
  /** No fresh row at or below it is ready, or ever will be. */
  readonly floor: number
  /** When every transaction older than `mark` has ended, everything up to `bound` is visible. */
  readonly pending: Settling | undefined
  /** The latest such pair, waited for next. */
  readonly next: Settling | undefined
}

/** Waits to settle. */
export interface Settling {
  readonly mark: string
  readonly bound: number
  /** When the waiting began, by this process's clock. */
  readonly since: number
  /** Transactions that may have pushed up to the bound, where that has been looked into. */
  readonly holders?: readonly string[]
}

/** What one poll reports. */
export interface FloorReport {
  readonly history: string
  readonly floor: number
  readonly bound: number
  readonly mark: string | undefined
  /** The new floor, if the pending pair has settled. */
  readonly settled: number | undefined
}

const unknown: TopicFloor = { history: '', floor: 0, pending: undefined, next: undefined }

export function recall(floors: ReadonlyMap<string, TopicFloor>, topic: string): TopicFloor {
  return floors.get(topic) ?? unknown
}

/** The last sequence that is known to have been drawn. */
export function lastDrawn({ floor, pending, next }: TopicFloor): number {
  return Math.max(floor, pending?.bound ?? 0, next?.bound ?? 0)
}

/** Takes up what a poll reported, whatever other polls have reported since it was sent. */
export function learn(floors: Map<string, TopicFloor>, topic: string, asked: TopicFloor, report: FloorReport): TopicFloor {
  const current = recall(floors, topic)
  const known = current.history === report.history ? current : { ...unknown, history: report.history }
  const settled = report.settled !== undefined && known.pending !== undefined && known.pending.mark === asked.pending?.mark
  const latest = report.mark === undefined ? known.next : { mark: report.mark, bound: report.bound, since: performance.now() }
  const floor = Math.max(known.floor, report.floor, report.settled ?? 0)
  // Two pairs are enough: one that is waited for, and the latest, which takes its place.
  const pending = settled || known.pending === undefined ? latest : known.pending
  const learned = { history: report.history, floor, pending, next: pending === latest ? undefined : latest }
  floors.set(topic, learned)
  return learned
}

/** Replaces the pair that is waited for, unless it has settled meanwhile. */
export function replacePending(floors: Map<string, TopicFloor>, topic: string, before: Settling, after: Settling): void {
  const known = floors.get(topic)
  if (known?.pending === before) floors.set(topic, { ...known, pending: after })
}
