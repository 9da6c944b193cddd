/** Destroying or emptying a topic leaves no row of the topic in any table, and every row of other topics. */
import { TaskDecision } from '@taskstream/task-api'
import type { Activation, FilterState } from '@taskstream/task-api'
import { raw, sql } from '@taskstream/task-sql'
import type { Row, Statement } from '@taskstream/task-sql'
import { beforeEach, describe, expect, test } from 'vitest'
import { canRun, isMysql, isOracle, isPostgres, engine } from '../subject.ts'
import { codeOf, names, openFixture, whileTested } from '@taskstream/task-testing/suite'

/**
 * Lists every table with a column for a topic, except two: timers wait until their topic is made again, and the audit says who has destroyed the topic.
 */
const tablesQuery = (): Statement => {
  if (isPostgres)
    return sql`
      select c.relname as name
        from pg_catalog.pg_class c
        join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attname = 'topic'
       where c.relnamespace = 'taskstream'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition`
  if (isMysql)
    return sql`
      select c.table_name as name
        from information_schema.columns c
       where c.table_schema = database() and c.column_name = 'topic'`
  return sql`
    select m.name
      from sqlite_master m
      join pragma_table_info(m.name) c on c.name = 'topic'
     where m.type = 'table'`
}

describe.skipIf(!canRun || isOracle)('a topic with tasks in every state, notes, locks and an activation', () => {
  const fixture = whileTested(() => openFixture(engine))
  /** Another topic with the same rows. */
  let other = ''
  beforeEach(async () => {
    await fill()
    other = fixture.topic
    await fill()
  })

  const execute = (statement: Statement): Promise<readonly Row[]> =>
    fixture.commit((transaction) => fixture.subject.execute(transaction, statement))
  /** Counts the rows of a topic in each table. */
  const rowsOf = async (topic: string): Promise<Record<string, number>> => {
    const tables = (await execute(tablesQuery())).map(({ name }) => String(name)).filter((name) => !/periodic|audit/.test(name))
    const counts: Record<string, number> = {}
    for (const name of tables.toSorted()) {
      const table = raw(isPostgres ? `taskstream.${name}` : name)
      const [row] = await execute(sql`select count(*) as count from ${table} where topic = ${topic}`)
      counts[name] = Number(row!['count'])
    }
    return counts
  }
  const fill = async (): Promise<void> => {
    await fixture.nextTopic({ condition: 'singular-by-identifier' })
    const { tasks, topic, commit } = fixture
    await commit((transaction) => tasks.deactivate(transaction, topic))
    await commit((transaction) => tasks.limit(transaction, topic, { total: 2 }))
    await commit((transaction) => tasks.takeSlots(transaction, topic, { held: 0, wanted: 1 }))
    await fixture.push('a', 'b', 'c', 'd', { identifier: 'aside', suspended: true }, { identifier: 'delayed', delayMs: 60_000 })
    const [a, b, c] = await fixture.poll(3)
    await fixture.complete([a!], TaskDecision.success().withValue('1'))
    await fixture.complete([b!], TaskDecision.failure())
    const [child] = await fixture.push({ identifier: 'child', suspended: true })
    await commit((transaction) => tasks.depend(transaction, child!, [{ need: 'x', on: c! }]))
    await commit((transaction) => tasks.recreate(transaction, topic, 'append', [a!]))
    await commit((transaction) => tasks.push(transaction, topic, 'd', { insertion: 'supersede' }))
    // A topic with a condition has no ranges of its own.
    if (isPostgres)
      await execute(sql`insert into taskstream.task_range (topic, lo, hi, given, state) values (${topic}, 1, 1, 0, 6)`)
  }
  const destroy = (): Promise<boolean> =>
    fixture.commit<boolean>((transaction) => fixture.tasks.destroy(transaction, fixture.topic))

  test('leaves no row in any table once it is destroyed, and another keeps all of its own', async () => {
    const [before, others] = [await rowsOf(fixture.topic), await rowsOf(other)]
    // Without rows in every table, the test would prove nothing.
    expect(Object.entries(before).filter(([, count]) => count === 0)).toEqual([])
    expect(Object.keys(before).length).toBeGreaterThanOrEqual(4)
    expect(await destroy()).toBe(true)
    expect(Object.entries(await rowsOf(fixture.topic)).filter(([, count]) => count > 0)).toEqual([])
    expect(await rowsOf(other)).toEqual(others)
    expect(await destroy()).toBe(false)
    expect(await codeOf(() => fixture.poll())).toBe('TOPIC_UNKNOWN')
  })

  test('is made again without anything of what it was', async () => {
    await destroy()
    await fixture.commit((transaction) => fixture.tasks.initialize(transaction, fixture.topic, { order: 'lifo' }))
    const activations = await fixture.commit<ReadonlyMap<string, Activation>>((transaction) =>
      fixture.tasks.activations(transaction),
    )
    expect([activations.has(fixture.topic), activations.has(other)]).toEqual([false, true])
    expect(await fixture.page()).toEqual([])
    await fixture.push('x', 'y')
    expect(names(await fixture.poll())).toEqual(['y', 'x'])
  })

  test('keeps nothing of the tasks that are purged, and all of the others', async () => {
    const others = await rowsOf(other)
    const { tasks, topic, commit } = fixture
    const purge = (states: readonly FilterState[]): Promise<number> =>
      commit<number>((transaction) => tasks.purge(transaction, topic, { states }))
    await purge(['recreated'])
    expect(await rowsOf(topic)).toMatchObject({ task_result: 0, task_attempt: 1 })
    await purge(['failed'])
    expect(await rowsOf(topic)).toMatchObject({ task_result: 0, task_attempt: 0 })
    expect(await rowsOf(other)).toEqual(others)
  })

  test('has no task and no note of one once it is emptied, and stays what it is', async () => {
    const others = await rowsOf(other)
    const count = (await fixture.page()).length
    expect(await fixture.commit((transaction) => fixture.tasks.purgeAll(transaction, fixture.topic))).toBe(count)
    expect(await rowsOf(fixture.topic)).toMatchObject({
      task: 0,
      task_attempt: 0,
      task_dependency: 0,
      task_result: 0,
      task_turn: 0,
      task_topic: 1,
      task_activation: 1,
    })
    expect(await rowsOf(other)).toEqual(others)
    await fixture.push('a', 'a')
    expect(names(await fixture.poll())).toEqual(['a'])
  })
})
