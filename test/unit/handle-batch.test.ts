/** A batch that is handled by hand: what became of it is returned, and what a node would only tell of is thrown. */
import { TaskDecision, TaskDecisionError, TaskError } from '@taskstream/task-api'
import type { HeldTask } from '@taskstream/task-api'
import { handleBatch } from '@taskstream/task-processor'
import type { HandleBatchOptions } from '@taskstream/task-processor'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { answering, namesOf, soon, tasksOf } from './answering.ts'
import type { Answering } from './answering.ts'
import { ringingClock } from './ringing-clock.ts'

const success = TaskDecision.success()
const refused = new TaskError('ARGUMENT_INVALID', 'refused')
const slow = new TaskError('DATABASE_BUSY', 'slow', { shortOf: 'time' })
const succeed = (tasks: readonly HeldTask[]): Map<HeldTask, TaskDecision> => new Map(tasks.map((task) => [task, success]))

const optionsOf = (
  { environment, transactions, clock }: Answering,
  more: Partial<HandleBatchOptions<object>> = {},
): HandleBatchOptions<object> => ({
  repository: environment.repository,
  transactions,
  topic: 'mail',
  handler: succeed,
  clock,
  ...more,
})

describe('handling a batch', () => {
  afterEach(() => {
    vi.restoreAllMocks()
    vi.useRealTimers()
  })

  test('of no tasks opens no handler, and asks nothing', async () => {
    const answers = answering()
    let opened = 0
    const handler = { open: () => (opened++, { handle: succeed }) }
    const outcome = await handleBatch([], optionsOf(answers, { handler }))
    expect(outcome).toEqual({ decisions: new Map(), completion: { completed: [], lost: [] } })
    expect([opened, answers.asked]).toEqual([0, []])
  })

  test('returns what was decided and what was completed, in a transaction, and leaves no timer', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const answers = answering()
    const tasks = tasksOf('ab')
    answers.answer = () => tasks.slice(0, 1)
    const closed: string[] = []
    const handler = { open: (topic: string) => ({ handle: succeed, close: async () => void closed.push(topic) }) }
    const { decisions, completion } = await handleBatch(tasks, optionsOf(answers, { handler }))
    expect(decisions).toEqual(succeed(tasks))
    expect(completion).toEqual({ completed: tasks.slice(1), lost: tasks.slice(0, 1) })
    expect([answers.asked, answers.begun, closed]).toEqual([['complete a,b'], ['transaction'], ['mail']])
    expect(vi.getTimerCount()).toBe(0)
  })

  test('returns what came of its parts together, where it cannot be written as a whole', async () => {
    const answers = answering()
    const tasks = tasksOf('abcd')
    answers.answer = (_, names) => {
      if (names === 'a,b,c,d') throw refused
      return tasks.filter(({ identifier }) => 'ac'.includes(identifier))
    }
    const { decisions, completion } = await handleBatch(tasks, optionsOf(answers))
    expect([namesOf(completion.completed), namesOf(completion.lost)]).toEqual(['b,d', 'a,c'])
    expect(decisions).toEqual(succeed(tasks))
  })

  test('throws nothing of what has become a decision: of the handler, or of one task that could not be written', async () => {
    const throwing = await handleBatch(tasksOf('ab'), optionsOf(answering(), { handler: () => Promise.reject(new Error('no')) }))
    expect([...throwing.decisions.values()]).toMatchObject([{ result: 'failure' }, { result: 'failure' }])
    const filtering = await handleBatch(
      tasksOf('a'),
      optionsOf(answering(), { handler: () => Promise.reject(new TaskDecisionError(TaskDecision.filter())) }),
    )
    expect([...filtering.decisions.values()]).toMatchObject([{ result: 'filter' }])
    const answers = answering()
    answers.answer = (_, names, decisions) => {
      if (names.includes('a') && [...decisions.values()].includes(success)) throw refused
    }
    const { decisions } = await handleBatch(tasksOf('ab'), optionsOf(answers))
    expect([...decisions.values()]).toMatchObject([{ result: 'failure' }, success])
  })

  test('throws what kept a task from being written, be it one of several', async () => {
    const answers = answering()
    answers.answer = (_, names) => {
      if (names.includes('b')) throw refused
    }
    await expect(handleBatch(tasksOf('abc'), optionsOf(answers))).rejects.toBe(refused)
  })

  test.each(['a', 'ab'])('throws what the handler throws after it has completed the batch: %s', async (names) => {
    const late = new Error('late')
    const handler: HandleBatchOptions<object>['handler'] = async (tasks, { complete, wake }) => {
      wake('post')
      await complete(succeed(tasks))
      throw late
    }
    await expect(handleBatch(tasksOf(names), optionsOf(answering(), { handler }))).rejects.toBe(late)
  })

  test('goes by the policy, the time and the clock that it is given: two seconds are allowed to let go', async () => {
    const clock = ringingClock()
    const stuck = handleBatch(
      tasksOf('a'),
      optionsOf(answering(), { clock, timeoutMs: 5, retry: () => 7, handler: () => new Promise(() => {}) }),
    )
    clock.pass(2_004)
    await expect(soon(stuck)).rejects.toThrow('does not come')
    clock.pass(1)
    const { decisions } = await soon(stuck)
    expect([...decisions.values()]).toMatchObject([{ retryAfterMs: 7, reason: 'timeout' }])
  })

  test('has the server limit what takes too long, to thirty seconds if nothing else is said', async () => {
    for (const [statementTimeoutMs, expected] of [
      [undefined, 30_000],
      [100, 100],
      [86_400_000, 86_400_000],
    ] as const) {
      const answers = answering()
      const limits: number[] = []
      let asked = 0
      answers.answer = () => {
        if (asked++ === 0) throw slow
      }
      const repository = {
        ...answers.environment.repository,
        limitStatements: async (_: object, ms: number) => void limits.push(ms),
      } as HandleBatchOptions<object>['repository']
      const given = statementTimeoutMs === undefined ? {} : { statementTimeoutMs }
      await handleBatch(tasksOf('a'), optionsOf(answers, { repository, clock: answers.clock, ...given }))
      expect(limits).toEqual([expected])
    }
  })

  test('refuses limits that are none, and options that are none', async () => {
    for (const more of [
      { timeoutMs: Number.NaN },
      { timeoutMs: 0 },
      { timeoutMs: 86_400_001 },
      { statementTimeoutMs: 99 },
      { statementTimeoutMs: 86_400_001 },
      { topics: 'mail' },
    ])
      await expect(handleBatch([], optionsOf(answering(), more as never))).rejects.toMatchObject({ code: 'ARGUMENT_INVALID' })
  })
})
