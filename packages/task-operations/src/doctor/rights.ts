import { isTaskError } from '@taskstream/task-api'
import type { Execution, TransactionSource } from '@taskstream/task-api'
import { expectEnd } from '@taskstream/task-sql'
import type { Row, SqlTaskRepository, Statement } from '@taskstream/task-sql'

/** A statement that grants a right to this user. */
export function grantOf(needed: string, user: string | undefined): string {
  return `grant ${needed} to ${user ?? 'this user'}`
}

/** Finds missing rights by statements that need them. They run in one transaction, which only reads, so that it refuses all of them. */
export function probedRights<Transaction>(
  tasks: SqlTaskRepository<Transaction, Execution>,
  transactions: TransactionSource<Transaction>,
  begin: readonly Statement[],
  probes: readonly Statement[],
): Promise<readonly Row[]> {
  const send = tasks.verb(function* (_context, statement: Statement) {
    yield statement
  })
  return transactions<readonly Row[]>(async (transaction) => {
    expectEnd(transaction as object)
    for (const statement of begin) await send(transaction, statement)
    const needed = new Set<string>()
    for (const probe of probes) {
      try {
        await send(transaction, probe)
      } catch (error) {
        if (isTaskError(error, 'PERMISSION_DENIED')) needed.add(String(error.data['needed']))
      }
    }
    return [...needed].map((right) => ({ value: 1, needed: right }))
  })
}
