/** Typed jobs: it pushes wholes that need their parts, and handles both. */
import { setTimeout as delay } from 'node:timers/promises'
import type { Execution } from '@taskstream/task-api'
import { sql } from '@taskstream/task-sql'
import { defineJob, exponential, json, many, Stream } from 'taskstream'
import type { AnyTransaction } from '../../subject.ts'
import { beActor, insist } from './actor.ts'

const retry = exponential({ tries: 1_000, firstMs: 10, maxMs: 200 })
const part = defineJob('part', { input: json<string>(), output: json<string>(), retry })
const whole = defineJob('whole', { input: json<string>(), needs: { parts: many(part) }, retry })

await beActor(async ({ orders, random, history, subject, transactions, tasks }) => {
  const repository = tasks()
  const stream = new Stream<AnyTransaction, Execution>({ repository, transactions }, { migrate: false, listener: {} })
  const effect = async (
    transaction: AnyTransaction,
    topic: string,
    id: string,
    attempt: number,
    input: string,
  ): Promise<void> => {
    if (random() < 0.05) throw new Error('made up')
    // A job without an id of its own is called by its sequence.
    await subject.execute(
      transaction,
      sql`insert into lab_effect (topic, sequence, attempt, task_key) values (${topic}, ${Number(id.slice(1))}, ${attempt}, ${JSON.stringify(input)})`,
    )
  }
  const options = { concurrency: 5, idleMs: 500 }
  stream.handle(
    part,
    ({ id, attempt, input, commit }) =>
      commit(async (transaction) => (await effect(transaction, 'part', id, attempt, input), input)),
    options,
  )
  stream.handle(
    whole,
    ({ id, attempt, input, commit }) => commit((transaction) => effect(transaction, 'whole', id, attempt, input)),
    options,
  )
  await insist(() => stream.start())

  const over = new AbortController()
  let keys = 0
  async function push(): Promise<void> {
    const name = `${orders.actor}-${keys++}`
    const parts = Array.from({ length: 1 + Math.floor(random() * 4) }, (_, index) => `${name}-part-${index}`)
    const needs = parts.map((each) => JSON.stringify(each))
    const [calls, said] = [[history.next(), history.next()], { verb: 'push', line: orders.actor } as const]
    history.say({ ...said, call: calls[0]!, phase: 'begun', topic: 'part', keys: needs })
    history.say({ ...said, call: calls[1]!, phase: 'begun', topic: 'whole', keys: [JSON.stringify(name)], needs })
    let isAsked = false
    const phase = await Promise.resolve(
      transactions(async (transaction: AnyTransaction) => {
        isAsked = false
        const pushed = await stream.pushMany(
          transaction,
          part,
          parts.map((each) => [each]),
        )
        await stream.push(transaction, whole, name, { needs: { parts: pushed } })
        isAsked = true
      }),
    ).then(
      () => 'done' as const,
      () => (isAsked ? ('unknown' as const) : ('failed' as const)),
    )
    for (const call of calls)
      history.say(phase === 'done' ? { verb: 'push', call, phase, sequences: [] } : { verb: 'push', call, phase })
  }
  const work = (async () => {
    while (!over.signal.aborted && orders.rate > 0) {
      await push()
      await delay((random() * 10_000) / orders.rate)
    }
  })()
  return {
    owner: repository.owner,
    rest: async () => {
      over.abort()
      await work
    },
    stop: async () => {
      over.abort()
      await work
      await stream.stop({ graceMs: 1_000, abortMs: 1_000, leaveMs: 5_000 })
    },
  }
})
