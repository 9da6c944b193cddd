/** `repair` corrects the sequence where rows were numbered elsewhere, so that pushes do not run into their numbers. */
import type { PushedTask, Repair } from '@taskstream/task-api'
import { raw, sql } from '@taskstream/task-sql'
import type { Statement } from '@taskstream/task-sql'
import { describe, expect, test } from 'vitest'
import { canRun, isOracle, isPostgres, subjectName, engine } from '../subject.ts'
import { codeOf, openFixture, whileTested } from '@taskstream/task-testing/suite'

const task = raw(isPostgres ? 'taskstream.task' : 'task')

/** The columns of a task that every database has, but for its number. */
const columns = raw(`topic, identifier, state, descent, reason, listed, ranked, stage, priority, attempt, tries, max_tries,
  created, started, completed, due, deadline, owner, reference, external_id, headers, input, output`)

describe.skipIf(!canRun)('repair', () => {
  const fixture = whileTested(() => openFixture(engine))

  const run = (statement: Statement): Promise<unknown> =>
    fixture.commit((transaction) => fixture.subject.execute(transaction, statement))
  const repair = (transactions = fixture.subject.transactions): Promise<Repair> =>
    transactions<Repair>((transaction) => fixture.tasks.repair(transaction, fixture.topic))
  /** Adds a copy of the only task, numbered by hand with the next number. */
  const numberByHand = async (): Promise<void> => {
    await run(
      sql`insert into ${task} (sequence, ${columns}) select sequence + 1, ${columns} from ${task} where topic = ${fixture.topic}`,
    )
  }

  test('moves the sequence ahead of tasks that were numbered elsewhere, which pushes would run into', async () => {
    // Some databases number rows by themselves. Others draw from a sequence, which knows nothing of these rows.
    const drawn = isPostgres || isOracle || subjectName === 'mariadb'
    for (const push of ['a', ['a', 'b'], { identifier: 'a', externalId: 'x' }, Array.from({ length: 30 }, () => 'a')]) {
      await fixture.nextTopic()
      const [pushed] = await fixture.push('z')
      const next = pushed!.sequence + 1
      await numberByHand()
      const pushAgain = (): Promise<PushedTask[]> =>
        fixture.commit<PushedTask[]>((transaction) => fixture.tasks.push(transaction, fixture.topic, push))
      if (drawn) expect(await codeOf(pushAgain)).toBe('SEQUENCE_BEHIND')
      // The failed push has drawn numbers too.
      if (drawn)
        await run(sql`update ${task} set sequence = sequence + 10000 where topic = ${fixture.topic} and sequence = ${next}`)
      // Only the owner of the tables may move the sequence.
      expect((await repair(fixture.subject.owner.transactions)).sequence).toBe(drawn ? 'moved' : 'ahead')
      expect((await repair()).sequence).toBe('ahead')
      const [first] = await pushAgain()
      expect(first!.sequence).toBeGreaterThan(drawn ? next + 10_000 : next)
      expect(await fixture.poll()).toHaveLength([push].flat().length + 2)
    }
  })

  test('moves the sequence ahead of a task whose number is the very next', async () => {
    await fixture.nextTopic()
    await fixture.push('z')
    await numberByHand()
    await repair(fixture.subject.owner.transactions)
    await fixture.push('a', 'b')
    expect(await fixture.poll(9)).toHaveLength(4)
  })
})
