/** Handlers are asked to let go when all of their tasks were taken away, and nobody is asked about those that are quick. */
import { TaskError } from '@taskstream/task-api'
import type { Execution, HeldTask, TaskRepository } from '@taskstream/task-api'
import { describe, expect, test } from 'vitest'
import { Dispatcher } from '../../packages/task-processor/src/core/dispatcher.ts'
import { TakenAway } from '../../packages/task-processor/src/worker/taken-away.ts'
import type { Batch } from '../../packages/task-processor/src/batches/batch.ts'
import { namesOf, soon, tasksOf } from './answering.ts'
import { make, settled, succeed } from './leased.ts'

describe('a look at held batches', () => {
  const repositoryThat = (lost: (topic: string, tasks: readonly HeldTask[]) => readonly HeldTask[]) => {
    const asked: string[] = []
    const repository = {
      limitStatements: async () => {},
      lost: async (_: object, topic: string, tasks: Iterable<HeldTask>) => {
        asked.push(`${topic}: ${namesOf([...tasks])}`)
        return lost(topic, [...tasks])
      },
    } as unknown as TaskRepository<object, Execution>
    const dispatcher = new Dispatcher<object>({ repository, transactions: async (work) => work({}), statementTimeoutMs: 60_000 })
    return { asked, repository, dispatcher }
  }
  const known = tasksOf('abcdef')
  const held = (names: string, isLeased = true): Batch & { readonly told: TaskError[] } => {
    const told: TaskError[] = []
    const tasks = known.filter(({ identifier }) => names.includes(identifier))
    return { isLeased, tasks, leased: tasks, lose: (reason: TaskError) => void told.push(reason), told } as unknown as Batch & {
      readonly told: TaskError[]
    }
  }

  test('asks about the leased ones that the last look has seen, topic by topic', async () => {
    const { asked, ...options } = repositoryThat(() => [])
    const [a, b, locked] = [held('a'), held('bc'), held('d', false)]
    const holders = [
      { topic: 'mail', batches: new Set([a, b, locked]) },
      { topic: 'idle', batches: new Set<Batch>() },
      { topic: 'print', batches: new Set([held('e')]) },
    ]
    const taken = new TakenAway<object>({ ...options, holders: () => holders })
    await taken.look()
    expect(asked).toEqual([])
    holders[0]!.batches.delete(a)
    holders[0]!.batches.add(held('f'))
    await taken.look()
    expect(asked).toEqual(['mail: b,c', 'print: e'])
    expect([...a.told, ...b.told, ...locked.told]).toEqual([])
  })

  test('asks about no more tasks at a time than a verb takes', async () => {
    const counts: number[] = []
    const options = repositoryThat((_, tasks) => {
      counts.push(tasks.length)
      return []
    })
    const sized = (size: number): Batch => {
      const tasks = Array.from({ length: size }, (_, sequence) => ({ ...tasksOf('a')[0]!, sequence }))
      return { isLeased: true, tasks, leased: tasks } as unknown as Batch
    }
    const batches = [10_000, 1, 1, 9_998, 1, 4_000, 6_000].map(sized)
    const taken = new TakenAway<object>({ ...options, holders: () => [{ topic: 'mail', batches }] })
    await taken.look()
    await taken.look()
    expect(counts).toEqual([10_000, 10_000, 4_001, 6_000])
  })

  test('asks those to let go that have lost everything, and nobody else', async () => {
    const { repository, dispatcher } = repositoryThat((_, tasks) => tasks.filter(({ identifier }) => 'abc'.includes(identifier)))
    const [both, one, none] = [held('ab'), held('cd'), held('e')]
    const taken = new TakenAway<object>({
      repository,
      dispatcher,
      holders: () => [{ topic: 'mail', batches: [both, one, none] }],
    })
    await taken.look()
    await taken.look()
    expect(both.told).toMatchObject([{ code: 'TASK_LOST', data: { lost: both.leased } }])
    expect([one.told, none.told]).toEqual([[], []])
  })

  test('asks the former of two attempts at one task to let go, and not the present one', async () => {
    const former = held('a')
    const { repository, dispatcher } = repositoryThat((_, tasks) => tasks.filter((task) => task === former.leased[0]))
    const present = { ...held('a'), leased: former.leased.map((task) => ({ ...task, attempt: task.attempt + 1 })) }
    const taken = new TakenAway<object>({
      repository,
      dispatcher,
      holders: () => [{ topic: 'mail', batches: [former, present] }],
    })
    await taken.look()
    await taken.look()
    expect([former.told.length, present.told.length]).toEqual([1, 0])
  })

  test('asks nothing about what a batch no longer holds, and tells it nothing', async () => {
    const { asked, ...options } = repositoryThat((_, tasks) => {
      leased = []
      return tasks
    })
    let leased = tasksOf('a')
    const told: unknown[] = []
    const ending = { isLeased: true, tasks: leased, lose: (reason: unknown) => told.push(reason) } as unknown as Batch
    Object.defineProperty(ending, 'leased', { get: () => leased })
    const taken = new TakenAway<object>({ ...options, holders: () => [{ topic: 'mail', batches: [ending] }] })
    for (let look = 0; look < 3; look++) await taken.look()
    expect([asked, told]).toEqual([['mail: a'], []])
  })
})

describe('a batch whose tasks were taken away', () => {
  const lost = new TaskError('TASK_LOST', 'cancelled')

  test('asks its handler to let go, and reports what is lost', async () => {
    const { batch, answers, tasks, events } = make(
      (_, { signal }) =>
        new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error))),
      { answer: () => tasks },
    )
    const over = batch.begin()
    await settled()
    batch.lose(lost)
    await soon(over)
    expect(answers.asked).toEqual(['hand back a,b'])
    expect(events()).toEqual(['onLost'])
  })

  test('does not disturb a handler that has asked for its completion', async () => {
    let aborted: boolean | undefined
    const { batch } = make(async (tasks, { signal, complete }) => {
      const completed = complete(succeed(tasks))
      batch.lose(lost)
      await completed
      aborted = signal.aborted
    })
    await soon(batch.begin())
    expect(aborted).toBe(false)
  })
})
