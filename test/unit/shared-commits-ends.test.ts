/** What a transaction that several commits share does to the database, and how it is given up. */
import { TaskDecision, TaskError } from '@taskstream/task-api'
import type { HeldTask, TransactionSource } from '@taskstream/task-api'
import { describe, expect, test } from 'vitest'
import { SharedCommits } from '../../packages/task-processor/src/batches/shared-commits.ts'
import { Dispatcher } from '../../packages/task-processor/src/core/dispatcher.ts'
import { answering, namesOf, soon, tasksOf } from './answering.ts'
import { settled } from './leased.ts'

describe('a shared transaction', () => {
  /** Brings four commits over a database that answers as a test wants it to: two of them go alone, and two share. */
  function four({
    closesAbandoned = false,
    fails = false,
    discard,
  }: Partial<{ closesAbandoned: boolean; fails: boolean; discard: 'succeeded'[] }>) {
    const answers = answering()
    const asked: unknown[] = []
    const errors: unknown[] = []
    const timers = new Map<() => void, number>()
    const repository = {
      ...answers.environment.repository,
      limitStatements: async () => void asked.push('limit'),
      complete: async (_: object, topic: string, decisions: ReadonlyMap<HeldTask, TaskDecision>, options: unknown) => {
        asked.push([topic, namesOf(decisions.keys()), options])
        return { completed: [...decisions.keys()], lost: [] }
      },
    } as unknown as (typeof answers.environment)['repository']
    const transactions: TransactionSource<object> = Object.assign(
      (async (work) => {
        try {
          return await work({})
        } catch (error) {
          errors.push(error)
          throw error
        }
      }) as TransactionSource<object>,
      { closesAbandoned },
    )
    const dispatcher = new Dispatcher({ repository, transactions, statementTimeoutMs: 60_000 })
    const clock = {
      monotonicMs: () => 0,
      after: (ms: number, callback: () => void) => {
        timers.set(callback, ms)
        return () => void timers.delete(callback)
      },
    }
    const environment = { repository, dispatcher, topic: 'mail', clock, ...(discard && { discard }) }
    const shared = new SharedCommits<object>(environment, 20)
    const hangs = Promise.withResolvers<void>()
    let isFirst = true
    const bring = (): Promise<unknown>[] =>
      tasksOf('abcd').map((task) => {
        const decide = async (): Promise<Map<HeldTask, TaskDecision>> => {
          if (fails && task.identifier === 'd' && isFirst) {
            isFirst = false
            await hangs.promise
          }
          return new Map([[task, TaskDecision.success()]])
        }
        return shared.complete({ tasks: [task], decide }, async () => void (await shared.measured(decide)))
      })
    return { asked, bring, dispatcher, errors, hangs, timers }
  }

  test('completes as the topic does, and tells each commit what was decided', async () => {
    const plain = four({})
    const outcomes = await soon(Promise.all(plain.bring()))
    expect(plain.asked).toEqual([['mail', 'c,d', { strict: true }]])
    const [, , , d] = tasksOf('abcd')
    expect(outcomes[3]).toEqual({ decisions: new Map([[d, TaskDecision.success()]]), completion: { completed: [d], lost: [] } })
    const discarding = four({ discard: ['succeeded'] })
    await soon(Promise.all(discarding.bring()))
    expect(discarding.asked).toEqual([['mail', 'c,d', { strict: true, discard: ['succeeded'] }]])
  })

  test('limits no statement of the functions, though others took too long', async () => {
    const { asked, bring, dispatcher } = four({})
    const slow = new TaskError('DATABASE_BUSY', 'slow', { shortOf: 'time' })
    await expect(dispatcher.once(() => Promise.reject(slow))).rejects.toBe(slow)
    await soon(Promise.all(bring()))
    expect(asked).toEqual([['mail', 'c,d', { strict: true }]])
  })

  test('leaves no timer behind', async () => {
    const { bring, timers } = four({ closesAbandoned: true })
    await soon(Promise.all(bring()))
    expect([...timers.values()]).toEqual([])
  })

  test('that takes too long is given up with an error by which its connection is closed', async () => {
    const { bring, errors, hangs, timers } = four({ closesAbandoned: true, fails: true })
    const commits = bring()
    await settled()
    for (const [ring, ms] of timers) if (ms === 2_000) ring()
    await soon(Promise.all(commits))
    hangs.reject(new Error('its connection is closed'))
    await settled()
    expect(errors).toMatchObject([{ code: 'TRANSACTION_ABANDONED', data: { topic: 'mail' } }])
  })
})
