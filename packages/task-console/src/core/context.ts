/** What a question is answered with. */
import type { Execution, TransactionSource } from '@taskstream/task-api'
import type { SqlTaskRepository } from '@taskstream/task-sql'
import { sees } from './access.ts'
import type { Access } from './access.ts'
import { Problem } from './problem.ts'

/** A transaction of any driver. Nobody here looks inside it. */
export type AnyTransaction = unknown

/** A field of a task that may be secret. */
export type PayloadField = 'input' | 'headers' | 'output' | 'message'

export interface Context<Overview = unknown> {
  readonly access: Access
  readonly tasks: SqlTaskRepository<AnyTransaction, Execution>
  /** Transactions that only read. */
  readonly transactions: TransactionSource<AnyTransaction>
  /** Transactions that write. */
  readonly writing: TransactionSource<AnyTransaction>
  /** Where it is asked, for the audit. */
  readonly via: 'api' | 'console'
  /** Runs a transaction that only reads, and whose statements end in time. */
  read<Result>(work: (transaction: AnyTransaction) => Result | Promise<Result>): Promise<Result>
  /** The topics, nodes and findings, of the last second. */
  overview(): Promise<Overview>
  /** What your program leaves of a payload, after secrets were masked. */
  readonly redact: (task: { readonly topic: string; readonly sequence: number }, field: PayloadField, text: string) => string
  readonly readOnly: boolean
  readonly environment: string | undefined
}

/** @throws Problem TOPIC_UNKNOWN, as if there were no such topic, if this one may not see it */
export function checkSeen({ access }: Context, topic: string): void {
  if (!sees(access, topic)) throw unknownTopic(topic)
}

export function unknownTopic(topic: string): Problem {
  return new Problem('TOPIC_UNKNOWN', 404, `There is no topic ${JSON.stringify(topic.slice(0, 250))}, or you may not see it.`, {
    topic: topic.slice(0, 250),
  })
}

/**
 * Reads a list that has a limit, for each topic that this one may see: what stands in other topics takes no room in it.
 *
 * @param topic the only topic that is asked for; undefined if all are
 */
export function ofSeen<Item>(
  { access, read }: Context,
  topic: string | undefined,
  list: (transaction: AnyTransaction, topic: string | undefined) => readonly Item[] | Promise<readonly Item[]>,
): Promise<readonly Item[]> {
  const topics: ReadonlySet<string | undefined> = new Set(topic === undefined ? (access.topics ?? [undefined]) : [topic])
  return read(async (transaction): Promise<readonly Item[]> => {
    const items: Item[] = []
    for (const one of topics) items.push(...(await list(transaction, one)))
    return items
  })
}
