/** Tests of contexts: a context writes rows to a table of the test, in the transaction that completes the batch. */
import type { TaskContext } from '@taskstream/task-processor'
import { raw, sql } from '@taskstream/task-sql'
import { useFixture } from '@taskstream/task-testing/suite'
import type { Fixture } from '@taskstream/task-testing/suite'
import { beforeEach } from 'vitest'
import { engine, textColumn } from '../subject.ts'
import type { AnyTransaction, Subject } from '../subject.ts'

export interface Writing {
  readonly fixture: Fixture<Subject>
  /** Writes a row for each task that is continued. */
  readonly writing: TaskContext<AnyTransaction>
  /** The identifiers of the tasks for which a row was written, one for each row. */
  written(): Promise<unknown[]>
}

/** A keyed topic and a table for each test. */
export function useWriting(): Writing {
  const fixture = useFixture(engine, { topic: { keyed: true } })
  let table = raw('')
  let count = 0
  beforeEach(async () => {
    table = raw(`written_${count++}`)
    await fixture.commit((transaction) =>
      fixture.subject.execute(transaction, sql`create table ${table} (identifier ${textColumn})`),
    )
  })

  const written = async (): Promise<unknown[]> =>
    (
      await fixture.commit((transaction) =>
        fixture.subject.execute(transaction, sql`select identifier from ${table} order by identifier`),
      )
    ).map(({ identifier }) => identifier)
  const writing: TaskContext<AnyTransaction> = {
    apply: async (transaction, decisions) => {
      for (const [{ identifier }, { continued }] of decisions)
        if (continued) await fixture.subject.execute(transaction, sql`insert into ${table} values (${identifier})`)
    },
  }
  return { fixture, writing, written }
}
