import type { Operator } from '@taskstream/task-operations'
import type { NamedDatabase } from './database.ts'
import { personOf } from './person.ts'

/** Who acts here: the person at this terminal. */
export function operatorOf({ tasks, transactions, reading }: NamedDatabase, note?: string): Operator {
  return { tasks, transactions, reading, actor: personOf(), via: 'cli', ...(note !== undefined && { note }) }
}
