/** PGlite is a PostgreSQL without a server or a process: the dialect of PostgreSQL keeps its promises there. */
import { PGlite } from '@electric-sql/pglite'
import { fromPglite, pgliteTransactions, postgres } from '@taskstream/task-sql/pglite'
import { expect, test } from 'vitest'
import { conformance, subjectOf } from '@taskstream/task-testing/suite'
import type { Subject } from '@taskstream/task-testing/suite'

const first = await PGlite.create()
/** An empty cluster: to load one takes a third of the time that making it does. */
const cluster = await first.dumpDataDir('none')
await first.close()

async function open(): Promise<Subject> {
  const database = await PGlite.create({ loadDataDir: cluster })
  return subjectOf({
    dialect: postgres(),
    adapter: fromPglite,
    transactions: pgliteTransactions(database),
    session: async () => ({
      transaction: database,
      begin: async () => void (await database.exec('begin')),
      commit: async () => void (await database.exec('commit')),
      rollback: async () => void (await database.exec('rollback')),
      // It is the only one, and the subject's.
      close: async () => {},
    }),
    close: () => database.close(),
  })
}

test('a transaction of PGlite inside another is refused, and does not wait for itself', async () => {
  const database = await PGlite.create({ loadDataDir: cluster })
  const transactions = pgliteTransactions(database)
  const inner = transactions(() => transactions(() => 'inner'))
  await expect(inner).rejects.toMatchObject({ code: 'LIFECYCLE' })
  expect(await transactions(() => 'after')).toBe('after')
  await database.close()
})

conformance({ name: 'pglite', family: 'postgres', connections: 1, writers: 1, synchronous: false, adapts: true, open })
