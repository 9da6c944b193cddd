/**
 * Transactions in which definitions are made. Each definition commits on MariaDB and MySQL: such a transaction need not be whole at its end.
 *
 * Here and not on the transaction, which is the library's and may be frozen or a proxy. Repository and source have nothing else in common.
 */
const defining = new WeakSet<object>()

export function noteDefinitions(transaction: object): void {
  defining.add(transaction)
}

export function madeDefinitions(transaction: object): boolean {
  return defining.has(transaction)
}
