/** What a handler hears whose tasks others have taken or handed back, and one whose commit is shared with others. */
import { TaskError } from '@taskstream/task-api'
import { expect, test } from 'vitest'
import { LeasedBatch } from '../../packages/task-processor/src/batches/leased-batch.ts'
import { SharedCommits } from '../../packages/task-processor/src/batches/shared-commits.ts'
import type { BatchHandler } from '../../packages/task-processor/src/core/task-handler.ts'
import { answering, soon, tasksOf } from './answering.ts'
import { gone, make, settled, succeed } from './leased.ts'
import { ringingClock } from './ringing-clock.ts'

test('a handler whose tasks others have taken is asked to let go, unless it has asked for its completion', async () => {
  const taken = new TaskError('TASK_LOST', 'taken')
  const gate = Promise.withResolvers<void>()
  const seen: unknown[] = []
  const handler =
    (completes: boolean): BatchHandler<object> =>
    async (some, context) => {
      const completion = completes ? context.complete(() => gate.promise.then(() => succeed(some))) : undefined
      await gate.promise
      seen.push(context.aborted)
      await completion
    }
  const batches = [false, true].map((completes) => make(handler(completes)).batch)
  const over = batches.map((batch) => batch.begin())
  for (const batch of batches) batch.lose(taken)
  gate.resolve()
  await soon(Promise.all(over))
  expect(seen).toEqual([taken, undefined])
})

test('a handler that decides again of tasks that were handed back meanwhile has lost them', async () => {
  const made = make(
    async (some, { complete }) => {
      await complete(succeed(some)).catch(() => {})
      return succeed(some)
    },
    {
      answer: (verb) => {
        if (verb === 'complete') throw gone
      },
    },
  )
  const over = made.batch.begin()
  await settled()
  await soon(made.batch.handBack())
  await soon(over)
  expect([made.events().filter((name) => name !== 'onError' && name !== 'onRecovered'), made.batch.returned]).toEqual([
    ['onReturned', 'onLost'],
    made.tasks,
  ])
})

test('batches whose commits are shared hear of what is theirs, and it is told of each', async () => {
  const answers = answering()
  const clock = ringingClock()
  const gate = Promise.withResolvers<void>()
  const heard: unknown[] = []
  const names: string[] = []
  const environment = answers.handledBy(
    async (some, { complete }) => {
      const completion = await complete(async (_, held) => {
        names.push(some[0]!.identifier!)
        // Two are under way for long, so that the others come to share.
        if (names.length < 3) await gate.promise
        return succeed(held)
      })
      heard.push(completion)
    },
    { clock, commits: new SharedCommits({ ...answers.environment, clock }, 20) },
  )
  const tasks = tasksOf('abcd')
  const batches = tasks.map((task) => new LeasedBatch(environment, [task], false))
  const over = batches.map((batch) => batch.begin())
  await settled()
  expect(names).toEqual(['a', 'b'])
  gate.resolve()
  await soon(Promise.all(over))
  expect(answers.asked).toEqual(['complete a', 'complete b', 'complete c,d'])
  expect(heard).toEqual(tasks.map((task) => ({ completed: [task], lost: [] })))
  expect(answers.told.map(([name, { tasks: about }]) => [name, about])).toEqual(tasks.map((task) => ['onComplete', [task]]))
  expect(batches.map(({ finished, leased }) => [finished, leased])).toEqual(tasks.map((task) => [[task], []]))
})
