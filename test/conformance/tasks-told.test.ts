/** Where the database can notify, listeners are told of tasks that may be polled now or later, and of nothing else. */
import type { PushedTask } from '@taskstream/task-api'
import { pgListener } from '@taskstream/task-sql/pg'
import { useFixture } from '@taskstream/task-testing/suite'
import pg from 'pg'
import { beforeEach, describe, expect, test } from 'vitest'
import { canRun, engine } from '../subject.ts'
import type { AnyTransaction } from '../subject.ts'

const aDay = 86_400_000

describe.skipIf(!canRun)('who listens for tasks', () => {
  const fixture = useFixture(engine, { topic: { keyed: true } })
  /** A task that waits for its time. */
  let waiting: PushedTask
  let aside: PushedTask
  beforeEach(async () => {
    const pushed = await fixture.push({ identifier: 'waiting', delayMs: aDay }, { identifier: 'aside', suspended: true })
    waiting = pushed[0]!
    aside = pushed[1]!
  })

  test.each<[isTold: boolean, what: string, work: (transaction: AnyTransaction, topic: string) => unknown]>([
    [true, 'of a push', (transaction, topic) => fixture.tasks.push(transaction, topic, 'a')],
    [
      true,
      'of a push that says more',
      (transaction, topic) => fixture.tasks.push(transaction, topic, { identifier: 'a', priority: 1 }),
    ],
    [
      true,
      'of a push of which some is to be polled later',
      (transaction, topic) =>
        fixture.tasks.push(transaction, topic, [
          { identifier: 'a', suspended: true },
          { identifier: 'b', delayMs: aDay },
        ]),
    ],
    [
      false,
      'of a push of which nothing is to be polled',
      (transaction, topic) => fixture.tasks.push(transaction, topic, { identifier: 'a', suspended: true }),
    ],
    [true, 'of a task that is reset', (transaction, topic) => fixture.tasks.recreate(transaction, topic, 'reset', [waiting])],
    [
      true,
      'of a task that is made anew',
      (transaction, topic) => fixture.tasks.recreate(transaction, topic, 'append', [waiting]),
    ],
    [true, 'of a redrive', (transaction, topic) => fixture.tasks.redrive(transaction, topic, { states: ['delayed'] })],
    [
      true,
      'of a task that is rescheduled',
      (transaction, topic) => fixture.tasks.reschedule(transaction, topic, waiting.sequence, { delayMs: 5 }),
    ],
    [
      false,
      'of a task that is not there to be rescheduled',
      (transaction, topic) => fixture.tasks.reschedule(transaction, topic, 0, { delayMs: 5 }),
    ],
    [true, 'of a junction', (transaction, topic) => fixture.tasks.junction(transaction, topic, 'singular', [['aside']])],
    [
      false,
      'of a junction at which nothing starts',
      (transaction, topic) => fixture.tasks.junction(transaction, topic, 'singular', [['other']]),
    ],
    [
      true,
      'of a task that needs others, which may have ended already',
      (transaction) => fixture.tasks.depend(transaction, aside, [{ need: 'x', on: waiting }]),
    ],
    [
      true,
      'of slots that are wanted and not to be had',
      async (transaction, topic) => {
        await fixture.tasks.limit(transaction, topic, { total: 1 })
        await fixture.tasks.takeSlots(transaction, topic, { held: 0, wanted: 2 })
      },
    ],
    [
      false,
      'of slots that are there',
      async (transaction, topic) => {
        await fixture.tasks.limit(transaction, topic, { total: 1 })
        await fixture.tasks.takeSlots(transaction, topic, { held: 0, wanted: 1 })
      },
    ],
    [false, 'of a task that is cancelled', (transaction, topic) => fixture.tasks.cancel(transaction, topic, waiting.sequence)],
    [false, 'of an activation', (transaction, topic) => fixture.tasks.deactivate(transaction, topic)],
  ])('is told (%s) %s', async (isTold, _, work) => {
    const told: (string | undefined)[] = []
    const after: (string | undefined)[] = []
    await using _listening = await pgListener(() => new pg.Client({ connectionString: fixture.subject.location.at })).listen({
      onTasks: (topic) => void told.push(topic),
      onActivation: (topic) => void after.push(topic),
    })
    const { topic } = fixture
    const later = `${topic}-later`
    await fixture.commit((transaction) => fixture.tasks.initialize(transaction, later))
    await fixture.commit((transaction) => work(transaction, topic))
    // What was committed before is told before.
    await fixture.commit((transaction) => fixture.tasks.deactivate(transaction, later))
    await expect.poll(() => after).toContain(later)
    expect(told).toEqual(isTold ? [topic] : [])
  })
})
