/** A worker is stopped in its sleep, others do its tasks, and it wakes up: what it brings is refused. */
import { execFileSync, fork } from 'node:child_process'
import { once } from 'node:events'
import { TaskDecision } from '@taskstream/task-api'
import type { HeldTask } from '@taskstream/task-api'
import { raw, sql } from '@taskstream/task-sql'
import { describe, expect, test } from 'vitest'
import { canRun, openSubject, textColumn } from '../subject.ts'

describe.skipIf(!canRun)('a worker that sleeps through its lease', () => {
  test('finds that its tasks are no longer its own, and writes nothing', async () => {
    await using subject = await openSubject()
    const tasks = subject.tasks()
    await subject.transactions(async (transaction) => {
      await tasks.register(transaction)
      await tasks.initialize(transaction, 'work')
      await tasks.push(transaction, 'work', ['a', 'b'])
      await subject.execute(transaction, sql`create table effect (identifier ${textColumn})`)
    })
    const sleeper = fork(new URL('sleeper.ts', import.meta.url), [JSON.stringify(subject.location)], {
      execArgv: ['--conditions=@taskstream/source'],
    })
    const [{ owner, holds }] = (await once(sleeper, 'message')) as [{ owner: string; holds: number }]
    expect(holds).toBe(2)
    sleeper.kill('SIGSTOP')
    const state = (): string => execFileSync('ps', ['-o', 'stat=', '-p', String(sleeper.pid)], { encoding: 'utf8' })
    await expect.poll(state).toMatch(/^T/)

    const owners = raw(subject.engine === 'postgres' ? 'taskstream.task_owner' : 'task_owner')
    await subject.transactions(async (transaction) => {
      await subject.execute(transaction, sql`delete from ${owners} where owner = ${owner}`)
      expect(await tasks.expire(transaction, { olderThanMs: 1_000_000, then: 'ready' })).toMatchObject({ ready: 2 })
      const batch = (await tasks.poll(transaction, 'work', { size: 2 })) as HeldTask[]
      for (const { identifier } of batch)
        await subject.execute(transaction, sql`insert into effect (identifier) values (${identifier})`)
      await tasks.complete(transaction, 'work', new Map(batch.map((task) => [task, TaskDecision.success('ours')])))
    })

    // It has slept through all of that.
    expect(state()).toMatch(/^T/)
    const reported = once(sleeper, 'message')
    // A process may have exited before its last message is read. It closes after that.
    const closed = once(sleeper, 'close')
    sleeper.kill('SIGCONT')
    sleeper.send('go on')
    const [report] = await reported
    await closed
    expect(report).toEqual({ held: 0, lost: 2, completed: 0, refused: 2 })
    const effects = await subject.transactions((transaction) =>
      subject.execute(transaction, sql`select identifier from effect order by identifier`),
    )
    expect(effects).toEqual([{ identifier: 'a' }, { identifier: 'b' }])
  })
})
