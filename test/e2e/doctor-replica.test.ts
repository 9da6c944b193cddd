/** The doctor on a standby says that it takes no writes, and examines what can be examined there. */
import { sqlTaskRepository } from '@taskstream/task-sql'
import { fromPg, pgTransactions, postgres } from '@taskstream/task-sql/pg'
import { examine } from '@taskstream/task-operations'
import pg from 'pg'
import { expect, test } from 'vitest'
import { complaintsAmong, findingOf } from '../conformance/examining.ts'
import { startPostgres } from '../databases/postgres-server.ts'

/** The end of a pool does not wait until the server has closed its connections, and the server is ended next: the pool and its clients hear of that. */
function ending(pool: pg.Pool): pg.Pool {
  pool.on('error', () => {})
  pool.on('connect', (client) => client.on('error', () => {}))
  return pool
}

test('the doctor finds that a server is a replica, and makes its other checks there too', async () => {
  await using primary = await startPostgres({ durable: true })
  const tasks = sqlTaskRepository({ dialect: postgres(), adapter: fromPg })
  const pool = ending(new pg.Pool({ connectionString: primary.url, max: 2 }))
  await tasks.migrate(pgTransactions(pool))
  await pool.end()
  await using replica = await primary.standby('replica')
  const readers = ending(new pg.Pool({ connectionString: replica.url, max: 2 }))
  const findings = await examine({
    tasks,
    transactions: pgTransactions(readers),
    limitMs: 60_000,
    thresholds: { 'round-trip': { unit: 'ms', warn: Infinity } },
  })
  await readers.end()
  expect(complaintsAmong(findings)).toEqual(['read-only warn'])
  expect(findingOf(findings, 'read-only').measured).toBe('the server is in recovery')
  expect(findings.filter(({ severity }) => severity === 'skipped')).toEqual([])
})
