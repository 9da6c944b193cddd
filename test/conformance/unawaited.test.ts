/** With every driver and library, calls of one transaction that nobody has awaited belong to it, or are not done. */
import { setTimeout } from 'node:timers/promises'
import type { TaskInfo } from '@taskstream/task-api'
import { sql } from '@taskstream/task-sql'
import { codeOf } from '@taskstream/task-testing/suite'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { drivers } from '../drivers/of-engine.ts'
import type { OpenDriver } from '../drivers/driver.ts'
import { openDriver } from '../drivers/opened.ts'
import type { Opened } from '../drivers/opened.ts'
import { canRun } from '../subject.ts'
import type { AnyTransaction, Tasks } from '../subject.ts'
import { testOn } from '../test-on.ts'

const onPostgres = testOn(['postgres'])

describe.skipIf(!canRun).each(drivers)('$name:', (driver) => {
  let opened: Opened
  let open: OpenDriver
  let tasks: Tasks
  let topic = ''
  beforeAll(async () => {
    opened = await openDriver(driver)
    ;({ open, tasks } = opened)
    await tasks.migrate(open.transactions)
  })
  beforeEach(async () => {
    topic = `${topic}a`
    await open.transactions((transaction) => tasks.initialize(transaction, topic))
  })
  afterAll(() => opened[Symbol.asyncDispose]())

  const push = (transaction: AnyTransaction, id: string, to = topic): unknown => tasks.push(transaction, to, id)
  const pushed = async (): Promise<string[]> =>
    (await open.transactions<TaskInfo[]>((transaction) => tasks.page(transaction, topic))).map(({ identifier }) => identifier)

  test('a transaction is committed with all that its work has called, though it has awaited none of it', async () => {
    await open.transactions((transaction) => void [push(transaction, 'a'), push(transaction, 'b')])
    expect(await pushed()).toEqual(['a', 'b'])
  })

  test('after an error of the caller, what waits for its turn is not done', async () => {
    const failing = open.transactions((transaction) =>
      Promise.all([push(transaction, 'a'), Promise.reject(new Error('no')), push(transaction, 'b'), push(transaction, 'c')]),
    )
    await expect(failing).rejects.toThrow('no')
    expect(await pushed()).toEqual([])
  })

  test('a call that is refused undoes the transaction, though nobody has awaited it', async () => {
    const refused = open.transactions((transaction) => void [push(transaction, 'a'), push(transaction, 'b', 'no such topic')])
    expect(await codeOf(() => refused)).toBe('TOPIC_UNKNOWN')
    const early = open.transactions(async (transaction) => {
      const late = push(transaction, 'c', 'no such topic')
      await push(transaction, 'd')
      await setTimeout(1)
      return [late]
    })
    expect(await codeOf(() => early)).toBe('TOPIC_UNKNOWN')
    expect(await pushed()).toEqual([])
  })

  test('a call whose error the caller has seen undoes nothing by itself', async () => {
    const codes = await open.transactions(async (transaction) => {
      const code = await codeOf(async () => push(transaction, 'a', 'no such topic'))
      await push(transaction, 'b')
      return [code]
    })
    expect([codes, await pushed()]).toEqual([['TOPIC_UNKNOWN'], ['b']])
  })

  test('a helper that goes on after its transaction is refused, and writes into no other transaction', async () => {
    const { promise: isOver, resolve: end } = Promise.withResolvers<void>()
    const { promise: isNext, resolve: begin } = Promise.withResolvers<void>()
    const late: Promise<unknown>[] = []
    const helper = async (transaction: AnyTransaction, id: string, after: Promise<void>): Promise<void> => {
      await after
      const code = codeOf(async () => push(transaction, id))
      late.push(code)
      await code
    }
    const failing = open.transactions((transaction) =>
      Promise.all([helper(transaction, 'a', isOver), helper(transaction, 'b', isNext), Promise.reject(new Error('no'))]),
    )
    await expect(failing).rejects.toThrow('no')
    end()
    await open.transactions(async (transaction) => {
      begin()
      await push(transaction, 'c')
      await setTimeout(5)
      await push(transaction, 'd')
    })
    expect(await Promise.all(late)).toEqual(['TRANSACTION_CLOSED', 'TRANSACTION_CLOSED'])
    expect(await pushed()).toEqual(['c', 'd'])
  })

  test('a helper that goes on after its transaction may begin another', async () => {
    const { promise: isOver, resolve: end } = Promise.withResolvers<void>()
    const { transactions } = open
    const later = async (): Promise<void> => {
      await isOver
      await transactions((transaction) => push(transaction, 'b'))
      await (transactions.autocommit ?? transactions)((connection) => push(connection, 'c'))
    }
    const helped = await transactions((transaction) => {
      push(transaction, 'a')
      return [later()]
    })
    end()
    await Promise.all(helped)
    expect(await pushed()).toEqual(['a', 'b', 'c'])
  })

  test('work that is rejected without an error has failed', async () => {
    const failed = open.transactions(async (transaction) => {
      await push(transaction, 'a')
      // eslint-disable-next-line prefer-promise-reject-errors
      return Promise.reject<void>()
    })
    expect(await failed.then(() => 'committed', String)).toBe('undefined')
    expect(await pushed()).toEqual([])
  })

  if (driver.sendsAtOnce)
    onPostgres('what is sent at once is in the transaction, in its order, or nothing of it is', async () => {
      const send = (transaction: AnyTransaction, ids: readonly string[]): Promise<unknown> =>
        Promise.all(ids.flatMap((id) => [open.insertInvoice(transaction, id), push(transaction, id)]))
      await open.transactions((transaction) => send(transaction, ['a', 'b', 'c']))
      const failing = open.transactions(async (transaction) => {
        const broken = open.adapter.execute(transaction, sql`select 1 / ${0}::int`)
        await Promise.all([send(transaction, ['d']), broken, send(transaction, ['e'])])
      })
      await expect(failing).rejects.toThrow()
      expect([await pushed(), await open.invoices()]).toEqual([
        ['a', 'b', 'c'],
        ['a', 'b', 'c'],
      ])
    })
})
