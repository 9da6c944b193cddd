import type { GroupLeader } from '@taskstream/task-api'

/** What a node has seen of the leader, and since when it has not changed, by the clock of this process. No clock of another machine takes part. */
export class Sighting {
  #seen: GroupLeader | undefined
  #sinceMs = -Infinity

  /** @param nowMs when the answer had come: the heartbeat is not younger than that */
  note(seen: GroupLeader | undefined, nowMs: number): void {
    const before = this.#seen
    const isSame = seen?.taskId === before?.taskId && seen?.term === before?.term && seen?.heartbeat === before?.heartbeat
    if (isSame && this.#sinceMs > -Infinity) return
    this.#seen = seen
    this.#sinceMs = nowMs
  }

  /** When another node may take over, if nothing changes. A group without a leader, or whose leader has left, waits for nothing. */
  freeAtMs(patienceMs: number): number {
    return (this.#seen?.heartbeat ?? null) === null ? -Infinity : this.#sinceMs + patienceMs
  }
}
