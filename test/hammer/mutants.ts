/** Faults that the hammer must notice: each takes one guard out of the statements of singular polling. */
import { raw, render } from '@taskstream/task-sql'
import type { SqlAdapter, Statement } from '@taskstream/task-sql'
import type { AnyTransaction, Subject } from '../subject.ts'

export interface Mutant {
  readonly name: string
  readonly from: string | RegExp
  readonly to: string | ((text: string) => string)
  /** Engines on which the guard is part of a statement. */
  readonly engines: readonly Subject['engine'][]
}

export const mutants: readonly Mutant[] = [
  { name: 'lanes are read, not locked', from: /for update skip locked(?=\) free)/g, to: '', engines: ['postgres'] },
  {
    name: 'lanes are read, not locked',
    from: /^[\s\S]*task_lane l [\s\S]*$/,
    // The statement that counts the polls of lock stripes locks the stripes too, so the fault disables this count.
    to: (text) => text.replace(/for update (of l )?skip locked/, '').replace('set l.polled = l.polled + 1', '$& where 1 = 0'),
    engines: ['mariadb'],
  },
  {
    name: 'an active task is no obstacle',
    from: /b\.stage = 0|b\.stage <= 1 and \(/g,
    to: (text) => (text.endsWith('0') ? 'b.stage = -1' : 'b.stage = 1 and ('),
    engines: ['postgres', 'sqlite', 'mariadb'],
  },
  {
    name: 'nothing is noted',
    from: /(insert into \S*task_turn\S* [\s\S]*where p\.topic = \S+)/,
    to: '$1 and 1 = 0',
    engines: ['postgres', 'sqlite', 'mariadb'],
  },
  {
    name: 'claiming leaves the stage as it is',
    from: /, stage = 0\b/,
    to: ', stage = stage',
    engines: ['postgres', 'sqlite', 'mariadb'],
  },
]

/** Returns an adapter that changes every statement before `adapter` runs it. */
export function mutated(adapter: SqlAdapter<AnyTransaction>, { from, to }: Mutant): SqlAdapter<AnyTransaction> {
  return {
    execution: adapter.execution,
    execute: (transaction, statement) => adapter.execute(transaction, change(statement, from, to)),
  } as SqlAdapter<AnyTransaction>
}

/** Changes the functions of the database, which poll topics under a condition on PostgreSQL, as `mutated` changes statements. */
export async function mutateFunctions({ transactions, execute }: Subject, { from, to }: Mutant): Promise<void> {
  await transactions(async (transaction) => {
    const rows = await execute(
      transaction,
      raw(
        "select pg_get_functiondef(p.oid) as text from pg_proc p where p.pronamespace = 'taskstream'::regnamespace and p.proname like 'task_take_%'",
      ),
    )
    for (const { text } of rows) await execute(transaction, raw(String(text).replace(from, to as string)))
  })
}

/** Changes a statement's text. A placeholder character stands for each value, so that values keep their places. */
function change(statement: Statement, from: Mutant['from'], to: Mutant['to']): Statement {
  const texts = render(statement, () => '\u0001')
    .replace(from, to as string)
    .split('\u0001')
  return texts.length === statement.texts.length ? { texts, values: statement.values } : statement
}
