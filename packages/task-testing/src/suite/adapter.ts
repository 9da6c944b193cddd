/** The caller's own writes and a repository's writes share one transaction, which the driver opens in its own way. */
import { TaskDecision } from '@taskstream/task-api'
import type { HeldTask, TaskInfo } from '@taskstream/task-api'
import { sql } from '@taskstream/task-sql'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { names } from './fixture.ts'
import { part, testWhere, textColumn } from './engine.ts'
import type { AnyTransaction, Part, Session, Subject, Tasks } from './engine.ts'

export const adapter: Part = part('a transaction of the caller', (engine) => {
  let subject: Subject
  let tasks: Tasks
  let session: Session
  beforeAll(async () => {
    subject = await engine.open()
    tasks = subject.tasks()
    session = await subject.session()
    await subject.transactions(async (transaction) => {
      await tasks.register(transaction)
      await subject.execute(transaction, sql`create table invoice (id ${textColumn(engine)})`)
    })
  })
  afterAll(() => subject[Symbol.asyncDispose]())

  /** Each test has a topic of its own and starts without invoices. */
  let topic = ''
  let topics = 0
  beforeEach(async () => {
    topic = `mail-${topics++}`
    await subject.transactions(async (transaction) => {
      await tasks.initialize(transaction, topic)
      await subject.execute(transaction, sql`delete from invoice`)
    })
  })
  const pushed = (): Promise<unknown> => subject.transactions((transaction) => tasks.push(transaction, topic, 'a'))
  const insertInvoice = (transaction: AnyTransaction, id: string): Promise<unknown> =>
    subject.execute(transaction, sql`insert into invoice (id) values (${id})`)
  const seen = async (): Promise<{ invoices: unknown[]; tasks: string[] }> =>
    subject.transactions(async (transaction) => ({
      invoices: (await subject.execute(transaction, sql`select id from invoice order by id`)).map(({ id }) => id),
      tasks: ((await tasks.page(transaction, topic)) as TaskInfo[]).map(({ identifier, state }) => `${identifier} ${state}`),
    }))

  test('that rolls back takes the push with it, and what it had written itself', async () => {
    await session.begin()
    await insertInvoice(session.transaction, 'rolled back')
    await tasks.push(session.transaction, topic, 'rolled back')
    await session.rollback()
    expect(await seen()).toEqual({ invoices: [], tasks: [] })
  })

  test('that commits brings both', async () => {
    await session.begin()
    await insertInvoice(session.transaction, 'a')
    await tasks.push(session.transaction, topic, 'a')
    await session.commit()
    expect(await seen()).toEqual({ invoices: ['a'], tasks: ['a ready'] })
  })

  test('that rolls back takes a poll and a completion with it', async () => {
    await pushed()
    await session.begin()
    const [task] = (await tasks.poll(session.transaction, topic)) as HeldTask[]
    await tasks.complete(session.transaction, topic, new Map([[task!, TaskDecision.success()]]))
    await insertInvoice(session.transaction, 'b')
    await session.rollback()
    expect(await seen()).toEqual({ invoices: [], tasks: ['a ready'] })
  })

  test('that commits keeps the poll and the completion', async () => {
    await pushed()
    await session.begin()
    const [task] = (await tasks.poll(session.transaction, topic)) as HeldTask[]
    await tasks.complete(session.transaction, topic, new Map([[task!, TaskDecision.success()]]))
    await insertInvoice(session.transaction, 'b')
    await session.commit()
    expect(await seen()).toEqual({ invoices: ['b'], tasks: ['a succeeded'] })
  })

  /** Pushes tasks without committing them, and says which of them another connection sees or polls. */
  const pushUnseen = async (): Promise<{
    readonly pushing: Session
    page(): Promise<string[]>
    poll(): Promise<string[]>
  }> => {
    const [pushing, other] = [await subject.session(), await subject.session()]
    await pushing.begin()
    await tasks.push(pushing.transaction, topic, ['a', 'b'])
    return {
      pushing,
      page: async () => names((await tasks.page(other.transaction, topic)) as TaskInfo[]),
      poll: async () => {
        await other.begin()
        const held = (await tasks.poll(other.transaction, topic, { size: 9 })) as HeldTask[]
        await other.commit()
        return names(held)
      },
    }
  }

  testWhere(engine.connections > 1)('is seen by no other connection before it commits, and by every one afterwards', async () => {
    const { pushing, page, poll } = await pushUnseen()
    expect(await page()).toEqual([])
    await pushing.commit()
    expect(await page()).toEqual(['a', 'b'])
    expect(await poll()).toEqual(['a', 'b'])
  })

  // Where only one transaction can write at a time, a poll has to wait until the other transaction ends.
  testWhere(engine.writers > 1)('gives nobody a task before it commits, and each once afterwards', async () => {
    const { pushing, poll } = await pushUnseen()
    expect(await poll()).toEqual([])
    await pushing.commit()
    expect(await poll()).toEqual(['a', 'b'])
    expect(await poll()).toEqual([])
  })

  test('is worked in as the driver works: the repository says whether its verbs return values or promises', async () => {
    expect(tasks.execution).toBe(engine.synchronous ? 'sync' : 'async')
    const answers: unknown[] = []
    await subject.transactions(async (transaction) => {
      const answer: unknown = tasks.push(transaction, topic, 'a')
      answers.push(answer)
      await answer
    })
    expect(answers[0] instanceof Promise).toBe(!engine.synchronous)
  })

  testWhere(engine.synchronous)('on a synchronous driver is synchronous: what a verb returns is a value', async () => {
    const { transaction } = session
    transaction.exec('begin immediate')
    const answer = tasks.push(transaction, topic, 'c')
    expect(Array.isArray(answer)).toBe(true)
    transaction.exec('rollback')
    expect((await seen()).tasks).toEqual([])
  })
})
