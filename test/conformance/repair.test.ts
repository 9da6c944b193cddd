/** Rows that came to be otherwise than through the verbs: saved and put back, set by hand, numbered elsewhere. */
import { TaskDecision } from '@taskstream/task-api'
import type { Expiry, HeldTask, PushedTask, Repair, TopicOptions } from '@taskstream/task-api'
import { raw, sql } from '@taskstream/task-sql'
import type { Statement } from '@taskstream/task-sql'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { canRun, isOracle, isPostgres, subjectName } from '../subject.ts'
import { testOn } from '../test-on.ts'
import { codeOf, names, openFixture } from './fixture.ts'
import type { Fixture } from './fixture.ts'

const nothing = { corrected: 0, listed: 0, noted: 0, held: 0, left: 0, sequence: 'ahead' }
const table = (name: string): Statement => raw(isPostgres ? `taskstream.${name}` : name)
const task = table('task')

/** Whatever is stored of a task, in every database. */
const columns =
  raw(`topic, sequence, identifier, state, descent, reason, listed, ranked, stage, priority, attempt, tries, max_tries,
  created, started, completed, due, deadline, owner, reference, external_id, headers, input, output`)

/** Each kind of topic, and the order in which the tasks a, b, a, c (of some priority), b are done. */
const kinds: readonly { readonly kind: string; readonly options?: TopicOptions; readonly order: string }[] = [
  { kind: 'plain', order: 'abacb' },
  { kind: 'keyed', options: { keyed: true }, order: 'abacb' },
  { kind: 'lifo', options: { order: 'lifo' }, order: 'bcaba' },
  { kind: 'by priority', options: { order: 'priority' }, order: 'cabab' },
  { kind: 'singular', options: { condition: 'singular-by-identifier' }, order: 'abacb' },
  {
    kind: 'singular until success, lifo',
    options: { condition: 'singular-by-identifier-suspend-until-success', order: 'lifo' },
    order: 'bcaba',
  },
]

describe.skipIf(!canRun)('repair', () => {
  let it: Fixture
  beforeAll(async () => {
    it = await openFixture()
    await run(sql`create table saved_task as select ${columns} from ${task} where 1 = 0`)
  })
  afterAll(() => it[Symbol.asyncDispose]())

  const run = (statement: Statement): Promise<unknown> => it.commit((transaction) => it.subject.execute(transaction, statement))
  const repair = (transactions = it.subject.transactions): Promise<Repair> =>
    transactions<Repair>((transaction) => it.tasks.repair(transaction, it.topic))
  const pushAll = (): Promise<unknown> => it.push('a', 'b', 'a', { identifier: 'c', priority: 5 }, 'b')
  /** Polls and completes one after the other, until nothing is found. */
  const workOff = async (tasks = it.tasks): Promise<string> => {
    const done: HeldTask[] = []
    for (let batch = await it.poll(1, tasks); batch.length > 0; batch = await it.poll(1, tasks)) {
      done.push(...batch)
      await it.complete(batch, TaskDecision.success(), tasks)
    }
    return names(done).join('')
  }
  const save = async (): Promise<void> => {
    await run(raw('delete from saved_task'))
    await run(sql`insert into saved_task select ${columns} from ${task} where topic = ${it.topic}`)
  }
  /** Rows whose stage or rank is another than it was saved, and ended ones that are still listed. */
  const differing = (): Promise<readonly unknown[]> =>
    it.commit((transaction) =>
      it.subject.execute(
        transaction,
        sql`select t.sequence
              from ${task} t, saved_task s
             where t.topic = ${it.topic} and s.sequence = t.sequence
               and (t.ranked <> s.ranked or coalesce(t.stage, -1) <> coalesce(s.stage, -1)
                    or t.state > 1 and t.listed = ${listedOf(true)})`,
      ),
    )
  const putBack = async (): Promise<void> => {
    await run(sql`delete from ${task} where topic = ${it.topic}`)
    await run(sql`insert into ${task} (${columns}) select ${columns} from saved_task`)
  }

  for (const { kind, options, order } of kinds) {
    describe(`of a topic that is ${kind}`, () => {
      beforeEach(() => it.nextTopic(options))

      test('changes nothing where nothing is wrong', async () => {
        expect(await repair()).toEqual({ topics: 1, ...nothing })
        await pushAll()
        await it.push('d', { identifier: 'e', delayMs: 60_000 }, { identifier: 'f', suspended: true })
        const [first, second, third] = await it.poll(3)
        await it.complete([first!], TaskDecision.failure('no'))
        await it.complete([second!], TaskDecision.retry({ afterMs: 60_000 }))
        const before = await it.page()
        expect(await repair()).toEqual({ topics: 1, ...nothing })
        expect(await it.page()).toEqual(before)
        expect(await it.complete([third!])).toMatchObject({ lost: [] })
      })

      test('has every process find what was made ready by hand, in order', async () => {
        const other = await it.owner()
        await pushAll()
        expect(await workOff()).toBe(order)
        // Each has learned what there is to learn.
        for (let count = 0; count < 3; count++) expect([await it.poll(), await it.poll(10, other)]).toEqual([[], []])
        await run(sql`update ${task} set state = 1, owner = null, completed = null where topic = ${it.topic}`)
        expect(await repair()).toMatchObject({ topics: 1, left: 0, sequence: 'ahead' })
        expect(await repair()).toEqual({ topics: 1, ...nothing })
        expect(await workOff(other)).toBe(order)
      })

      test('has every process find what was saved and put back, in order', async () => {
        const other = await it.owner()
        await pushAll()
        await save()
        expect(await workOff(other)).toBe(order)
        await putBack()
        expect(await repair()).toMatchObject({ topics: 1, left: 0, sequence: 'ahead' })
        expect(await repair()).toEqual({ topics: 1, ...nothing })
        expect(await workOff(other)).toBe(order)
      })

      test('has expiry find what dead owners held when it was saved', async () => {
        const other = await it.owner()
        await pushAll()
        const taken = await it.poll(2, other)
        await save()
        await it.complete(taken, TaskDecision.success(), other)
        await it.commit((transaction) => other.unregister(transaction))
        await putBack()
        if (isPostgres) await run(raw('delete from taskstream.task_holding'))
        expect((await repair()).held).toBe(isPostgres ? 2 : 0)
        expect(await repair()).toEqual({ topics: 1, ...nothing })
        const expiry = await it.commit<Expiry>((transaction) =>
          it.tasks.expire(transaction, { olderThanMs: 86_400_000, then: 'ready' }),
        )
        expect(expiry).toMatchObject({ ready: 2, topics: [it.topic] })
        expect(await workOff()).toBe(order)
      })

      test('puts right whatever rows say of themselves a second time', async () => {
        await pushAll()
        await it.push('d', 'e', { identifier: 'f', delayMs: 60_000 })
        const [done, held] = await it.poll(2)
        await it.complete([done!])
        await save()
        const before = await it.page()
        await run(
          sql`update ${task} set listed = ${listedOf(true)}, ranked = ${listedOf(true)}, stage = 4 where topic = ${it.topic}`,
        )
        expect((await repair()).corrected).toBeGreaterThan(0)
        expect(await repair()).toEqual({ topics: 1, ...nothing })
        expect(await differing()).toEqual([])
        await run(
          sql`update ${task} set listed = ${listedOf(false)}, ranked = ${listedOf(false)}, stage = null where topic = ${it.topic}`,
        )
        await repair()
        expect(await repair()).toEqual({ topics: 1, ...nothing })
        expect(await differing()).toEqual([])
        await run(sql`update ${task} set listed = ${listedOf(true)} where topic = ${it.topic} and state > 1`)
        expect((await repair()).corrected).toBe(2)
        expect(await differing()).toEqual([])
        expect(await it.page()).toEqual(before)
        expect(await it.complete([held!])).toMatchObject({ lost: [] })
        const rest = await workOff()
        expect([done!.identifier, held!.identifier, ...rest].toSorted().join('')).toBe('aabbcde')
      })
    })
  }

  test('finds the next task of an identifier whose obstacle was deleted by hand', async () => {
    await it.nextTopic({ condition: 'singular-by-identifier' })
    await it.push('a')
    await it.push('a')
    const [first] = await it.poll()
    // It has seen the second blocked, and will not look again until it is told.
    expect(await it.poll()).toEqual([])
    await run(sql`delete from ${task} where topic = ${it.topic} and sequence = ${first!.sequence}`)
    expect(await it.poll()).toEqual([])
    expect(await repair()).toEqual({ topics: 1, ...nothing, noted: 1 })
    expect(await repair()).toEqual({ topics: 1, ...nothing })
    expect(names(await it.poll())).toEqual(['a'])
  })

  test('finds what was made ready far below what every process has passed', async () => {
    await it.nextTopic()
    const other = await it.owner()
    const many = Array.from({ length: 1_000 }, (_, index) => `t${index}`)
    // PostgreSQL writes down from time to time below what nobody needs to look.
    for (let portion = 0; portion < 11; portion++) {
      await it.push(...many)
      await it.complete(await it.poll(1_000))
    }
    const passed = async (): Promise<number> => {
      expect(await it.poll()).toEqual([])
      if (!isPostgres) return Infinity
      const [row] = await it.commit((transaction) =>
        it.subject.execute(transaction, sql`select floor from taskstream.task_topic where topic = ${it.topic}`),
      )
      return Number(row!['floor'])
    }
    const [first] = await it.page()
    await expect.poll(passed).toBeGreaterThan(first!.sequence + 10)
    const wanted = [0, 1, 10].map((place) => first!.sequence + place)
    await run(
      sql`update ${task} set state = 1 where topic = ${it.topic} and sequence in (${wanted[0]!}, ${wanted[1]!}, ${wanted[2]!})`,
    )
    const listed = isPostgres ? 3 : 0
    expect(await repair()).toEqual({ topics: 1, ...nothing, corrected: listed, listed })
    expect(await repair()).toEqual({ topics: 1, ...nothing })
    expect((await it.poll(1)).map(({ sequence }) => sequence)).toEqual([wanted[0]])
    expect((await it.poll(5, other)).map(({ sequence }) => sequence)).toEqual(wanted.slice(1))
  })

  test('takes all topics where none is named, and no topic that there is not', async () => {
    await it.nextTopic({ order: 'lifo' })
    await it.push('a')
    await run(sql`update ${task} set listed = ${listedOf(false)} where topic = ${it.topic}`)
    const all = await it.commit<Repair>((transaction) => it.tasks.repair(transaction))
    expect(all).toMatchObject({ corrected: 1, listed: 1 })
    expect(all.topics).toBe((await it.commit<string[]>((transaction) => it.tasks.topics(transaction))).length)
    expect(names(await it.poll())).toEqual(['a'])
    expect(await codeOf(() => it.commit((transaction) => it.tasks.repair(transaction, 'none')))).toBe('TOPIC_UNKNOWN')
    expect(await codeOf(() => it.commit((transaction) => it.tasks.repair(transaction, '')))).toBe('ARGUMENT_INVALID')
  })

  testOn(['postgres', 'mariadb', 'mysql', 'oracle'])('passes over what others are working on, and says so', async () => {
    await it.nextTopic({ order: 'lifo' })
    await it.push('a', 'b')
    await run(sql`update ${task} set listed = ${listedOf(false)} where topic = ${it.topic}`)
    const [first] = await it.page()
    const session = await it.subject.session()
    await session.begin()
    await it.subject.execute(
      session.transaction,
      sql`select identifier from ${task} where topic = ${it.topic} and sequence = ${first!.sequence} for update`,
    )
    expect(await repair()).toEqual({ topics: 1, ...nothing, corrected: 1, listed: 1, left: 1 })
    await session.rollback()
    expect(await repair()).toEqual({ topics: 1, ...nothing, corrected: 1, listed: 1 })
    expect(names(await it.poll())).toEqual(['b', 'a'])
  })

  testOn(['postgres', 'mariadb', 'mysql', 'oracle'])(
    'tells polls of tasks that they saw blocked while it was at work',
    async () => {
      await it.nextTopic({ condition: 'singular-by-identifier' })
      await it.push('a')
      await it.complete(await it.poll())
      await it.push('a')
      // What has ended is taken for active.
      await run(sql`update ${task} set stage = 0 where topic = ${it.topic} and state = 6`)
      const session = await it.subject.session()
      await session.begin()
      expect(await it.tasks.repair(session.transaction, it.topic)).toMatchObject({ corrected: 1, noted: 1 })
      expect(await it.poll()).toEqual([])
      await session.commit()
      expect(names(await it.poll())).toEqual(['a'])
    },
  )

  test('moves the sequence ahead of tasks that were numbered elsewhere, which pushes would run into', async () => {
    // A database numbers rows itself, or draws from a sequence that knows nothing of them.
    const drawn = isPostgres || isOracle || subjectName === 'mariadb'
    for (const push of ['a', ['a', 'b'], { identifier: 'a', externalId: 'x' }, Array.from({ length: 30 }, () => 'a')]) {
      await it.nextTopic()
      const [pushed] = await it.push('z')
      await save()
      const next = pushed!.sequence + 1
      await run(sql`update saved_task set sequence = sequence + 1`)
      await run(sql`insert into ${task} (${columns}) select ${columns} from saved_task`)
      const pushAgain = (): Promise<PushedTask[]> =>
        it.commit<PushedTask[]>((transaction) => it.tasks.push(transaction, it.topic, push))
      if (drawn) expect(await codeOf(pushAgain)).toBe('SEQUENCE_BEHIND')
      // What failed has drawn numbers too.
      if (drawn) await run(sql`update ${task} set sequence = sequence + 10000 where topic = ${it.topic} and sequence = ${next}`)
      // Not every user may move it.
      expect((await repair(it.subject.owner.transactions)).sequence).toBe(drawn ? 'moved' : 'ahead')
      expect((await repair()).sequence).toBe('ahead')
      const [first] = await pushAgain()
      expect(first!.sequence).toBeGreaterThan(drawn ? next + 10_000 : next)
      expect(await it.poll()).toHaveLength([push].flat().length + 2)
    }
  })
})

function listedOf(value: boolean): Statement {
  return raw(isPostgres ? String(value) : value ? '1' : '0')
}
