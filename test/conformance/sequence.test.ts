/** PostgreSQL's sequence behind the floors of topics: what a poll that sees this does. */
import type { Repair } from '@taskstream/task-api'
import { raw, sql } from '@taskstream/task-sql'
import type { Statement } from '@taskstream/task-sql'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { healSequence, isBehind } from '../../packages/task-sql/src/dialects/postgres-repair.ts'
import { tablesOf } from '../../packages/task-sql/src/schema/postgres-tables.ts'
import { canRun, subjectName } from '../subject.ts'
import type { AnyTransaction, Session } from '../subject.ts'
import { codeOf, names, openFixture } from './fixture.ts'
import type { Fixture } from './fixture.ts'

interface State {
  readonly floors: number[]
  /** Topics that wait for the sequence to be moved. */
  readonly marked: number
  readonly last: number
}

describe.skipIf(!canRun)('a sequence that is behind the floors of topics', () => {
  let it: Fixture
  let one: Session | undefined
  beforeEach(async () => {
    it = await openFixture()
    await it.nextTopic()
    await it.nextTopic()
    one = await it.subject.session()
  })
  afterEach(() => it[Symbol.asyncDispose]())

  const tables = tablesOf('taskstream', subjectName === 'postgres-partitioned')
  const heal = (transaction: AnyTransaction, floor?: number): Promise<void> =>
    it.tasks.verb(() => healSequence(tables, floor))(transaction) as Promise<void>
  const ask = (statement: Statement): Promise<readonly Record<string, unknown>[]> =>
    it.commit((transaction) => it.subject.execute(transaction, statement))
  const state = async (): Promise<State> => {
    const topics = await ask(raw('select floor, generation < 0 as marked from taskstream.task_topic order by topic'))
    const [sequence] = await ask(raw('select last_value from taskstream.task_sequence'))
    return {
      floors: topics.map(({ floor }) => Number(floor)),
      marked: topics.filter(({ marked }) => marked).length,
      last: Number(sequence!['last_value']),
    }
  }
  /** Tasks up to 3, the last of which is numbered far beyond the sequence; and one floor of three beyond it. */
  const fallBack = async (): Promise<void> => {
    await it.push('a', 'b', 'c')
    await ask(sql`update taskstream.task set sequence = 200000 where identifier = 'c'`)
    await ask(sql`update taskstream.task_topic set floor = 9000 where topic = 'topic-1'`)
    await ask(sql`update taskstream.task_topic set floor = 2 where topic = 'topic-2'`)
  }

  test('has those floors taken back, and is moved once that is committed', async () => {
    await fallBack()
    await it.commit(heal)
    expect(await state()).toEqual({ floors: [0, 2, 0], marked: 3, last: 3 })
    await it.commit(heal)
    const moved = await state()
    expect(moved).toMatchObject({ floors: [0, 2, 0], marked: 0 })
    expect(moved.last).toBeGreaterThan(200_000)
    expect(names(await it.poll())).toEqual(['a', 'b', 'c'])
    const [next] = await it.push('d')
    expect(next!.sequence).toBeGreaterThan(moved.last)
  })

  test('is not moved in the transaction that takes floors back, which may yet be rolled back', async () => {
    await fallBack()
    const before = await state()
    await one!.begin()
    for (let count = 0; count < 3; count++) await heal(one!.transaction)
    await one!.rollback()
    expect(await state()).toEqual(before)
    await one!.begin()
    for (let count = 0; count < 3; count++) await heal(one!.transaction)
    await one!.commit()
    expect(await state()).toEqual({ ...before, floors: [0, 2, 0], marked: 3 })
  })

  test('is known to have been behind until its move is committed', async () => {
    await fallBack()
    await it.commit(heal)
    await one!.begin()
    await heal(one!.transaction)
    await one!.rollback()
    const moved = await state()
    expect(moved).toMatchObject({ floors: [0, 2, 0], marked: 3 })
    expect(moved.last).toBeGreaterThan(200_000)
    await it.commit(heal)
    expect(await state()).toEqual({ ...moved, marked: 0 })
  })

  test('is healed by two at once, without waiting and without numbers that are drawn twice', async () => {
    await fallBack()
    await one!.begin()
    await heal(one!.transaction)
    // It finds every topic locked, and leaves them.
    await it.commit(heal)
    await one!.commit()
    expect(await state()).toMatchObject({ marked: 3, last: 3 })
    await one!.begin()
    await heal(one!.transaction)
    const drawn = await it.push('d', 'e')
    await it.commit(heal)
    drawn.push(...(await it.push('f', 'g')))
    await one!.commit()
    await it.commit(heal)
    drawn.push(...(await it.push('h')))
    expect(new Set(drawn.map(({ sequence }) => sequence)).size).toBe(5)
    expect(await state()).toMatchObject({ marked: 0 })
    expect(names(await it.poll())).toEqual(['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'])
  })

  test('takes back what it can while somebody persists the floor of another topic', async () => {
    await fallBack()
    await ask(sql`update taskstream.task_topic set floor = 9000 where topic = 'topic-2'`)
    await one!.begin()
    await it.subject.execute(one!.transaction, sql`update taskstream.task_topic set floor = 9500 where topic = 'topic-2'`)
    await it.commit(heal)
    expect(await state()).toEqual({ floors: [0, 9_000, 0], marked: 0, last: 3 })
    await one!.commit()
    await it.commit(heal)
    expect(await state()).toEqual({ floors: [0, 0, 0], marked: 3, last: 3 })
  })

  test('hides no task of a push that was numbered before, and commits long after', async () => {
    await fallBack()
    await one!.begin()
    await it.tasks.push(one!.transaction, it.topic, 'late')
    await it.commit(heal)
    await it.commit(heal)
    await it.push('d')
    const polled = names(await it.poll())
    for (let count = 0; count < 5; count++) expect(await it.poll()).toEqual([])
    await it.push('e')
    polled.push(...names(await it.poll()))
    expect(polled).toEqual(['a', 'b', 'c', 'd', 'e'])
    await one!.commit()
    expect(names(await it.poll())).toEqual(['late'])
  })

  test('is repaired in two transactions for the same reason, and in one where no floor is beyond it', async () => {
    const repair = (): Promise<Repair> => it.commit<Repair>((transaction) => it.tasks.repair(transaction))
    await fallBack()
    expect(await repair()).toMatchObject({ topics: 3, sequence: 'behind' })
    expect(await state()).toEqual({ floors: [0, 2, 0], marked: 3, last: 3 })
    expect(await repair()).toMatchObject({ sequence: 'moved', listed: 0 })
    expect(await state()).toMatchObject({ marked: 0 })
    expect(await repair()).toMatchObject({ sequence: 'ahead' })
    await ask(raw(`select setval('taskstream.task_sequence', 7, false)`))
    expect(await repair()).toMatchObject({ sequence: 'moved' })
  })

  test('is not moved by a user who may not: that is said, and a poll leaves it', async () => {
    await fallBack()
    await ask(raw('drop role if exists limited'))
    await ask(
      raw(`create role limited;
           grant usage on schema taskstream to limited;
           grant all on all tables in schema taskstream to limited;
           grant usage on all sequences in schema taskstream to limited;
           grant select on sequence taskstream.task_sequence to limited`),
    )
    const as = <Result>(work: (transaction: AnyTransaction) => Result | Promise<Result>): Promise<Result> =>
      it.commit<Result>(async (transaction) => {
        await it.subject.execute(transaction, raw('set local role limited'))
        return work(transaction)
      })
    try {
      expect(await as<Repair>((transaction) => it.tasks.repair(transaction))).toMatchObject({ sequence: 'behind' })
      const denied = await codeOf(() => as((transaction) => it.tasks.repair(transaction)))
      expect(denied).toBe('PERMISSION_DENIED')
      // Floors are taken back, and nobody asks again and again.
      await as((transaction) => heal(transaction))
      expect(await state()).toEqual({ floors: [0, 2, 0], marked: 0, last: 3 })
      await ask(raw('grant select, update on all sequences in schema taskstream to limited'))
      expect(await as<Repair>((transaction) => it.tasks.repair(transaction))).toMatchObject({ sequence: 'moved' })
    } finally {
      await ask(raw('drop owned by limited; drop role limited'))
    }
  })

  test('is that of notes too, which a completion would run into', async () => {
    await it.nextTopic({ condition: 'singular-by-identifier' })
    await it.push('a', 'b')
    const [first, second] = await it.poll(2)
    await it.complete([first!])
    await ask(raw(`select setval('taskstream.task_turn_sequence', 1, false)`))
    expect(await codeOf(() => it.complete([second!]))).toBe('SEQUENCE_BEHIND')
    await ask(raw(`select setval('taskstream.task_turn_sequence', 1, false)`))
    expect(await it.commit<Repair>((transaction) => it.tasks.repair(transaction))).toMatchObject({ sequence: 'moved' })
    expect(await it.complete([second!])).toMatchObject({ lost: [] })
  })

  test('has every process forget a floor that only one remembers, and is left alone where nothing is wrong', async () => {
    await it.push('a')
    const before = await state()
    await it.commit(heal)
    expect(await state()).toEqual(before)
    await it.commit((transaction) => heal(transaction, before.last + 1))
    expect(await state()).toEqual({ ...before, marked: 3 })
    await it.commit((transaction) => heal(transaction, before.last))
    expect(await state()).toEqual(before)
  })

  test('is told by what a poll is told', () => {
    expect(isBehind({ history: '5/1', floor: 7, bound: 7 })).toBe(false)
    expect(isBehind({ history: '5/1', floor: 8, bound: 7 })).toBe(true)
    expect(isBehind({ history: '-5/1', floor: 0, bound: 7 })).toBe(true)
  })
})
