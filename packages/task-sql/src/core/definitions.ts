/**
 * Transactions in which tables are defined. On MariaDB and MySQL each definition commits, so that such a transaction may have ended
 * before its source ends it.
 *
 * The set stands here because repository and transaction source share nothing else. The transaction itself belongs to its library and
 * may be frozen or a proxy.
 */
const defining = new WeakSet<object>()

export function noteDefinitions(transaction: object): void {
  defining.add(transaction)
}

export function madeDefinitions(transaction: object): boolean {
  return defining.has(transaction)
}
