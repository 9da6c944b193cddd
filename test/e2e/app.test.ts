/**
 * The example of the README is a shop that is killed in the middle of its work, and stopped: each order has one invoice, each invoice is mailed, and
 * who has paid gets no reminder.
 */
import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import type { TaskInfo } from '@taskstream/task-api'
import { raw, sql } from '@taskstream/task-sql'
import { describe, expect, test } from 'vitest'
import { canRun, openSubject } from '../subject.ts'
import type { Subject } from '../subject.ts'
import type { Wish } from './shop.ts'

const customers = ['ann', 'bob', 'cid']
const orders = (from: number, to: number): Wish[] =>
  Array.from({ length: to - from }, (_, index) => ({
    order: { id: from + index, customer: customers[(from + index) % 3]!, total: 10 * (from + index) },
  }))

interface Shop {
  readonly process: ChildProcess
  send(...wishes: readonly Wish[]): Promise<void>
}

async function open({ engine, owner: { at } }: Subject, mails: string[]): Promise<Shop> {
  const url = engine === 'postgres' ? new URL(at) : undefined
  const env = url
    ? {
        PGHOST: url.hostname,
        PGPORT: url.port,
        PGUSER: url.username,
        PGPASSWORD: url.password,
        PGDATABASE: url.pathname.slice(1),
      }
    : { SHOP_DB: at }
  const example = new URL(`../../examples/${url ? 'app-pg' : 'app'}.ts`, import.meta.url).href
  const child = fork(new URL('shop.ts', import.meta.url), [example], {
    execArgv: ['--conditions=@taskstream/source'],
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  })
  let rest = ''
  child.stdout!.setEncoding('utf8').on('data', (text: string) => {
    const lines = `${rest}${text}`.split('\n')
    rest = lines.pop()!
    mails.push(...lines)
  })
  await once(child, 'message')
  return {
    process: child,
    send: async (...wishes) => {
      for (const wish of wishes) {
        child.send(wish)
        await once(child, 'message')
      }
    },
  }
}

describe.skipIf(!canRun)('the shop', () => {
  test('writes each invoice once, mails each, and reminds only who has not paid', { timeout: 240_000 }, async () => {
    await using subject = await openSubject()
    const tasks = subject.tasks()
    await subject.owner.transactions(async (transaction) => {
      const paid = subject.engine === 'postgres' ? 'boolean' : 'integer'
      await subject.execute(transaction, raw(`create table orders (id integer, customer text, total integer, paid ${paid})`))
      await subject.execute(transaction, raw('create table invoices (order_id integer, total integer)'))
      await subject.execute(transaction, raw('create table carts (expired boolean)'))
    })
    const invoices = async (): Promise<number[]> => {
      const rows = await subject.owner.transactions((transaction) =>
        subject.execute(transaction, sql`select order_id from invoices`),
      )
      return rows.map(({ order_id: id }) => Number(id))
    }
    const page = (topic: string): Promise<TaskInfo[]> =>
      subject.transactions<TaskInfo[]>((transaction) => tasks.page(transaction, topic, { size: 1_000 }))
    const mails: string[] = []

    const killed = await open(subject, mails)
    const placed = killed.send(...orders(0, 200)).catch(() => {})
    await expect.poll(async () => (await invoices()).length).toBeGreaterThan(20)
    killed.process.kill('SIGKILL')
    await Promise.race([placed, once(killed.process, 'exit')])
    const begun = (await page('invoice')).length

    const stopped = await open(subject, mails)
    await stopped.send(...orders(1_000, 1_020))
    stopped.process.kill('SIGTERM')
    const [code, signal] = (await once(stopped.process, 'exit')) as [number | null, string | null]
    expect([code, signal]).toEqual([0, null])

    // The killed process cannot say that it is dead. Its lease of half a minute is shortened here.
    await subject.transactions((transaction) => tasks.expire(transaction, { olderThanMs: 0, then: 'ready' }))
    const last = await open(subject, mails)
    await expect.poll(async () => (await invoices()).length).toBe(begun + 20)
    const ids = await invoices()
    expect(new Set(ids).size).toBe(ids.length)
    // The orders of a customer are invoiced in the order in which they were placed.
    const of = (customer: number): number[] => ids.filter((id) => id % 3 === customer)
    for (const customer of [0, 1, 2]) expect(of(customer)).toEqual(of(customer).toSorted((left, right) => left - right))
    const invoiced = ids.map((id) => `to ${customers[id % 3]}: Invoice ${id}`)
    await expect.poll(() => invoiced.filter((mail) => !mails.includes(mail))).toEqual([])

    await last.send({ pay: ids[0]! }, { pay: ids[1]! })
    const reminders = await page('reminder')
    // Customers go on side by side, so their reminders may be pushed in another order than their invoices.
    const cancelled = reminders.filter(({ reason }) => reason === 'cancelled').map(({ externalId }) => externalId)
    expect(cancelled.toSorted()).toEqual([ids[0], ids[1]].map((id) => `order ${id}`).toSorted())
    await subject.transactions((transaction) =>
      tasks.reschedule(
        transaction,
        'reminder',
        reminders.map(({ sequence }) => sequence),
        { delayMs: 0 },
      ),
    )
    const reminded = ids.slice(2).map((id) => `to ${customers[id % 3]}: Reminder ${id}`)
    await expect.poll(() => reminded.filter((mail) => !mails.includes(mail))).toEqual([])
    expect(mails.filter((mail) => mail.includes('Reminder')).length).toBe(reminded.length)
    last.process.kill('SIGTERM')
    await once(last.process, 'exit')
  })
})
