/** Rows that other programs and people have left in the tables of coordination hold no group up. */
import { raw, sql } from '@taskstream/task-sql'
import { describe, expect, test } from 'vitest'
import { canRun, engine, isMysql } from '../subject.ts'
import { useLeaderFixture } from './leader-fixture.ts'
import type { TestedLeader, TestedLeaderOptions } from './leader-fixture.ts'

describe.skipIf(!canRun)('a node takes over', () => {
  const fixture = useLeaderFixture()
  const quick: TestedLeaderOptions = { livenessCheckIntervalMs: 500, heartbeatIntervalMs: 50 }
  /** Rows of a leader that is dead. */
  const leave = async (taskId: string | null, term: number | null, heartbeat = raw('current_timestamp')): Promise<void> => {
    const { groupId } = fixture
    await fixture.execute(sql`insert into token_holder (group_id, task_id, term) values (${groupId}, ${taskId}, ${term})`)
    if (taskId !== null)
      await fixture.execute(
        sql`insert into health_check (task_id, group_id, last_heartbeat) values (${taskId}, ${groupId}, ${heartbeat})`,
      )
  }
  const started = async (options: TestedLeaderOptions = {}): Promise<TestedLeader> => {
    const node = fixture.node({ ...quick, ...options })
    await node.start()
    return node
  }

  test.each(['NODE', 'node '])('from "%s" as "node", which a column that folds ids takes for the same', async (former) => {
    await leave(former, 3)
    const node = await started({ taskId: 'node' })
    await expect.poll(() => node.term, { timeout: 5_000 }).toBe(4)
    expect(await node.transaction(() => 'committed')).toBe('committed')
    await node.stop()
  })

  test('from a leader whose heartbeat is null', async () => {
    await leave('dead', 3, raw('null'))
    const node = await started()
    await expect.poll(() => node.term, { timeout: 5_000 }).toBe(4)
    await node.stop()
  })

  test('from nobody, in a row whose columns are null', async () => {
    await leave(null, null)
    const node = await started()
    await expect.poll(() => node.term, { timeout: 5_000 }).toBe(1)
    await node.stop()
  })

  test.skipIf(engine.connections < 2 || engine.writers < 2)(
    'from nobody as long as a session has the row locked, and says so',
    async () => {
      await leave('dead', 3)
      const locked = Promise.withResolvers<void>()
      const goOn = Promise.withResolvers<void>()
      const { groupId } = fixture
      const locking = fixture.transactions(async (transaction) => {
        await fixture.subject.execute(transaction, sql`select 1 from token_holder where group_id = ${groupId} for update`)
        locked.resolve()
        await goOn.promise
      })
      await locked.promise
      const events: unknown[] = []
      const node = await started({
        listener: { onError: (error) => events.push(error), onRecovered: () => events.push('recovered') },
      })
      await expect
        .poll(() => events, { timeout: 10_000 })
        .toMatchObject([{ code: 'DATABASE_BUSY', message: expect.stringContaining(groupId), data: { shortOf: 'lock', groupId } }])
      goOn.resolve()
      await locking
      await expect.poll(() => [node.term, events[1]], { timeout: 10_000 }).toEqual([4, 'recovered'])
      await node.stop()
    },
  )

  test('in no group that the database takes for another one', async () => {
    await leave('dead', 5)
    const groupId = fixture.groupId.toUpperCase()
    const node = fixture.node({ ...quick, groupId })
    const outcome = await node.start().then(
      () => node.term,
      (error: unknown) => error,
    )
    if (isMysql) expect(outcome).toMatchObject({ code: 'ARGUMENT_INVALID', data: { argument: 'groupId', value: groupId } })
    else expect(outcome).toBe(1)
    await node.stop()
  })
})
