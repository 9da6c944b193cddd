/** A process is stopped in a transaction that handles a job, and is gone for longer than its lease: others have its slot when it comes back. */
import { fork } from 'node:child_process'
import type { Execution } from '@taskstream/task-api'
import { Stream } from 'taskstream'
import { describe, expect, test } from 'vitest'
import { canRun, engine, openSubject } from '../subject.ts'
import type { AnyTransaction } from '../subject.ts'
import { slept, sleptTimes } from './slots.ts'

// Where one transaction writes at a time, others wait for that of a stopped process.
describe.skipIf(!canRun || engine.writers === 1)(
  'a process that is stopped in a transaction, under a limit of all processes',
  () => {
    test.each(['as soon as it wakes', 'when it knows that it was away'])(
      'commits nothing that it decides %s, as others have its slot',
      { timeout: 60_000 },
      async (when) => {
        await using subject = await openSubject()
        const { transactions } = subject
        await using stream = new Stream<AnyTransaction, Execution>({ repository: subject.tasks(), transactions }, sleptTimes)
        await stream.prepare(slept)
        const sleeper = fork(new URL('slots-sleeper.ts', import.meta.url), [JSON.stringify(subject.location)], {
          execArgv: ['--conditions=@taskstream/source'],
        })
        const told: string[] = []
        sleeper.on('message', (message) => void told.push(String(message)))
        await stream.submit(slept, 0)
        await expect.poll(() => told).toEqual(['completed'])
        await stream.submit(slept, 1)
        await expect.poll(() => told).toEqual(['completed', 'handles'])
        await stream.submit(slept, 2)
        sleeper.kill('SIGSTOP')

        const gate = Promise.withResolvers<void>()
        let handles = 0
        stream.handle(slept, async ({ input }) => {
          handles = input
          await gate.promise
        })
        await stream.start()
        // The transaction of the stopped process has locked the first job.
        await expect.poll(() => handles).toBe(2)

        const isEarly = when === 'as soon as it wakes'
        if (isEarly) sleeper.send('go on')
        sleeper.kill('SIGCONT')
        await expect.poll(() => told).toContain('lost')
        if (!isEarly) sleeper.send('go on')
        await expect.poll(() => told.includes('returned') || told.lastIndexOf('completed') > 0).toBe(true)
        expect(told.filter((what) => what !== 'lost')).toEqual(['completed', 'handles', 'returned'])
        sleeper.kill('SIGKILL')
        gate.resolve()
      },
    )
  },
)
