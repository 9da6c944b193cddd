/** A task that no longer waits is not due either. Otherwise a scheduler would be told for ever to look again for this task. */
import { TaskDecision } from '@taskstream/task-api'
import type { HeldTask, PromotedDue } from '@taskstream/task-api'
import { testClock } from '../test-clock.ts'
import { beforeEach, expect, test } from 'vitest'
import { useFixture } from './fixture.ts'
import { part } from './engine.ts'
import type { AnyTransaction, Part } from './engine.ts'

export const nothingDue: Part = part('nothing is due any more', (engine) => {
  const clock = testClock(new Date('2026-01-01T00:00:00.000Z'))
  const fixture = useFixture(engine, { clock: clock.now, topic: { keyed: true } })
  let retried: HeldTask
  beforeEach(async () => {
    await fixture.push('a')
    retried = (await fixture.poll(1))[0]!
    await fixture.complete([retried], TaskDecision.retry({ afterMs: 1_000 }).because('timeout'))
    expect(await release()).toEqual({ promoted: 0, nextDueMs: 1_000 })
  })

  const release = (): Promise<PromotedDue> =>
    fixture.commit<PromotedDue>((transaction) => fixture.tasks.promoteDue(transaction, fixture.topic))
  const verbs: Readonly<Record<string, (transaction: AnyTransaction, topic: string) => unknown>> = {
    'recreated: reset': (transaction, topic) => fixture.tasks.recreate(transaction, topic, 'reset', [retried]),
    'recreated: append': (transaction, topic) => fixture.tasks.recreate(transaction, topic, 'append', [retried]),
    'recreated: supersede': (transaction, topic) => fixture.tasks.recreate(transaction, topic, 'supersede', [retried]),
    'recreated: replace': (transaction, topic) => fixture.tasks.recreate(transaction, topic, 'replace', [retried]),
    'recreated by its state': (transaction, topic) => fixture.tasks.recreate(transaction, topic, 'append', { state: 'delayed' }),
    redriven: (transaction, topic) => fixture.tasks.redrive(transaction, topic, { states: ['delayed'] }),
    'given the result of success': (transaction, topic) =>
      fixture.tasks.reassign(transaction, topic, new Map([[retried, 'success' as const]])),
    'given the result of suspension': (transaction, topic) =>
      fixture.tasks.reassign(transaction, topic, new Map([[retried, 'suspension' as const]])),
    'given a result with all that are delayed': (transaction, topic) =>
      fixture.tasks.reassignAll(transaction, topic, { from: 'delayed', to: 'failure' }),
    cancelled: (transaction, topic) => fixture.tasks.cancel(transaction, topic, retried.sequence),
    'made ready': (transaction, topic) => fixture.tasks.reschedule(transaction, topic, retried.sequence, { delayMs: 0 }),
    superseded: (transaction, topic) => fixture.tasks.push(transaction, topic, 'a', { insertion: 'supersede' }),
    replaced: (transaction, topic) => fixture.tasks.push(transaction, topic, 'a', { insertion: 'replace' }),
    deleted: (transaction, topic) => fixture.tasks.push(transaction, topic, 'a', { insertion: 'delete' }),
    purged: (transaction, topic) => fixture.tasks.purge(transaction, topic, { states: ['delayed'] }),
    'purged with all there is': (transaction, topic) => fixture.tasks.purgeAll(transaction, topic),
  }

  test.each(Object.keys(verbs))('once what waited for a retry is %s', async (name) => {
    await fixture.commit<unknown>((transaction) => verbs[name]!(transaction, fixture.topic) as unknown)
    expect(await release()).toEqual({ promoted: 0 })
    const before = await fixture.page()
    expect(before.filter(({ state }) => state === 'suspended').map(({ due }) => due)).toEqual(
      name.includes('suspension') ? [undefined] : [],
    )
    clock.advance(1_000)
    expect(await release()).toEqual({ promoted: 0 })
    expect(await fixture.page()).toEqual(before)
  })

  test('once the last try is over', async () => {
    await fixture.nextTopic()
    await fixture.push({ identifier: 'a', maxTries: 1 })
    await fixture.complete(await fixture.poll(1), TaskDecision.retry({ afterMs: 0 }))
    expect(await release()).toEqual({ promoted: 0 })
  })

  test('for what is pushed suspended, whatever time is given with it', async () => {
    await fixture.nextTopic({ keyed: true })
    const due = new Date(clock.now().getTime() + 5)
    await fixture.push({ identifier: 'a', suspended: true, due }, { identifier: 'b', suspended: true, delayMs: 5 })
    await fixture.commit((transaction) =>
      fixture.tasks.push(transaction, fixture.topic, [{ identifier: 'c', due }, { identifier: 'c', delayMs: 5 }, 'c'], {
        insertion: 'replace',
      }),
    )
    clock.advance(1_000)
    expect(await release()).toEqual({ promoted: 0 })
    expect(await fixture.states()).toEqual({ suspended: 2, redundant: 2, ready: 1 })
  })
})
