/** Does to one topic all that an operator can do, pauses any topic, and looks at all of them. */
import { setTimeout as delay } from 'node:timers/promises'
import type { AnyTransaction } from '../../subject.ts'
import { leaseMs, topics } from '../setting.ts'
import { beActor, insist } from './actor.ts'

await beActor(async ({ random, transactions, tasks, subject }) => {
  const repository = tasks()
  const topic = 'operated'
  const over = new AbortController()
  const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)]!
  const states = ['failed', 'suspended', 'delayed', 'succeeded', 'expired'] as const
  const acts: readonly ((transaction: AnyTransaction) => unknown)[] = [
    (transaction) => repository.recreate(transaction, topic, 'reset', { state: pick(states), size: 3 }),
    (transaction) =>
      repository.recreate(transaction, topic, pick(['append', 'supersede', 'replace'] as const), {
        state: pick(states),
        size: 3,
      }),
    (transaction) => repository.redrive(transaction, topic, { limit: 5 }),
    (transaction) => repository.purge(transaction, topic, { limit: 20 }),
    (transaction) => repository.promoteDue(transaction, topic),
    (transaction) => repository.repair(transaction, pick(topics).name),
    (transaction) => repository.expire(transaction, { olderThanMs: 3 * leaseMs, then: 'ready' }),
    (transaction) => repository.count(transaction),
    (transaction) => repository.page(transaction, pick(topics).name, { size: 100 }),
  ]
  async function pause(): Promise<void> {
    const { name } = pick(topics)
    await transactions((transaction: AnyTransaction) => repository.deactivate(transaction, name) as Promise<boolean>)
    await delay(random() * 1_000)
    await insist(() => transactions((transaction: AnyTransaction) => repository.activate(transaction, name) as Promise<boolean>))
  }

  await insist(() => transactions((transaction: AnyTransaction) => repository.register(transaction) as Promise<boolean>))
  const work = (async () => {
    while (!over.signal.aborted) {
      const dice = random()
      const act =
        dice < 0.05
          ? pause()
          : dice < 0.06
            ? repository.migrate(subject.transactions)
            : transactions(async (transaction: AnyTransaction) => void (await pick(acts)(transaction)))
      await Promise.resolve(act).catch(() => {})
      await delay(random() * 200)
    }
  })()
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
