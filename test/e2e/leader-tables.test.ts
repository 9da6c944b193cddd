/** Tables that other programs have made, and that cannot keep who leads. */
import { Leader } from '@taskstream/task-coordination'
import type { CoordinatedRepository } from '@taskstream/task-coordination'
import { raw } from '@taskstream/task-sql'
import { describe, expect, test } from 'vitest'
import { canRun, engine, isMysql, openSubject } from '../subject.ts'
import type { AnyTransaction, Subject } from '../subject.ts'

const key = { token: 'primary key (group_id)', health: 'primary key (task_id, group_id)' }

async function make(
  subject: Subject,
  idLength: number,
  { token, health }: typeof key,
  instant = `timestamp${isMysql ? '(6)' : ''}`,
): Promise<void> {
  const id = `varchar(${idLength})`
  for (const definition of [
    `create table token_holder (group_id ${id}, task_id ${id}, term integer, ${token})`,
    `create table health_check (task_id ${id}, group_id ${id}, last_heartbeat ${instant}, ${health})`,
  ])
    await subject.transactions(async (transaction) => void (await subject.execute(transaction, raw(definition))))
}

async function started(subject: Subject, groupId: string, taskId: string, options = {}): Promise<unknown> {
  const repository = subject.tasks() as unknown as CoordinatedRepository<AnyTransaction>
  const node = new Leader<AnyTransaction>({ repository, transactions: subject.transactions, groupId, taskId, ...options })
  try {
    await node.start()
    return node.term
  } catch (error) {
    return error
  } finally {
    await node.stop()
  }
}

describe.skipIf(!canRun)('tables that somebody drops under a leader', () => {
  test.each([true, false])('are made again if it may make them: %s', async (createTables) => {
    await using subject = await openSubject()
    const repository = subject.tasks() as unknown as CoordinatedRepository<AnyTransaction>
    await make(subject, 255, key)
    const errors: unknown[] = []
    await using node = new Leader<AnyTransaction>({
      repository,
      transactions: subject.transactions,
      groupId: 'group',
      taskId: 'node',
      createTables,
      livenessCheckIntervalMs: 5_000,
      heartbeatIntervalMs: 100,
      listener: { onError: (error) => void errors.push(error) },
    })
    await node.start()
    expect(node.term).toBe(1)
    for (const table of ['token_holder', 'health_check'])
      await subject.transactions(async (transaction) => void (await subject.execute(transaction, raw(`drop table ${table}`))))
    await expect
      .poll(() => errors.slice(0, 1))
      .toMatchObject([{ code: 'SCHEMA_MISSING', message: expect.stringContaining('createTables') }])
    if (!createTables) return
    // Where the suite works with the least rights, somebody else has to make them.
    if (isMysql) await make(subject, 255, key)
    await expect.poll(() => node.term, { timeout: 20_000 }).toBe(2)
  })
})

describe.skipIf(!canRun)('nobody leads', () => {
  test.each([
    ['that of groups', { ...key, token: 'check (term > 0)' }],
    ['that of heartbeats', { ...key, health: "check (task_id <> '')" }],
  ])('where a key is missing: %s', async (_which, keys) => {
    await using subject = await openSubject()
    await make(subject, 255, keys)
    const outcome = await started(subject, 'group', 'node')
    expect(outcome).toBeInstanceOf(Error)
    if (isMysql) expect(outcome).toMatchObject({ code: 'SCHEMA_MISSING', message: expect.stringContaining('primary key') })
  })

  test.skipIf(engine.family === 'sqlite')('under an id that is longer than its column', async () => {
    await using subject = await openSubject()
    await make(subject, 10, key)
    expect(await started(subject, 'group', 'node')).toBe(1)
    for (const [groupId, taskId] of [
      ['group', 'x'.repeat(11)],
      ['x'.repeat(11), 'node'],
    ] as const) {
      const outcome = await started(subject, groupId, taskId)
      expect(outcome).toBeInstanceOf(Error)
      if (isMysql) expect(outcome).toMatchObject({ code: 'ARGUMENT_INVALID', message: expect.stringContaining('at most 10') })
    }
  })

  test.skipIf(engine.family === 'sqlite')(
    'who is to be followed within five seconds, where heartbeats have whole seconds',
    async () => {
      await using subject = await openSubject()
      await make(subject, 255, key, 'timestamp(0)')
      const outcome = await started(subject, 'group', 'node', { livenessCheckIntervalMs: 4_999, heartbeatIntervalMs: 100 })
      expect(outcome).toMatchObject({ code: 'ARGUMENT_INVALID', data: { argument: 'livenessCheckIntervalMs' } })
      expect(await started(subject, 'group', 'node', { livenessCheckIntervalMs: 5_000, heartbeatIntervalMs: 100 })).toBe(1)
    },
  )
})
