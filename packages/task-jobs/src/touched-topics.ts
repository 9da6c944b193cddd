/** Remembers to which topics a transaction has pushed, so that their loops can be woken once it is committed. */
export class TouchedTopics {
  readonly #byTransaction = new WeakMap<object, Set<string>>()

  /** Begins to remember. On a single connection, transactions follow each other on the same object. */
  begin(transaction: unknown): Set<string> {
    const topics = new Set<string>()
    this.#byTransaction.set(transaction as object, topics)
    return topics
  }

  /** Notes a push. A transaction that was not begun here is somebody else's, and its commit goes unseen. */
  note(transaction: unknown, topic: string): void {
    this.#byTransaction.get(transaction as object)?.add(topic)
  }
}
