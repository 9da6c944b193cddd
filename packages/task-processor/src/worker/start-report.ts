/** The outcome of a node's start for its topics. Each topic is in one of the three fields. */
export interface StartReport {
  /** Topics that are processed from now on. */
  readonly started: readonly string[]
  /** Topics that are not processed for now, by a stored `deactivate` or by their option `activation`. */
  readonly inactive: readonly string[]
  /** Topics that cannot be processed, each with its error, which `onFatal` got too. `manager.start()` tries such a topic again. */
  readonly failed: ReadonlyMap<string, unknown>
}

/** A start report that is being made. */
export class StartLog implements StartReport {
  readonly started: string[] = []
  readonly inactive: string[] = []
  readonly failed: Map<string, unknown> = new Map()

  /** @throws the error of the first failed topic, if no topic can be processed */
  checkAny(): void {
    if (this.started.length + this.inactive.length > 0) return
    for (const error of this.failed.values()) throw error
  }
}
