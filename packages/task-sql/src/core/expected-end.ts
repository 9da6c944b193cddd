/**
 * Transactions that the server may end before their source does. On MariaDB and MySQL each definition of a table commits, and so does the begin of
 * another transaction, such as the doctor's, which only reads.
 *
 * The set stands here because repository and transaction source share nothing else. The transaction itself belongs to its library and
 * may be frozen or a proxy.
 */
const ending = new WeakSet<object>()

/** Says that the server may end a transaction by itself, so that its source does not take that for a fault. */
export function expectEnd(transaction: object): void {
  ending.add(transaction)
}

export function isEndExpected(transaction: object): boolean {
  return ending.has(transaction)
}
