/** The tables of coordination are made by whoever may, and other programs' tables serve as they are. */
import { Leader } from '@taskstream/task-coordination'
import type { CoordinatedRepository } from '@taskstream/task-coordination'
import { raw } from '@taskstream/task-sql'
import { codeOf, thrownBy, whileTested } from '@taskstream/task-testing/suite'
import { describe, expect, test } from 'vitest'
import { canRun, engine, isMysql, openSubject } from '../subject.ts'
import type { AnyTransaction } from '../subject.ts'

describe.skipIf(!canRun)('the tables of coordination', () => {
  const fixture = whileTested(async () => {
    const subject = await openSubject()
    const repository = subject.tasks() as unknown as CoordinatedRepository<AnyTransaction>
    const { coordination } = repository
    const asOwner = <Result>(work: (transaction: AnyTransaction) => Result | Promise<Result>): Promise<Result> =>
      subject.owner.transactions<Result>(work)
    return { subject, repository, coordination, asOwner, [Symbol.asyncDispose]: () => subject[Symbol.asyncDispose]() }
  })
  const leaderOf = (createTables: boolean, livenessCheckIntervalMs = 60_000): Leader<AnyTransaction> =>
    new Leader<AnyTransaction>({
      repository: fixture.repository,
      transactions: fixture.subject.owner.transactions,
      groupId: 'group',
      createTables,
      livenessCheckIntervalMs,
      heartbeatIntervalMs: 100,
    })

  test('are missed by a node that does not make them', async () => {
    expect(await codeOf(() => leaderOf(false).start())).toBe('SCHEMA_MISSING')
    expect(await fixture.asOwner((transaction) => fixture.coordination.tables(transaction))).toMatchObject({ found: false })
  })

  test('are made once, by whoever comes first', async () => {
    const make = (): Promise<unknown> =>
      fixture.asOwner<unknown>((transaction) => fixture.coordination.createTables(transaction)).catch((error: unknown) => error)
    await Promise.all(Array.from({ length: Math.min(4, engine.connections) }, make))
    expect(await fixture.asOwner((transaction) => fixture.coordination.tables(transaction))).toEqual({
      found: true,
      isKeyed: true,
      idLength: 255,
      resolutionMs: 0,
    })
    await make()
  })

  test.skipIf(!isMysql)('with heartbeats in whole seconds are refused for short intervals', async () => {
    await fixture.asOwner(
      async (transaction) =>
        void (await fixture.subject.execute(transaction, raw('alter table health_check modify last_heartbeat timestamp'))),
    )
    expect(await thrownBy(() => leaderOf(false, 4_000).start())).toMatchObject({
      code: 'ARGUMENT_INVALID',
      data: { argument: 'livenessCheckIntervalMs', value: 4_000 },
    })
  })
})
