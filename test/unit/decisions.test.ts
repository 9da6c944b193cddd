/** What a handler's answer, and its error, mean for each task. */
import { TaskDecision, TaskDecisionError, TaskError } from '@taskstream/task-api'
import type { HeldTask } from '@taskstream/task-api'
import { describe, expect, test } from 'vitest'
import { complement, completedEvent, decisionsMissing, failed } from '../../packages/task-processor/src/batches/decisions.ts'
import { taskOf, tasksOf } from './answering.ts'

const success = TaskDecision.success()
const error = new Error('no')
const timeout = new TaskError('TASK_TIMEOUT', 'too long')

describe('the decisions of a handler', () => {
  const tasks = tasksOf('ab')
  const [a, b] = tasks as [HeldTask, HeldTask]

  test('are as they are where there is one for each task, and a failure is put in for one that is left out', () => {
    const all = new Map([
      [b, success],
      [a, success],
    ])
    expect(complement(tasks, all)).toBe(all)
    const some = complement(tasks, new Map([[b, success]]))
    expect([...some.keys()]).toEqual([a, b])
    expect(some.get(b)).toBe(success)
    expect(some.get(a)).toMatchObject({ result: 'failure', explanations: ['The handler returned no decision for this task'] })
  })

  test('are counted by what becomes of the tasks that were written: a retry is no suspension, and none of a task without tries', () => {
    const [first, last, lost] = [taskOf('c', 3), taskOf('d', 4), taskOf('e', 5)].map((task) => ({
      ...task,
      tries: 2,
      maxTries: 3,
    }))
    Object.assign(last!, { tries: 3 })
    const decisions = new Map([
      [a, success],
      [b, TaskDecision.suspension()],
      [first!, TaskDecision.retry({ afterMs: 1 })],
      [last!, TaskDecision.retry({ afterMs: 1 })],
      [lost!, success],
    ])
    const told = completedEvent({ topic: 'mail', tasks }, { completed: [a, b, first!, last!], lost: [lost!] }, decisions)
    expect(told.outcomes).toEqual({ success: 1, filter: 0, suspension: 1, failure: 1, retry: 1, snooze: 0 })
    const snoozed = new Map([[last!, TaskDecision.snooze({ afterMs: 1 })]])
    expect(completedEvent({ topic: 'mail', tasks }, { completed: [last!], lost: [] }, snoozed).outcomes.snooze).toBe(1)
  })

  test.each([
    ['no map', ['yes'], 'ARGUMENT_INVALID', /must return a Map/, { decisions: ['yes'] }],
    ['nothing', undefined, 'ARGUMENT_INVALID', /must return a Map/, { decisions: undefined }],
    ['a map to something else', new Map([[a, 'yes']]), 'ARGUMENT_INVALID', /decision of .*a.* must be a TaskDecision/, {}],
    [
      'another task',
      new Map([
        [a, success],
        [taskOf('c', 3), success],
      ]),
      'TASK_UNKNOWN',
      /for mail.c@3, which is not of the batch/,
      { task: taskOf('c', 3) },
    ],
    ['no task at all', new Map([[undefined, success]]), 'TASK_UNKNOWN', /for a task, which/, { task: undefined }],
  ])('are refused that are of %s', (_, decisions, code, message, data) => {
    expect(() => complement(tasks, decisions as never)).toThrow(
      expect.objectContaining({ code, message: expect.stringMatching(message) }),
    )
    expect(() => complement(tasks, decisions as never)).toThrow(expect.objectContaining({ data: expect.objectContaining(data) }))
  })

  test('are missed with the name of the topic', () => {
    expect(decisionsMissing('mail')).toMatchObject({ code: 'DECISIONS_MISSING', data: { topic: 'mail' } })
  })
})

describe('an error of a handler', () => {
  const tried = (tries: number): HeldTask => ({ ...taskOf('a'), tries })
  const twice = ({ tries }: { tries: number }): number | undefined => (tries < 2 ? 5 : undefined)

  test('is a failure without a policy, and not for the tries', () => {
    expect(failed(tried(2), error, undefined)).toMatchObject({ result: 'failure', explanations: [error] })
    expect(failed(tried(2), error, undefined).reason).toBeUndefined()
  })

  test('is a retry by the policy as long as there are tries, and then a failure for want of them', () => {
    expect(failed(tried(1), error, twice)).toMatchObject({ retryAfterMs: 5, explanations: [error] })
    expect(failed(tried(1), error, twice).reason).toBeUndefined()
    expect(failed(tried(2), error, twice)).toMatchObject({ result: 'failure', reason: 'tries', explanations: [error] })
    expect(failed(tried(1), error, () => 0)).toMatchObject({ retryAfterMs: 0 })
  })

  test.each([undefined, null, ''])('that is %j is told as such, as nothing would be told of a process that died', (nothing) => {
    const explanations = [`The handler has thrown ${JSON.stringify(nothing)}`]
    expect(failed(tried(1), nothing, undefined)).toMatchObject({ result: 'failure', explanations })
    expect(failed(tried(1), nothing, twice)).toMatchObject({ retryAfterMs: 5, explanations })
    const broken = (): never => {
      throw error
    }
    expect(failed(tried(1), nothing, broken)).toMatchObject({ result: 'failure', explanations: [...explanations, error] })
  })

  test('that is never tried again is no want of tries; nor is the first', () => {
    expect(failed(tried(2), error, () => undefined).reason).toBeUndefined()
    let asked = 0
    expect(failed(tried(1), error, () => (asked++ === 0 ? undefined : 5)).reason).toBeUndefined()
    // What would have been done at the first try is asked about the same task and error.
    const seen: unknown[] = []
    failed(tried(3), error, (task, one) => void seen.push([task.identifier, task.tries, one]))
    expect(seen).toEqual([
      ['a', 3, error],
      ['a', 1, error],
    ])
  })

  test('for its time, or caused by that, has that reason, tried again or not', () => {
    expect(failed(tried(1), timeout, twice)).toMatchObject({ retryAfterMs: 5, reason: 'timeout' })
    expect(failed(tried(2), new Error('let go', { cause: new Error('inner', { cause: timeout }) }), twice)).toMatchObject({
      result: 'failure',
      reason: 'timeout',
    })
    const circle = new Error('caused by itself')
    circle.cause = circle
    expect(failed(tried(1), circle, undefined).reason).toBeUndefined()
    expect(failed(tried(1), new Error('let go', { cause: 'timeout' }), undefined).reason).toBeUndefined()
    expect(failed(tried(1), new TaskError('SHUTDOWN', 'stop'), undefined).reason).toBeUndefined()
  })

  test('that carries a decision is that decision', () => {
    const filtered = TaskDecision.filter('not for us')
    expect(failed(tried(1), new TaskDecisionError(filtered), twice)).toBe(filtered)
  })

  test('is told with that of a policy that throws', () => {
    const broken = new Error('broken')
    const decision = failed(tried(1), error, () => {
      throw broken
    })
    expect(decision).toMatchObject({ result: 'failure', explanations: [error, broken] })
  })

  test('gives way to the decision that a policy throws', () => {
    const filtered = TaskDecision.filter('not for us')
    const decision = failed(tried(1), error, () => {
      throw new TaskDecisionError(filtered)
    })
    expect(decision).toBe(filtered)
  })
})
