/** PostgreSQL's sequence may be behind the rows and low watermarks of topics, as after a logical replica was promoted. `repair` moves it on. */
import type { PushedTask, Repair } from '@taskstream/task-api'
import { raw, sql } from '@taskstream/task-sql'
import type { Row, Statement } from '@taskstream/task-sql'
import type pg from 'pg'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { canRun, engine } from '../subject.ts'
import type { AnyTransaction, Session, Subject } from '../subject.ts'
import { testOn } from '../test-on.ts'
import { codeOf, names, openFixture } from '@taskstream/task-testing/suite'
import type { Fixture } from '@taskstream/task-testing/suite'

describe.skipIf(!canRun)('a sequence that has fallen back', () => {
  let fixture: Fixture<Subject>
  let other: Session
  beforeEach(async () => {
    fixture = await openFixture(engine)
    other = await fixture.subject.session(fixture.subject.owner)
  })
  afterEach(() => fixture[Symbol.asyncDispose]())

  const ask = (statement: Statement): Promise<readonly Row[]> =>
    fixture.commit((transaction) => fixture.subject.execute(transaction, statement))
  // Only the owner of the tables may move the sequence.
  const repair = (): Promise<Repair> =>
    fixture.subject.owner.transactions<Repair>((transaction) => fixture.tasks.repair(transaction))
  const sequencesOf = (tasks: readonly PushedTask[]): number[] => tasks.map(({ sequence }) => sequence)
  /** Makes three tasks, the last of which is numbered far beyond the sequence, and a low watermark that is still farther. */
  const fallBack = async (): Promise<void> => {
    await fixture.push('a', 'b', 'c')
    await ask(sql`update taskstream.task set sequence = 200000 where identifier = 'c'`)
    await ask(sql`update taskstream.task_topic set floor = 300000`)
  }

  test('is moved beyond all tasks and floors, once', async () => {
    await fallBack()
    expect(await repair()).toMatchObject({ topics: 1, sequence: 'moved', listed: 3 })
    expect(await repair()).toMatchObject({ sequence: 'ahead', listed: 0 })
    const [next] = await fixture.push('d')
    expect(next!.sequence).toBeGreaterThan(300_000)
    expect(names(await fixture.poll())).toEqual(['a', 'b', 'c', 'd'])
  })

  testOn(['postgres'])(
    'hides no push that is numbered below the floor, whenever it commits, and whether or not the sequence was moved since',
    async () => {
      await fixture.push('a')
      await fixture.complete(await fixture.poll())
      await ask(sql`update taskstream.task_topic set floor = 300000`)
      await other.begin()
      await fixture.tasks.push(other.transaction, fixture.topic, 'late')
      await fixture.push('b')
      expect(names(await fixture.poll(1))).toEqual(['b'])
      await repair()
      await fixture.push('c')
      expect(names(await fixture.poll(1))).toEqual(['c'])
      await other.commit()
      expect(names(await fixture.poll())).toEqual(['late'])
    },
  )

  test('is moved for good, and hides nothing, also where the transaction that moves it is rolled back', async () => {
    await fallBack()
    await fixture.push('d')
    await other.begin()
    await fixture.tasks.repair(other.transaction)
    await other.rollback()
    await fixture.push('e')
    expect(await repair()).toMatchObject({ sequence: 'ahead' })
    expect(names(await fixture.poll())).toEqual(['a', 'b', 'd', 'c', 'e'])
  })

  test('is moved by two at once without numbers that are drawn twice', async () => {
    await fallBack()
    await other.begin()
    const pushed = await fixture.push('d')
    await fixture.tasks.repair(other.transaction)
    pushed.push(...(await fixture.push('e', 'f')))
    const repairing = repair()
    pushed.push(...(await fixture.push('g')))
    await other.commit()
    await repairing
    pushed.push(...(await fixture.push('h')))
    expect(new Set(sequencesOf(pushed)).size).toBe(5)
    expect(names(await fixture.poll())).toEqual(['a', 'b', 'd', 'c', 'e', 'f', 'g', 'h'])
  })

  testOn(['postgres'])('is not moved by a user who may not, and that is said', async () => {
    await fallBack()
    await ask(raw('drop role if exists limited'))
    await ask(
      raw(`create role limited;
           grant usage on schema taskstream to limited;
           grant all on all tables in schema taskstream to limited;
           grant usage on all sequences in schema taskstream to limited;
           grant select on sequence taskstream.task_sequence, taskstream.task_turn_sequence to limited;
           grant limited to session_user`),
    )
    const asLimited = (): Promise<Repair> =>
      fixture.commit<Repair>(async (transaction: AnyTransaction) => {
        await (transaction as pg.PoolClient).query('set local role limited')
        return fixture.tasks.repair(transaction)
      })
    try {
      expect(await codeOf(asLimited)).toBe('PERMISSION_DENIED')
      await ask(raw('grant update on all sequences in schema taskstream to limited'))
      expect(await asLimited()).toMatchObject({ sequence: 'moved' })
    } finally {
      await ask(raw('drop owned by limited; drop role limited'))
    }
  })

  test('is that of notes too, which a completion would run into', async () => {
    await fixture.nextTopic({ condition: 'singular-by-identifier' })
    await fixture.push('a', 'b')
    const [first, second] = await fixture.poll(2)
    await fixture.complete([first!])
    await ask(raw(`select setval('taskstream.task_turn_sequence', 1, false)`))
    expect(await codeOf(() => fixture.complete([second!]))).toBe('SEQUENCE_BEHIND')
    await ask(raw(`select setval('taskstream.task_turn_sequence', 1, false)`))
    expect(await repair()).toMatchObject({ sequence: 'moved' })
    expect(await fixture.complete([second!])).toMatchObject({ lost: [] })
  })
})
