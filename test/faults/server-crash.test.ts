/** The server itself goes down in the middle of everything, and comes back. */
import { TaskDecision } from '@taskstream/task-api'
import type { FilterState, HeldTask, TaskCount } from '@taskstream/task-api'
import { TaskNode } from '@taskstream/task-processor'
import { raw, sql } from '@taskstream/task-sql'
import { describe, expect, test } from 'vitest'
import { startPostgres } from '../databases/postgres-server.ts'
import { openPostgres } from '../engines/postgres.ts'
import { canRun } from '../subject.ts'

describe.skipIf(!canRun)('a server that crashes', () => {
  test('loses no task of a node, and no effect is applied twice', async () => {
    await using server = await startPostgres({ durable: true })
    await using subject = await openPostgres(server.url)
    const tasks = subject.tasks()
    await tasks.migrate(subject.transactions)
    const identifiers = Array.from({ length: 3_000 }, (_, index) => `t${index}`)
    await subject.transactions(async (transaction) => {
      await tasks.initialize(transaction, 'work')
      await tasks.push(transaction, 'work', identifiers)
      await subject.execute(transaction, raw('create table effect (identifier text)'))
    })
    let completed = 0
    const conditions: string[] = []
    const node = new TaskNode({
      repository: tasks,
      transactions: subject.transactions,
      heartbeatIntervalMs: 100,
      leaseMs: 60_000,
      listener: {
        onComplete: ({ completion }) => (completed += completion.completed.length),
        onError: ({ activity }) => conditions.push(activity),
        onRecovered: ({ activity }) => conditions.push(`${activity} again`),
      },
    })
    node.process('work', {
      size: 20,
      // A failed completion is a failed batch, and is tried again.
      retry: () => 1,
      handler: async (_, { complete }) => {
        await complete(async (transaction, held) => {
          for (const { identifier } of held)
            await subject.execute(transaction, sql`insert into effect (identifier) values (${identifier})`)
          return new Map(held.map((task) => [task, TaskDecision.success()]))
        })
      },
    })
    await node.start()
    for (const moment of [300, 900, 1_700]) {
      await expect.poll(() => completed, { interval: 1, timeout: 30_000 }).toBeGreaterThan(moment)
      await server.crash()
    }
    const states = async (): Promise<Record<string, number>> => {
      type Counts = ReadonlyMap<string, ReadonlyMap<FilterState, TaskCount>>
      const counts = await subject.transactions<Counts>((transaction) => tasks.count(transaction))
      return Object.fromEntries([...(counts.get('work') ?? [])].map(([state, { count }]) => [state, count]))
    }
    await expect.poll(states, { interval: 50, timeout: 60_000 }).toEqual({ succeeded: identifiers.length })
    await node.stop()
    const effects = await subject.transactions((transaction) =>
      subject.execute(transaction, raw('select identifier from effect')),
    )
    expect(effects.map(({ identifier }) => String(identifier)).toSorted()).toEqual(identifiers.toSorted())
    // Which of its activities meet the server while it is down is left to chance; each is told of, and that it works again.
    const failed = new Set(conditions.filter((condition) => !condition.endsWith(' again')))
    expect(failed.size).toBeGreaterThan(0)
    expect(conditions).toEqual(expect.arrayContaining([...failed].map((activity) => `${activity} again`)))
  })

  test('takes back what it had not written yet, and the same repository finds it again', async () => {
    // A commit is answered long before it is on disk: the crash loses the last ones, polls and completions among them.
    await using server = await startPostgres({ durable: true, settings: { synchronous_commit: 'off', wal_writer_delay: '10s' } })
    await using subject = await openPostgres(server.url)
    const tasks = subject.tasks()
    await tasks.migrate(subject.transactions)
    await subject.transactions(async (transaction) => {
      await tasks.register(transaction)
      await tasks.initialize(transaction, 'work')
      await tasks.push(
        transaction,
        'work',
        Array.from({ length: 100 }, (_, index) => `t${index}`),
      )
    })
    const poll = (size: number): Promise<HeldTask[]> =>
      subject.transactions<HeldTask[]>((transaction) => tasks.poll(transaction, 'work', { size }))
    // Where this owner takes from is noted, and on disk.
    expect(await poll(1)).toHaveLength(1)
    await subject.transactions((transaction) =>
      subject.execute(transaction, raw('set local synchronous_commit = on; create table flushed ()')),
    )
    const before: string[] = []
    for (let batch = await poll(5); batch.length > 0; batch = await poll(5)) {
      before.push(...batch.map(({ identifier }) => identifier))
      await subject.transactions((transaction) =>
        tasks.complete(transaction, 'work', new Map(batch.map((task) => [task, TaskDecision.success()]))),
      )
    }
    expect(before).toHaveLength(99)
    // Whatever there is to learn of this topic is learned.
    for (let count = 0; count < 3; count++) expect(await poll(1)).toEqual([])
    await server.crash()
    const states = await subject.transactions<ReadonlyMap<string, ReadonlyMap<FilterState, TaskCount>>>((transaction) =>
      tasks.count(transaction),
    )
    const ready = states.get('work')?.get('ready')?.count ?? 0
    // Were nothing lost, this test would show nothing.
    expect(ready).toBeGreaterThan(0)
    expect(await poll(100)).toHaveLength(ready)
  })
})
