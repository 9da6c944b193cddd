/** `repair` corrects rows that were not written by the verbs: rows that were restored from a copy or set by hand. */
import { TaskDecision } from '@taskstream/task-api'
import type { Expiry, HeldTask, Repair, TopicOptions } from '@taskstream/task-api'
import { raw, sql } from '@taskstream/task-sql'
import type { Statement } from '@taskstream/task-sql'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { canRun, isPostgres, engine } from '../subject.ts'
import { testOn } from '../test-on.ts'
import { codeOf, names, openFixture, whileTested } from '@taskstream/task-testing/suite'

const nothing = { corrected: 0, listed: 0, noted: 0, held: 0, left: 0, sequence: 'ahead' }
const table = (name: string): Statement => raw(isPostgres ? `taskstream.${name}` : name)
const task = table('task')

/** The columns of a task that every database has. */
const columns =
  raw(`topic, sequence, identifier, state, descent, reason, listed, ranked, stage, priority, attempt, tries, max_tries,
  created, started, completed, due, deadline, owner, reference, external_id, headers, input, output`)

/** Each kind of topic, with the order in which its tasks a, b, a, c (with a priority), b are done. */
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
  const fixture = whileTested(() => openFixture(engine))
  beforeAll(async () => {
    await run(sql`create table saved_task as select ${columns} from ${task} where 1 = 0`)
  })

  const run = (statement: Statement): Promise<unknown> =>
    fixture.commit((transaction) => fixture.subject.execute(transaction, statement))
  /** Repairs the topic. A repair that waits for a lock fails, and does not wait for ever. */
  const repair = (transactions = fixture.subject.transactions): Promise<Repair> =>
    transactions<Repair>(async (transaction) => {
      await fixture.tasks.limitStatements(transaction, 20_000)
      return fixture.tasks.repair(transaction, fixture.topic)
    })
  /** How many rows of the topic another table has. */
  const countOf = async (name: string): Promise<number> => {
    const counting = sql`select count(*) as count from ${table(name)} where topic = ${fixture.topic}`
    const [row] = await fixture.commit((transaction) => fixture.subject.execute(transaction, counting))
    return Number(row!['count'])
  }
  const pushAll = (): Promise<unknown> => fixture.push('a', 'b', 'a', { identifier: 'c', priority: 5 }, 'b')
  /** Polls and completes one task after the other, until nothing is found. */
  const workOff = async (tasks = fixture.tasks): Promise<string> => {
    const done: HeldTask[] = []
    for (let batch = await fixture.poll(1, tasks); batch.length > 0; batch = await fixture.poll(1, tasks)) {
      done.push(...batch)
      await fixture.complete(batch, TaskDecision.success(), tasks)
    }
    return names(done).join('')
  }
  const save = async (): Promise<void> => {
    await run(raw('delete from saved_task'))
    await run(sql`insert into saved_task select ${columns} from ${task} where topic = ${fixture.topic}`)
  }
  /** Selects rows whose columns `stage` or `ranked` differ from the saved ones, and ended rows that are still listed. */
  const differing = (): Promise<readonly unknown[]> =>
    fixture.commit((transaction) =>
      fixture.subject.execute(
        transaction,
        sql`select t.sequence
              from ${task} t, saved_task s
             where t.topic = ${fixture.topic} and s.sequence = t.sequence
               and (t.ranked <> s.ranked or coalesce(t.stage, -1) <> coalesce(s.stage, -1)
                    or t.state > 1 and t.listed = ${listedOf(true)})`,
      ),
    )
  const putBack = async (): Promise<void> => {
    await run(sql`delete from ${task} where topic = ${fixture.topic}`)
    await run(sql`insert into ${task} (${columns}) select ${columns} from saved_task`)
  }

  for (const { kind, options, order } of kinds) {
    describe(`of a topic that is ${kind}`, () => {
      beforeEach(() => fixture.nextTopic(options))

      test('changes nothing where nothing is wrong', async () => {
        expect(await repair()).toEqual({ topics: 1, ...nothing })
        await pushAll()
        await fixture.push('d', { identifier: 'e', delayMs: 60_000 }, { identifier: 'f', suspended: true })
        const [first, second, third] = await fixture.poll(3)
        await fixture.complete([first!], TaskDecision.failure('no'))
        await fixture.complete([second!], TaskDecision.retry({ afterMs: 60_000 }))
        const before = await fixture.page()
        expect(await repair()).toEqual({ topics: 1, ...nothing })
        expect(await fixture.page()).toEqual(before)
        expect(await fixture.complete([third!])).toMatchObject({ lost: [] })
      })

      test('has every process find what was made ready by hand, in order', async () => {
        const other = await fixture.owner()
        await pushAll()
        expect(await workOff()).toBe(order)
        // After these polls both repositories have learned all they can.
        for (let count = 0; count < 3; count++) expect([await fixture.poll(), await fixture.poll(10, other)]).toEqual([[], []])
        for (const asked of [other, fixture.tasks]) {
          await run(sql`update ${task} set state = 1, owner = null, completed = null where topic = ${fixture.topic}`)
          expect(await repair()).toMatchObject({ topics: 1, left: 0, sequence: 'ahead' })
          expect(await repair()).toEqual({ topics: 1, ...nothing })
          expect(await workOff(asked)).toBe(order)
        }
      })

      test('has every process find what was saved and put back, in order', async () => {
        const other = await fixture.owner()
        await pushAll()
        await save()
        expect(await workOff(other)).toBe(order)
        for (const asked of [other, fixture.tasks]) {
          for (let count = 0; count < 3; count++) expect(await fixture.poll()).toEqual([])
          await putBack()
          expect(await repair()).toMatchObject({ topics: 1, left: 0, sequence: 'ahead' })
          expect(await repair()).toEqual({ topics: 1, ...nothing })
          expect(await workOff(asked)).toBe(order)
        }
      })

      test('has expiry find what dead owners held when it was saved', async () => {
        const other = await fixture.owner()
        await pushAll()
        const taken = await fixture.poll(2, other)
        await save()
        await fixture.complete(taken, TaskDecision.success(), other)
        await fixture.commit((transaction) => other.unregister(transaction))
        await putBack()
        if (isPostgres) await run(raw('delete from taskstream.task_holding'))
        // Ranges say by themselves who holds what.
        expect((await repair()).held).toBe(isPostgres && !(engine.outcomes && kind === 'plain') ? 2 : 0)
        expect(await repair()).toEqual({ topics: 1, ...nothing })
        const expiry = await fixture.commit<Expiry>((transaction) =>
          fixture.tasks.expire(transaction, { olderThanMs: 86_400_000, then: 'ready' }),
        )
        expect(expiry).toMatchObject({ ready: 2, topics: [fixture.topic] })
        expect(await workOff()).toBe(order)
      })

      test('puts right whatever rows say of themselves a second time', async () => {
        await pushAll()
        await fixture.push('d', 'e', { identifier: 'f', delayMs: 60_000 })
        const [done, held] = await fixture.poll(2)
        await fixture.complete([done!])
        await save()
        const before = await fixture.page()
        await run(
          sql`update ${task} set listed = ${listedOf(true)}, ranked = ${listedOf(true)}, stage = 4 where topic = ${fixture.topic}`,
        )
        expect((await repair()).corrected).toBeGreaterThan(0)
        expect(await repair()).toEqual({ topics: 1, ...nothing })
        expect(await differing()).toEqual([])
        await run(
          sql`update ${task} set listed = ${listedOf(false)}, ranked = ${listedOf(false)}, stage = null where topic = ${fixture.topic}`,
        )
        await repair()
        expect(await repair()).toEqual({ topics: 1, ...nothing })
        expect(await differing()).toEqual([])
        await run(sql`update ${task} set listed = ${listedOf(true)} where topic = ${fixture.topic} and state > 1`)
        expect((await repair()).corrected).toBe(2)
        expect(await differing()).toEqual([])
        expect(await fixture.page()).toEqual(before)
        expect(await fixture.complete([held!])).toMatchObject({ lost: [] })
        const rest = await workOff()
        expect([done!.identifier, held!.identifier, ...rest].toSorted().join('')).toBe('aabbcde')
      })
    })
  }

  test('finds the next task of an identifier whose obstacle was deleted by hand', async () => {
    await fixture.nextTopic({ condition: 'singular-by-identifier' })
    await fixture.push('a')
    await fixture.push('a')
    const [first] = await fixture.poll()
    // This poll sees that the second task is blocked. Later polls do not look again without a recheck.
    expect(await fixture.poll()).toEqual([])
    await run(sql`delete from ${task} where topic = ${fixture.topic} and sequence = ${first!.sequence}`)
    expect(await fixture.poll()).toEqual([])
    expect(await repair()).toEqual({ topics: 1, ...nothing, noted: 1 })
    expect(await repair()).toEqual({ topics: 1, ...nothing })
    expect(names(await fixture.poll())).toEqual(['a'])
  })

  // SQLite has one writer, and no lock stripes.
  testOn(['postgres', 'pglite', 'mariadb', 'mysql'])(
    'polls find tasks again whose topic was put back without its lock stripes',
    async () => {
      await fixture.nextTopic({ condition: 'singular-by-identifier' })
      await pushAll()
      await run(sql`delete from ${table('task_lane')} where topic = ${fixture.topic}`)
      expect(await workOff()).toBe('')
      await repair()
      expect(await workOff()).toBe('abacb')
    },
  )

  testOn(['postgres', 'pglite', 'mariadb', 'mysql'])(
    'makes lock stripes for topics that need them, and for no others',
    async () => {
      for (const keyed of [true, false]) {
        await fixture.nextTopic({ keyed })
        await run(sql`delete from ${table('task_lane')} where topic = ${fixture.topic}`)
        await repair()
        expect((await countOf('task_lane')) > 0).toBe(keyed)
      }
    },
  )

  test('finds what was made ready far below what every process has passed', async () => {
    await fixture.nextTopic()
    const other = await fixture.owner()
    const many = Array.from({ length: 1_000 }, (_, index) => `t${index}`)
    // PostgreSQL persists the low watermark only from time to time.
    for (let portion = 0; portion < 11; portion++) {
      await fixture.push(...many)
      await fixture.complete(await fixture.poll(1_000))
    }
    const passed = async (): Promise<number> => {
      expect(await fixture.poll()).toEqual([])
      if (!isPostgres || engine.outcomes) return Infinity
      const [row] = await fixture.commit((transaction) =>
        fixture.subject.execute(transaction, sql`select floor from taskstream.task_topic where topic = ${fixture.topic}`),
      )
      return Number(row!['floor'])
    }
    const [first] = await fixture.page()
    await expect.poll(passed).toBeGreaterThan(first!.sequence + 10)
    const wanted = [0, 1, 10].map((place) => first!.sequence + place)
    await run(
      sql`update ${task} set state = 1 where topic = ${fixture.topic} and sequence in (${wanted[0]!}, ${wanted[1]!}, ${wanted[2]!})`,
    )
    const listed = isPostgres ? 3 : 0
    expect(await repair()).toEqual({ topics: 1, ...nothing, corrected: listed, listed })
    expect(await repair()).toEqual({ topics: 1, ...nothing })
    expect((await fixture.poll(1)).map(({ sequence }) => sequence)).toEqual([wanted[0]])
    expect((await fixture.poll(5, other)).map(({ sequence }) => sequence)).toEqual(wanted.slice(1))
  })

  test('corrects more rows than a statement takes, and looks for each identifier once', async () => {
    // Identifiers in pairs: the rows of one statement and of the next share some.
    const many = Array.from({ length: 10_002 }, (_, index) => `i${index % 5_001}`)
    await fixture.nextTopic({ order: 'lifo' })
    await fixture.push(...many)
    await run(sql`update ${task} set listed = ${listedOf(false)} where topic = ${fixture.topic}`)
    expect(await repair()).toEqual({ topics: 1, ...nothing, corrected: 10_002, listed: 10_002 })
    await fixture.nextTopic({ condition: 'singular-by-identifier' })
    await fixture.push(...many)
    await run(sql`update ${task} set stage = 4, listed = ${listedOf(false)} where topic = ${fixture.topic}`)
    expect(await repair()).toEqual({ topics: 1, ...nothing, corrected: 10_002, noted: 5_001 })
    expect(await countOf('task_turn')).toBe(5_001)
    expect(await fixture.poll(10_000)).toHaveLength(5_001)
    await fixture.nextTopic({ condition: 'singular-by-identifier' })
    await fixture.push(...many.map((_, index) => `own ${index}`))
    await run(sql`update ${task} set listed = ${listedOf(false)} where topic = ${fixture.topic}`)
    expect(await repair()).toEqual({ topics: 1, ...nothing, noted: 10_002 })
    expect(await countOf('task_turn')).toBe(10_002)
    expect(await repair()).toEqual({ topics: 1, ...nothing })
    expect(await fixture.poll(10_000)).toHaveLength(10_000)
    expect(await fixture.poll()).toHaveLength(2)
  })

  test('takes all topics where none is named, and no topic that there is not', async () => {
    await fixture.nextTopic({ order: 'lifo' })
    await fixture.push('a')
    await run(sql`update ${task} set listed = ${listedOf(false)} where topic = ${fixture.topic}`)
    const all = await fixture.commit<Repair>((transaction) => fixture.tasks.repair(transaction))
    expect(all).toMatchObject({ corrected: 1, listed: 1 })
    expect(all.topics).toBe((await fixture.commit<string[]>((transaction) => fixture.tasks.topics(transaction))).length)
    expect(names(await fixture.poll())).toEqual(['a'])
    expect(await codeOf(() => fixture.commit((transaction) => fixture.tasks.repair(transaction, 'none')))).toBe('TOPIC_UNKNOWN')
    expect(await codeOf(() => fixture.commit((transaction) => fixture.tasks.repair(transaction, '')))).toBe('ARGUMENT_INVALID')
  })

  testOn(['postgres', 'mariadb', 'mysql', 'oracle'])('passes over what others are working on, and says so', async () => {
    await fixture.nextTopic({ order: 'lifo' })
    await fixture.push('a', 'b')
    await run(sql`update ${task} set listed = ${listedOf(false)} where topic = ${fixture.topic}`)
    const [first] = await fixture.page()
    const session = await fixture.subject.session()
    await session.begin()
    await fixture.subject.execute(
      session.transaction,
      sql`select identifier from ${task} where topic = ${fixture.topic} and sequence = ${first!.sequence} for update`,
    )
    expect(await repair()).toEqual({ topics: 1, ...nothing, corrected: 1, listed: 1, left: 1 })
    await session.rollback()
    expect(await repair()).toEqual({ topics: 1, ...nothing, corrected: 1, listed: 1 })
    expect(names(await fixture.poll())).toEqual(['b', 'a'])
  })

  testOn(['postgres', 'mariadb', 'mysql', 'oracle'])(
    'tells polls of tasks that they saw blocked while it was at work',
    async () => {
      await fixture.nextTopic({ condition: 'singular-by-identifier' })
      await fixture.push('a')
      await fixture.complete(await fixture.poll())
      await fixture.push('a')
      // A succeeded task now has the blocking class of an active one.
      await run(sql`update ${task} set stage = 0 where topic = ${fixture.topic} and state = 6`)
      const session = await fixture.subject.session()
      await session.begin()
      expect(await fixture.tasks.repair(session.transaction, fixture.topic)).toMatchObject({ corrected: 1, noted: 1 })
      expect(await fixture.poll()).toEqual([])
      await session.commit()
      expect(names(await fixture.poll())).toEqual(['a'])
    },
  )
})

function listedOf(value: boolean): Statement {
  return raw(isPostgres ? String(value) : value ? '1' : '0')
}
