/** Topics with a condition are polled by a function on the server, on PostgreSQL: its plans, its rights, and what it says of what is left. */
import { raw, sql } from '@taskstream/task-sql'
import { names, useFixture } from '@taskstream/task-testing/suite'
import { describe, expect, test } from 'vitest'
import type { Session } from '../subject.ts'
import { canRun, engine, isPostgres, subjectName } from '../subject.ts'

const singular = { condition: 'singular-by-identifier' } as const

describe.skipIf(!canRun || !isPostgres)('the function that polls a topic with a condition', () => {
  const fixture = useFixture(engine)

  /** Rows of the task table that the open transaction has looked at. */
  async function looked(session: Session): Promise<number> {
    const [row] = await fixture.subject.execute(
      session.transaction,
      raw(`select coalesce(sum(s.seq_tup_read + s.idx_tup_fetch), 0) as looked
             from pg_stat_xact_user_tables s where s.schemaname = 'taskstream' and s.relname like 'task%'`),
    )
    return Number(row?.['looked'])
  }

  // Behind a pooler no session is a test's own. Plans are made for each call where each topic has a partition.
  test.skipIf(subjectName === 'pgbouncer').each(['fifo', 'lifo', 'priority'] as const)(
    'keeps no plan of a small table when the table has grown, in a %s topic',
    async (order) => {
      await fixture.nextTopic({ ...singular, order })
      const session = await fixture.subject.session()
      const poll = async (): Promise<{ found: string[]; rows: number }> => {
        await session.begin()
        const found = names(await fixture.tasks.poll(session.transaction, fixture.topic, { size: 10 }))
        const rows = await looked(session)
        await session.rollback()
        return { found, rows }
      }
      await fixture.push('early')
      for (let count = 0; count < 8; count++) expect((await poll()).found).toEqual(['early'])
      for (let count = 0; count < 4; count++)
        await fixture.push(...Array.from({ length: 5_000 }, (_, index) => `${count} ${index % 50}`))
      const { found, rows } = await poll()
      expect(found).toHaveLength(10)
      // A plan that reads the topic, or all tasks of an identifier, would look at twenty thousand and more.
      expect(rows).toBeLessThan(5_000)
      await session.close()
    },
  )

  test('takes few of many blocked tasks off the list in one poll, and says that there is more', async () => {
    await fixture.nextTopic(singular)
    // Each of these external ids could exist already, so that each task is on the list.
    for (let count = 0; count < 12; count++)
      await fixture.push(...Array.from({ length: 500 }, (_, index) => ({ identifier: 'a', externalId: `${count} ${index}` })))
    const counts = async (): Promise<number> => {
      const [row] = await fixture.commit<readonly Record<string, unknown>[]>((transaction) =>
        fixture.subject.execute(
          transaction,
          sql`select count(*) as listed from taskstream.task t where t.topic = ${fixture.topic} and t.listed and t.state = 1`,
        ),
      )
      return Number(row?.['listed'])
    }
    const polled: string[] = []
    const listed = [await counts()]
    do {
      polled.push(...names(await fixture.poll(2)))
      listed.push(await counts())
    } while (fixture.tasks.found!(fixture.topic)!.more)
    expect(polled).toEqual(['a'])
    // The first poll also takes one of them.
    expect(Math.max(...listed.slice(1).map((left, index) => listed[index]! - left))).toBeLessThan(600)
    expect(listed.length).toBeGreaterThan(5)
  })

  test('refuses a transaction that sees only what was committed before it began', async () => {
    await fixture.nextTopic(singular)
    await fixture.push('a')
    const poll = fixture.commit(async (transaction) => {
      await fixture.subject.execute(transaction, raw('set transaction isolation level repeatable read'))
      return fixture.tasks.poll(transaction, fixture.topic)
    })
    await expect(poll).rejects.toMatchObject({ code: 'ISOLATION_UNSUPPORTED' })
    expect(names(await fixture.poll())).toEqual(['a'])
  })

  test('leaves a trigger on the table the search path that it has elsewhere', async () => {
    await fixture.nextTopic(singular)
    const execute = (text: string): Promise<unknown> =>
      fixture.commit((transaction) => fixture.subject.execute(transaction, raw(text)))
    for (const text of [
      'create table taskstream.taken (identifier text)',
      'grant insert, select on taskstream.taken to public',
      `create function taskstream.note_taken() returns trigger language plpgsql as $$ begin insert into taken values (new.identifier); return null; end $$`,
      `create trigger note_taken after update on taskstream.task for each row when (new.state = 0 and new.topic = '${fixture.topic}') execute function taskstream.note_taken()`,
    ])
      await execute(text)
    try {
      await fixture.push('a')
      const taken = await fixture.commit(async (transaction) => {
        await fixture.subject.execute(transaction, raw('set local search_path = taskstream'))
        await fixture.tasks.poll(transaction, fixture.topic)
        return [...(await fixture.subject.execute(transaction, raw('select identifier from taken')))]
      })
      expect(taken).toEqual([{ identifier: 'a' }])
    } finally {
      await execute('drop trigger note_taken on taskstream.task')
      await execute('drop function taskstream.note_taken()')
      await execute('drop table taskstream.taken')
    }
  })
})
