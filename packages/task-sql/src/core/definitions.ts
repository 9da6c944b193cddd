/** Transactions in which definitions are made. Each definition commits on MariaDB and MySQL: such a transaction need not be whole at its end. */
const defining = new WeakSet<object>()

export function noteDefinitions(transaction: object): void {
  defining.add(transaction)
}

export function madeDefinitions(transaction: object): boolean {
  return defining.has(transaction)
}
