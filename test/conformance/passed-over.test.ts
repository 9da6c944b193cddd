/**
 * A poll does not keep tasks that it passed over because another transaction had locked them, however long the poll's own transaction lasts. The other
 * transaction goes on, and other polls get these tasks.
 */
import { pollConditions, pollHolds, pollOrders } from '@taskstream/task-api'
import type { HeldTask, PollHold, TopicOptions } from '@taskstream/task-api'
import { raw, sql } from '@taskstream/task-sql'
import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import { openFixture, whileTested } from '@taskstream/task-testing/suite'
import { watch } from '../properties/waiting.ts'
import { canRun, engine, isMysql } from '../subject.ts'
import type { Session } from '../subject.ts'

const kinds = pollOrders.flatMap((order) =>
  pollConditions
    .slice(0, order === 'shared' ? 1 : 2)
    .flatMap((condition) => pollHolds.map((hold) => ({ order, condition, hold }))),
)

describe.skipIf(!canRun)('a task that a poll has passed over', () => {
  const fixture = whileTested(() => openFixture(engine))
  const table = raw(isMysql ? 'task force index (primary)' : 'taskstream.task')
  let locker: Session
  let poller: Session
  let observer: Session
  beforeAll(async () => {
    locker = await fixture.subject.session()
    poller = await fixture.subject.session()
    observer = await fixture.subject.session()
  })
  afterEach(async () => {
    // The failure of one test must not fail the next one.
    await poller.rollback()
    await locker.rollback()
  })

  /** Opens two transactions: the first locks the first task of a topic, and then the second polls. */
  const passOver = async (options: TopicOptions, hold: PollHold): Promise<string[]> => {
    await fixture.nextTopic({ ...options, keyed: true })
    const pushed = await fixture.push(...(options.order === 'lifo' ? ['c', 'b', 'a'] : ['a', 'b', 'c']))
    const first = pushed.find(({ identifier }) => identifier === 'a')!.sequence
    await locker.begin()
    const which = sql`topic = ${fixture.topic} and sequence = ${first}`
    await fixture.subject.execute(locker.transaction, sql`select sequence from ${table} where ${which} for update`)
    await poller.begin()
    const batch = (await fixture.tasks.poll(poller.transaction, fixture.topic, { size: 1, hold })) as HeldTask[]
    return batch.map(({ identifier }) => identifier)
  }

  test.each(kinds)('is passed over however many there are: $order, $condition, for a $hold', async ({ hold, ...options }) => {
    await fixture.nextTopic(options)
    const identifiers = Array.from({ length: 251 }, (_, index) => `t${index}`)
    const pushed = await fixture.push(...identifiers)
    const { sequence, identifier } = options.order === 'lifo' ? pushed[0]! : pushed.at(-1)!
    await locker.begin()
    const which = sql`topic = ${fixture.topic} and sequence between ${pushed[0]!.sequence} and ${pushed.at(-1)!.sequence} and sequence <> ${sequence}`
    await fixture.subject.execute(locker.transaction, sql`select sequence from ${table} where ${which} for update`)
    await poller.begin()
    expect(await fixture.tasks.poll(poller.transaction, fixture.topic, { size: 1, hold })).toMatchObject([{ identifier }])
  })

  // Under a condition the poll keeps the identifier's lock stripe for as long as its transaction lasts.
  const free = kinds.filter(({ condition }) => condition === 'none')
  test.each(free)('is the next that others poll: $order, for a $hold', async ({ hold, ...options }) => {
    expect(await passOver(options, hold)).toEqual(['b'])
    await locker.rollback()
    // Where identifiers share, it is another one's turn for the poller.
    expect(await fixture.poll(1, await fixture.owner())).toMatchObject([{ identifier: 'a' }])
  })

  test.each(kinds)('is superseded without waiting: $order, $condition, for a $hold', async ({ hold, ...options }) => {
    expect(await passOver(options, hold)).toEqual(['b'])
    const waits = await watch(fixture.subject, locker, observer)
    const state = { isDone: false, hasWaited: false }
    const pushing = Promise.resolve(
      fixture.tasks.push(locker.transaction, fixture.topic, 'a', { insertion: 'supersede' }),
    ).finally(() => (state.isDone = true))
    pushing.catch(() => {})
    const look = async (): Promise<boolean> => state.isDone || (state.hasWaited = await waits())
    await expect.poll(look, { interval: 1 }).toBe(true)
    await poller.rollback()
    expect(await pushing).toMatchObject([{ superseded: 1 }])
    expect(state.hasWaited).toBe(false)
  })
})
