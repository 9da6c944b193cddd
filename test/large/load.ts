/** Fills a database with rows by SQL, in the form in which the verbs would have left them, and prints how far it is. */
import { raw } from '@taskstream/task-sql'
import type { AnyTransaction, Subject } from '../subject.ts'

/** Rows of one topic: their columns as expressions of `n`, which counts from 1. `NOW`, `LATER`, `TRUE` and `BLOCKED` are the engine's. */
export interface Rows {
  readonly topic: string
  readonly count: number
  readonly columns: Readonly<Record<string, string>>
}

/** So many rows are written by one statement. */
const portion = 250_000

/** Makes the statement that inserts rows of one topic, from `n` on. */
function insertion({ engine }: Pick<Subject, 'engine'>, { topic, columns: given }: Rows, from: number, to: number): string {
  const postgres = engine === 'postgres'
  const mariadb = engine === 'mariadb'
  const literals: Readonly<Record<string, string>> = postgres
    ? {
        TRUE: 'true',
        NOW: 'statement_timestamp()',
        LATER: `statement_timestamp() + interval '1 day'`,
        EARLIER: `statement_timestamp() - interval '1 hour'`,
      }
    : mariadb
      ? {
          TRUE: '1',
          NOW: 'unix_timestamp() * 1000',
          LATER: 'unix_timestamp() * 1000 + 86400000',
          EARLIER: 'unix_timestamp() * 1000 - 3600000',
        }
      : { TRUE: '1', NOW: 'unixepoch() * 1000', LATER: 'unixepoch() * 1000 + 86400000', EARLIER: 'unixepoch() * 1000 - 3600000' }
  const numbers = postgres
    ? `generate_series(${from}, ${to}) n`
    : mariadb
      ? `(select seq as n from seq_${from}_to_${to}) s`
      : `(with recursive s (n) as (select ${from} union all select n + 1 from s where n < ${to}) select n from s)`
  const columns: Record<string, string> = {
    topic: `'${topic}'`,
    identifier: mariadb ? `concat('i', n)` : `'i' || n`,
    created: 'EARLIER',
    ...(mariadb && { sequence: 'next value for task_sequence' }),
    ...given,
  }
  const values = Object.values(columns).map((value) =>
    value.replaceAll(/\b(TRUE|NOW|LATER|EARLIER)\b/g, (word) => literals[word]!),
  )
  const table = postgres ? 'taskstream.task' : 'task'
  return `insert into ${table} (${Object.keys(columns).join(', ')}) select ${values.join(', ')} from ${numbers}`
}

/** @returns the first sequence of each list of rows: nobody else writes, so the others follow it without a gap */
export async function load(
  subject: Subject,
  lists: readonly Rows[],
  progress: (rows: number, of: number) => void,
): Promise<number[]> {
  const all = lists.reduce((sum, { count }) => sum + count, 0)
  const firsts: number[] = []
  let done = 0
  for (const rows of lists) {
    firsts.push(done + 1)
    for (let from = 1; from <= rows.count; from += portion) {
      const to = Math.min(rows.count, from + portion - 1)
      await execute(subject, insertion(subject, rows, from, to))
      done += to - from + 1
      progress(done, all)
    }
  }
  return firsts
}

export async function execute(subject: Subject, text: string): Promise<void> {
  await subject.transactions(async (transaction: AnyTransaction) => void (await subject.execute(transaction, raw(text))))
}

/** Keeps the server from gathering statistics by itself. */
export async function keepCalm(subject: Subject): Promise<void> {
  const calm =
    subject.engine === 'postgres'
      ? 'set (autovacuum_enabled = off)'
      : subject.engine === 'mariadb' && 'stats_persistent = 1, stats_auto_recalc = 0'
  const schema = subject.engine === 'postgres' ? 'taskstream.' : ''
  for (const table of calm ? ['task', 'task_attempt'] : []) await execute(subject, `alter table ${schema}${table} ${calm}`)
}
