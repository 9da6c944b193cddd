/** What became of the topics of a node as it was started: each is in one of the three. */
export interface StartReport {
  /** They are processed from now on. */
  readonly started: readonly string[]
  /** They are not to be processed for now: `deactivate` has stored so, or their option `activation` says so. */
  readonly inactive: readonly string[]
  /** They cannot be processed, for the error beside each, which `onFatal` was told too. `manager.start()` tries such a topic again. */
  readonly failed: ReadonlyMap<string, unknown>
}

/** A start report that is being made. */
export class StartLog implements StartReport {
  readonly started: string[] = []
  readonly inactive: string[] = []
  readonly failed: Map<string, unknown> = new Map()

  /** @throws what is wrong with the first topic, if not one of several can be processed */
  checkAny(): void {
    if (this.started.length + this.inactive.length > 0) return
    for (const error of this.failed.values()) throw error
  }
}
