/** Through every driver and library, each way in which a task ends or goes on is written, and answered in types that the library knows. */
import { TaskDecision } from '@taskstream/task-api'
import type { Completion, HeldTask, TaskInfo } from '@taskstream/task-api'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { OpenDriver } from '../drivers/driver.ts'
import { drivers } from '../drivers/of-engine.ts'
import { openDriver } from '../drivers/opened.ts'
import type { Opened } from '../drivers/opened.ts'
import { canRun } from '../subject.ts'
import type { Tasks } from '../subject.ts'

describe.skipIf(!canRun).each(drivers)('$name:', (driver) => {
  let opened: Opened
  let open: OpenDriver
  let tasks: Tasks
  beforeAll(async () => {
    opened = await openDriver(driver)
    ;({ open, tasks } = opened)
    await tasks.migrate(open.transactions)
    await open.transactions((transaction) => tasks.register(transaction))
  })
  afterAll(() => opened[Symbol.asyncDispose]())

  test.each([{}, { condition: 'singular-by-identifier' }, { order: 'priority', condition: 'singular-by-identifier' }] as const)(
    'whatever becomes of a task of a topic with %o is written, and answered',
    async (options) => {
      const topic = `ends ${JSON.stringify(options)}`
      const retries = [TaskDecision.retry({ afterMs: 0 }), TaskDecision.snooze({ afterMs: 0 })]
      const ends = [TaskDecision.success('done'), TaskDecision.failure(new Error('no')), TaskDecision.filter()]
      await open.transactions(async (transaction) => {
        await tasks.initialize(transaction, topic, options)
        await tasks.push(
          transaction,
          topic,
          ['a', 'b', 'c', 'd', 'a', 'b'].map((identifier) => ({ identifier })),
        )
      })
      const poll = async (): Promise<HeldTask> => {
        await open.transactions((transaction) => tasks.promoteDue(transaction, topic))
        const [task] = await open.transactions<HeldTask[]>((transaction) => tasks.poll(transaction, topic, { size: 1 }))
        return task!
      }
      const returned = await poll()
      await open.transactions((transaction) => tasks.handBack(transaction, topic, [returned]))
      for (const decision of [...retries, ...ends]) {
        const task = await poll()
        const done = await open.transactions<Completion>((transaction) =>
          tasks.complete(transaction, topic, new Map([[task, decision]]), { strict: true }),
        )
        expect(done.completed).toEqual([task])
      }
      const kept = await poll()
      await open.transactions((transaction) =>
        tasks.complete(transaction, topic, new Map([[kept, ends[0]!]]), { strict: true, discard: ['succeeded'] }),
      )
      const infos = await open.transactions<TaskInfo[]>(async (transaction) => {
        await tasks.promoteDue(transaction, topic)
        return tasks.page(transaction, topic)
      })
      expect(infos.map(({ state }) => state).toSorted()).toEqual(['failed', 'filtered', 'ready', 'ready', 'succeeded'])
    },
  )
})
