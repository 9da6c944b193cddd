/** Libraries over pg: a connection that is lost at the moment at which a transaction begins takes no room in its pool. */
import { raw } from '@taskstream/task-sql'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import type { OpenDriver } from '../drivers/driver.ts'
import { postgresDrivers } from '../drivers/postgres.ts'
import { canRun, isPostgres, openSubject } from '../subject.ts'
import type { Subject } from '../subject.ts'

type Query = (this: pg.Client, ...args: readonly unknown[]) => unknown

const overPg = postgresDrivers.filter(({ name }) => !name.includes('postgres.js'))

describe.skipIf(!canRun || !isPostgres).each(overPg)('$name', (driver) => {
  let subject: Subject
  let open: OpenDriver
  beforeAll(async () => {
    subject = await openSubject()
    open = await driver.open(subject.location.at, { max: 1 })
  })
  afterAll(async () => {
    await open.close()
    await subject[Symbol.asyncDispose]()
  })
  afterEach(() => {
    vi.restoreAllMocks()
  })

  /** Has the server end the session of the next transaction that begins, just before it hears of that. */
  const loseNext = (): { readonly lost: () => boolean } => {
    let isLost = false
    const query = pg.Client.prototype.query as unknown as Query
    vi.spyOn(pg.Client.prototype as unknown as { query: Query }, 'query').mockImplementation(function (this: pg.Client, ...args) {
      const text = typeof args[0] === 'string' ? args[0] : (args[0] as { readonly text?: string } | undefined)?.text
      const { processID } = this as unknown as { readonly processID: number }
      if (isLost || !/^(begin|start transaction)/i.test(text ?? '') || mine.has(processID)) return query.apply(this, args)
      isLost = true
      const kill = raw(`select pg_terminate_backend(${processID}, 10000)`)
      const killed = subject.transactions((session) => subject.execute(session, kill))
      const callback = args.at(-1)
      if (typeof callback !== 'function') return killed.then(() => query.apply(this, args))
      void killed.then(() => query.apply(this, args))
      return undefined
    })
    return { lost: () => isLost }
  }
  /** Sessions of the test itself. */
  const mine = new Set<number>()

  test('goes on with its only connection', async () => {
    const [own] = await subject.transactions((session) => subject.execute(session, raw('select pg_backend_pid() as id')))
    mine.add(Number(own!['id']))
    await open.transactions(() => {})
    for (let time = 0; time < 2; time++) {
      const { lost } = loseNext()
      // One that repeats a transaction whose begin was lost may succeed.
      await open.transactions(() => {}).catch(() => {})
      expect(lost()).toBe(true)
      vi.restoreAllMocks()
      await open.transactions(() => {})
    }
  })
})
