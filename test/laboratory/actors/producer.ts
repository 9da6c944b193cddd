/** Pushes tasks of several lines: in one transaction each, rolled back, within savepoints, and in two transactions that overlap. */
import { setTimeout as delay } from 'node:timers/promises'
import type { PushedTask } from '@taskstream/task-api'
import { raw } from '@taskstream/task-sql'
import type { AnyTransaction } from '../../subject.ts'
import { topics } from '../setting.ts'
import { beActor, insist } from './actor.ts'

const rolledBack = new Error('rolled back')

await beActor(async ({ orders, random, history, subject, transactions, tasks }) => {
  const repository = tasks()
  const fed = topics.filter((topic) => topic.fed)
  const over = new AbortController()
  let keys = 0
  const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)]!

  /** @param line the pushes of a line follow each other, so that their order can be judged */
  async function push(line: string, topic: (typeof topics)[number]): Promise<number> {
    const creations = Array.from({ length: 1 + Math.floor(random() * (random() < 0.05 ? 60 : 6)) }, () => ({
      identifier: `i${Math.floor(random() * 12)}`,
      priority: Math.floor(random() * 3),
      input: `${orders.actor}-${keys++}`,
      ...(!topic.strict && random() < 0.1 && { delayMs: 50 }),
      ...(!topic.strict && random() < 0.05 && { suspended: true }),
    }))
    const insertion = topic.strict || random() < 0.6 ? 'append' : pick(['supersede', 'replace', 'delete'] as const)
    const call = history.next()
    const dice = random()
    const isSavepoint = dice < 0.1
    const isRolledBack = dice > 0.92
    history.say({
      verb: 'push',
      call,
      phase: 'begun',
      topic: topic.name,
      line: `${orders.actor} ${line}`,
      // If older ones are deleted, only the last of each identifier is pushed at all.
      keys: [...(insertion === 'delete' ? new Map(creations.map((each) => [each.identifier, each])).values() : creations)].map(
        ({ input }) => input,
      ),
    })
    let isAsked = false
    try {
      const pushed = await transactions(async (transaction: AnyTransaction) => {
        isAsked = false
        if (isSavepoint) await withinSavepoint(transaction, topic.name)
        const done = (await repository.push(transaction, topic.name, creations, { insertion })) as PushedTask[]
        if (random() < 0.1) await delay(random() * 100)
        if (isRolledBack) throw rolledBack
        isAsked = true
        return done
      })
      // Creations that do not count have no task.
      const sequences = insertion === 'append' ? pushed.map(({ sequence }) => sequence) : []
      history.say({ verb: 'push', call, phase: 'done', sequences })
    } catch (error) {
      history.say({ verb: 'push', call, phase: isAsked && error !== rolledBack ? 'unknown' : 'failed' })
    }
    return creations.length
  }

  /** Pushes a task that is taken back by a rollback to a savepoint. */
  async function withinSavepoint(transaction: AnyTransaction, topic: string): Promise<void> {
    const run = (text: string): Promise<unknown> => subject.execute(transaction, raw(text))
    await run('savepoint laboratory')
    await repository.push(transaction, topic, [{ identifier: 'i0', input: `${orders.actor}-taken-back` }])
    await run('rollback to savepoint laboratory')
  }

  await insist(() => transactions((transaction: AnyTransaction) => repository.register(transaction) as Promise<boolean>))
  // On SQLite one transaction is open at a time.
  const lines = subject.writers === 1 ? ['a'] : ['a', 'b']
  const work = Promise.all(
    lines.map(async (line) => {
      while (!over.signal.aborted) {
        const count = await push(line, pick(fed))
        await delay((random() * 2_000 * count * lines.length) / orders.rate)
      }
    }),
  )
  return {
    owner: repository.owner,
    stop: async () => {
      over.abort()
      await work
      // Its connections may have been broken by a fault.
      await insist(() => transactions((transaction: AnyTransaction) => repository.unregister(transaction) as Promise<boolean>))
    },
  }
})
