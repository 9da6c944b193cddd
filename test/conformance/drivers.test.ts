/** With every driver and library, the caller's own writes and ours are in one transaction. */
import { isTaskError, TaskDecision } from '@taskstream/task-api'
import type { HeldTask, TaskCreation, TaskInfo } from '@taskstream/task-api'
import { raw, sql, sqlTaskRepository } from '@taskstream/task-sql'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { awkward } from '../drivers/awkward.ts'
import { drivers } from '../drivers/of-engine.ts'
import type { OpenDriver, Steps } from '../drivers/driver.ts'
import { openDriver } from '../drivers/opened.ts'
import type { Opened } from '../drivers/opened.ts'
import { loseConnection } from '../drivers/lose-connection.ts'
import { canRun, subjectName } from '../subject.ts'
import type { AnyTransaction, Subject, Tasks } from '../subject.ts'
import { testOn } from '../test-on.ts'

const onPostgres = testOn(['postgres'])
const onAnyPostgres = testOn(['postgres', 'pglite'])
const onServer = testOn(['postgres', 'mariadb', 'mysql'])
const onOneConnection = testOn(['sqlite-memory', 'sqlite-file', 'node-sqlite', 'libsql', 'pglite'])

describe.skipIf(!canRun).each(drivers)('$name:', (driver) => {
  let opened: Opened
  let subject: Subject
  let at: string
  let open: OpenDriver
  let tasks: Tasks
  beforeAll(async () => {
    opened = await openDriver(driver)
    ;({ subject, at, open, tasks } = opened)
  })
  afterAll(() => opened[Symbol.asyncDispose]())

  const seen = async (): Promise<{ invoices: string[]; tasks: string[] }> => ({
    invoices: await open.invoices(),
    tasks: (await open.transactions<TaskInfo[]>((transaction) => tasks.page(transaction, 'mail'))).map(
      ({ identifier, state, attempt }) => `${identifier} ${state} ${attempt}`,
    ),
  })
  const pushAnd = (id: string): Steps =>
    function* (transaction) {
      yield open.insertInvoice(transaction, id)
      yield tasks.push(transaction, 'mail', id)
    }
  const completeAnd = (id: string): Steps =>
    function* (transaction) {
      const [task] = (yield tasks.poll(transaction, 'mail')) as HeldTask[]
      yield open.insertInvoice(transaction, id)
      const { completed } = yield tasks.complete(transaction, 'mail', new Map([[task!, TaskDecision.success()]]))
      expect(completed).toHaveLength(1)
    }
  const failing = (steps: Steps): Steps =>
    function* (transaction) {
      yield* steps(transaction)
      throw new Error('no')
    }

  test('an unmigrated database is named', async () => {
    expect(await codeOf(open.transactions((transaction) => tasks.register(transaction)))).toBe('SCHEMA_MISSING')
    expect(await codeOf(open.transactions((transaction) => tasks.push(transaction, 'mail', 'a')))).toBe('SCHEMA_MISSING')
  })

  test('migrates in its own transaction, and finds nothing to do after that', async () => {
    expect(await tasks.migrate(open.transactions)).toMatchObject({ from: 0 })
    const { from, to } = await tasks.migrate(open.transactions)
    expect(from).toBe(to)
    await open.transactions(async (transaction) => {
      await tasks.register(transaction)
      await tasks.initialize(transaction, 'mail')
    })
  })

  test('what a write has touched is told', async () => {
    const told = await open.transactions<unknown[]>(async (transaction) => {
      await tasks.heartbeat(transaction)
      return [await tasks.unregister(transaction), await tasks.unregister(transaction), await tasks.register(transaction)]
    })
    expect(told).toEqual([true, false, true])
    expect(await open.transactions((transaction) => tasks.register(transaction))).toBe(false)
  })

  test("a rollback takes the push with the caller's row", async () => {
    await expect(open.transact(failing(pushAnd('a')))).rejects.toThrow('no')
    expect(await seen()).toEqual({ invoices: [], tasks: [] })
  })

  test("a commit keeps the push and the caller's row", async () => {
    await open.transact(pushAnd('a'))
    expect(await seen()).toEqual({ invoices: ['a'], tasks: ['a ready 0'] })
  })

  test("a rollback takes a poll and a completion with the caller's row", async () => {
    await expect(open.transact(failing(completeAnd('b')))).rejects.toThrow('no')
    expect(await seen()).toEqual({ invoices: ['a'], tasks: ['a ready 0'] })
  })

  test("a commit keeps a poll and a completion with the caller's row", async () => {
    await open.transact(completeAnd('b'))
    expect(await seen()).toEqual({ invoices: ['a', 'b'], tasks: ['a succeeded 1'] })
  })

  test('a transaction source commits what its work did and returns its result', async () => {
    const result = await open.transactions(async (transaction) => {
      await open.insertInvoice(transaction, 'c')
      await tasks.push(transaction, 'mail', 'c')
      return ['c']
    })
    expect(result).toEqual(['c'])
    expect(await seen()).toMatchObject({ invoices: ['a', 'b', 'c'], tasks: ['a succeeded 1', 'c ready 0'] })
  })

  test('a transaction source rolls back what its work did, and throws what its work threw', async () => {
    const thrown = new Error('no')
    const rolledBack = open.transactions(async (transaction) => {
      await open.insertInvoice(transaction, 'd')
      await tasks.push(transaction, 'mail', 'd')
      throw thrown
    })
    await expect(rolledBack).rejects.toBe(thrown)
    expect(await seen()).toMatchObject({ invoices: ['a', 'b', 'c'], tasks: ['a succeeded 1', 'c ready 0'] })
  })

  test('awkward texts come back as they were, each in every place', async () => {
    const topic = `'${awkward[0]} {} %`
    const creations: TaskCreation[] = awkward.map((text, index) => ({
      identifier: text,
      input: text,
      reference: text,
      externalId: text,
      headers: { [text]: text, nested: { list: [text, null, 1.5, true] } },
      priority: index - 4,
      maxTries: 2 + index,
    }))
    const plain = [{ identifier: 'no input' }, ...awkward.map((text) => ({ identifier: text, input: text }))]
    await open.transactions(async (transaction) => {
      await tasks.initialize(transaction, topic)
      await tasks.push(transaction, topic, creations)
      await tasks.push(transaction, topic, plain)
    })
    const held = await open.transactions<HeldTask[]>((transaction) => tasks.poll(transaction, topic, { size: 100 }))
    expect(held).toMatchObject([...creations, ...plain])
    expect(held[creations.length]).not.toHaveProperty('input')
    expect(held.every(({ sequence }) => typeof sequence === 'number')).toBe(true)
    const decisions = new Map(
      held.map((task, index) => [task, TaskDecision.success(`${awkward[index % awkward.length]} ${index}`)]),
    )
    await open.transactions((transaction) => tasks.complete(transaction, topic, decisions, { strict: true }))
    const infos = await open.transactions<TaskInfo[]>((transaction) => tasks.page(transaction, topic, { size: 100 }))
    expect(infos.map(({ output }) => output)).toEqual(held.map((_, index) => `${awkward[index % awkward.length]} ${index}`))
    expect(infos.every(({ created, completed }) => created.getTime() <= completed!.getTime())).toBe(true)
    const again = open.transactions((transaction) => tasks.push(transaction, topic, creations))
    expect(await again).toMatchObject(creations.map(({ identifier }) => ({ identifier, outcome: 'duplicate' })))
  })

  test('each poll among identifiers finds as many tasks as it asks for, the most urgent first, however far apart priorities are', async () => {
    const creations = [100, -32_767, 32_767, -100, -32_767, 100, -100, 32_767].map((priority, index) => ({
      identifier: `i${index}`,
      priority,
    }))
    await open.transactions(async (transaction) => {
      await tasks.initialize(transaction, 'urgent', { order: 'priority', condition: 'singular-by-identifier' })
      await tasks.push(transaction, 'urgent', creations)
    })
    const taken: HeldTask[][] = []
    for (const size of [1, 1, 1, 3, 1, 1])
      taken.push(await open.transactions((transaction) => tasks.poll(transaction, 'urgent', { size })))
    expect(taken.flat()).toMatchObject(creations.toSorted((left, right) => right.priority - left.priority))
    expect(taken.map(({ length }) => length)).toEqual([1, 1, 1, 3, 1, 1])
  })

  test('an error of ours is named, and takes the transaction with it', async () => {
    const unknown: Steps = function* (transaction) {
      yield open.insertInvoice(transaction, 'e')
      yield tasks.push(transaction, 'nobody initialised this', 'e')
    }
    expect(await codeOf(open.transact(unknown))).toBe('TOPIC_UNKNOWN')
    expect((await seen()).invoices).toEqual(['a', 'b', 'c'])
  })

  const whereEndsAreTold = testOn(driver.tellsEnd ? [subjectName] : [])
  whereEndsAreTold('a transaction that has ended is refused, however it ended', async () => {
    const ended: AnyTransaction[] = []
    const keep: Steps = function* (transaction) {
      yield ended.push(transaction)
    }
    await open.transact(keep)
    await expect(open.transact(failing(keep))).rejects.toThrow('no')
    await open.transactions((transaction) => void ended.push(transaction))
    for (const transaction of ended)
      expect(await codeOf(Promise.resolve(tasks.push(transaction, 'mail', 'n')))).toBe('TRANSACTION_CLOSED')
    expect(ended.length).toBeGreaterThanOrEqual(3)
    expect((await seen()).tasks).toEqual(['a succeeded 1', 'c ready 0'])
  })

  test('what is no transaction is refused, where anybody can tell', async () => {
    for (const outside of open.outside ? [open.outside] : [])
      expect(await codeOf(Promise.resolve(tasks.push(outside, 'mail', 'n')))).toBe('TRANSACTION_CLOSED')
    expect((await seen()).tasks).toEqual(['a succeeded 1', 'c ready 0'])
  })

  onAnyPostgres('an operator that looks like a placeholder is left alone', async () => {
    const has = open.transactions((transaction) => query(open, transaction, sql`select '{"key": 1}'::jsonb ? ${'key'} as has`))
    expect(await has).toBe(true)
  })

  onPostgres('transactions are at READ COMMITTED, whatever the database is set to', async () => {
    const session = await subject.session()
    const name = new URL(at).pathname.slice(1)
    await subject.execute(session.transaction, raw(`alter database "${name}" set default_transaction_isolation = 'serializable'`))
    const other = await driver.open(at)
    const level = await other.transactions((transaction) => query(other, transaction, sql`show transaction_isolation`))
    await other.close()
    await subject.execute(session.transaction, raw(`alter database "${name}" reset default_transaction_isolation`))
    await session.close()
    expect(level).toBe('read committed')
  })

  onAnyPostgres('a transaction whose error was ignored is not taken for committed', async () => {
    const ignoring = open.transactions(async (transaction) => {
      await open.insertInvoice(transaction, 'f')
      await Promise.resolve(query(open, transaction, sql`select 1 / ${0}::int`)).catch(() => {})
    })
    const error: unknown = await ignoring.catch((thrown: unknown) => thrown)
    // postgres.js reports the first error of a transaction again.
    expect(isTaskError(error, 'TRANSACTION_CLOSED') || (error as { code?: string }).code === '22012').toBe(true)
    expect((await seen()).invoices).toEqual(['a', 'b', 'c'])
  })

  onServer('says how many transactions can be open at a time, so that a node can tell whether they are enough', () => {
    expect(open.transactions.connections).toBe(4)
  })

  onServer('a connection that is lost is named, and what its transaction does after that is refused', async () => {
    const other = await driver.open(at)
    const others = sqlTaskRepository({ dialect: other.dialect, adapter: other.adapter as never }) as Tasks
    const codes: unknown[] = []
    const lost = other.transactions(async (transaction) => {
      await other.insertInvoice(transaction, 'g')
      await loseConnection(subject, other, transaction)
      // The pool may open another connection instead. This transaction must not continue there.
      await Promise.allSettled([other.invoices(), other.invoices(), other.invoices(), other.invoices()])
      for (const identifier of ['g', 'h', 'i'])
        codes.push(await codeOf(Promise.resolve(others.push(transaction, 'mail', identifier))))
      await others.push(transaction, 'mail', 'j')
    })
    expect(await codeOf(lost)).toMatch(/^(DATABASE_UNAVAILABLE|TRANSACTION_CLOSED)$/)
    await expect.poll(() => codes).toHaveLength(3)
    expect(codes).not.toContain('none')
    expect(await seen()).toMatchObject({ invoices: ['a', 'b', 'c'], tasks: ['a succeeded 1', 'c ready 0'] })
    await other.close()
  })

  onServer('a server that cannot be reached is named, and a pool that was closed', async () => {
    const nowhere = new URL(at)
    nowhere.port = '1'
    if (driver.connectsFirst) expect(await codeOf(driver.open(nowhere.href))).toBe('ECONNREFUSED')
    else {
      const unreachable = await driver.open(nowhere.href)
      expect(await codeOf(unreachable.transactions(() => {}))).toBe('DATABASE_UNAVAILABLE')
      await unreachable.close()
    }
    const closed = await driver.open(at)
    await closed.transactions(() => {})
    await closed.close()
    expect(await codeOf(closed.transactions(() => {}))).toBe(driver.reopens ? 'none' : 'TRANSACTION_CLOSED')
    if (driver.reopens) await closed.close()
  })

  onOneConnection('transactions wait for one another, and none is opened inside another', async () => {
    const order: string[] = []
    const first = open.transactions(async (transaction) => {
      await tasks.push(transaction, 'mail', 'k')
      order.push('first')
      expect(await codeOf(open.transactions(() => {}))).toBe('LIFECYCLE')
      await new Promise((resolve) => setImmediate(resolve))
      order.push('first')
      throw new Error('no')
    })
    const second = open.transactions(() => void order.push('second'))
    await expect(first).rejects.toThrow('no')
    await second
    expect(order).toEqual(['first', 'first', 'second'])
    expect((await seen()).tasks).toEqual(['a succeeded 1', 'c ready 0'])
  })

  testOn(['sqlite-file', 'node-sqlite', 'libsql'])('a file that another process keeps locked is named', async () => {
    const other = await driver.open(at)
    await other.transactions(async (transaction) => {
      await other.insertInvoice(transaction, 'l')
      expect(await codeOf(open.transactions(() => {}))).toBe('DATABASE_BUSY')
    })
    await other.close()
    expect(await codeOf(open.transactions((transaction) => tasks.push(transaction, 'mail', 'l')))).toBe('none')
  })
})

/** Returns the code of the error with which `work` ends, or undefined. */
async function codeOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => 'none',
    (error: { code?: string }) => error.code ?? error,
  )
}

/** Reads one value by one of the suite's own statements. */
async function query(open: OpenDriver, transaction: AnyTransaction, statement: ReturnType<typeof sql>): Promise<unknown> {
  const [row] = await open.adapter.execute(transaction, statement)
  return Object.values(row ?? {})[0]
}
