/** Pushes one task after the other, each until it is known to be committed: with its external id it is pushed once, however often that is tried. */
import { setTimeout as delay } from 'node:timers/promises'
import { limitTransactions } from '@taskstream/task-processor'
import { topic } from '../orders.ts'
import { beActor, openApplication, tell, tellError } from './application.ts'

/** As many pushes are under way at a time. */
const lines = 4
const pauseMs = 100

await beActor(async ({ access, statementTimeoutMs, answerMs, rate }) => {
  const { tasks, transactions, close } = openApplication(access, answerMs)
  const limited = limitTransactions(tasks, transactions, { statementTimeoutMs })
  const over = new AbortController()
  let keys = 0

  async function push(key: string): Promise<void> {
    for (;;) {
      const begun = Date.now()
      tell({ tells: 'pushing', key, at: begun })
      try {
        await limited((transaction) => tasks.push(transaction, topic, [{ identifier: key, input: key, externalId: key }]))
        return tell({ tells: 'pushed', key, begun, at: Date.now() })
      } catch (error) {
        tellError('push', error)
        await delay(pauseMs)
      }
    }
  }

  const work = Promise.all(
    Array.from({ length: lines }, async () => {
      while (!over.signal.aborted) {
        await push(`task-${keys++}`)
        await delay((1_000 * lines) / rate, undefined, { signal: over.signal }).catch(() => {})
      }
    }),
  )
  const rest = async (): Promise<void> => {
    over.abort()
    await work
  }
  return {
    rest,
    stop: async () => {
      await rest()
      await close()
    },
  }
})
