/** Checks take what every engine can keep, and nothing else. */
import {
  checkDuration,
  checkInstant,
  checkInteger,
  checkStorable,
  checkText,
  checkTopic,
  isSameTask,
  isTaskError,
  TaskError,
  taskLimits,
  taskToString,
} from '@taskstream/task-api'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'

const accepts = (check: () => void): boolean => {
  try {
    check()
    return true
  } catch (error) {
    if (isTaskError(error, 'ARGUMENT_INVALID')) return false
    throw error
  }
}

describe('a check', () => {
  test('takes whole numbers within their bounds, and no others', () => {
    fc.assert(
      fc.property(fc.double(), fc.integer(), fc.nat(), (value, minimum, span) => {
        const allowed = Number.isInteger(value) && value >= minimum && value <= minimum + span
        return accepts(() => checkInteger('n', value, minimum, minimum + span)) === allowed
      }),
    )
    for (const bound of [0, taskLimits.durationMs]) expect(accepts(() => checkDuration('ms', bound))).toBe(true)
    for (const beyond of [-1, taskLimits.durationMs + 1, '5', null, undefined, 5n])
      expect(accepts(() => checkDuration('ms', beyond))).toBe(false)
    for (const value of [3, 5]) expect(accepts(() => checkInteger('n', value, 3, 5))).toBe(true)
    for (const value of [2, 6]) expect(accepts(() => checkInteger('n', value, 3, 5))).toBe(false)
  })

  test('takes any well-formed text up to its length, and nothing that an engine could not keep', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (value) => {
        const storable = !value.includes('\0') && value.isWellFormed() && value.length <= 8
        expect(accepts(() => checkStorable('text', value, 8))).toBe(storable)
        expect(accepts(() => checkText('text', value, 8))).toBe(storable && value.length > 0)
      }),
    )
    for (const half of ['\ud83c', '\udf89', 'a\udf89\ud83c']) expect(accepts(() => checkText('text', half, 8))).toBe(false)
    expect(accepts(() => checkTopic('x'.repeat(250)))).toBe(true)
    expect(accepts(() => checkTopic('x'.repeat(251)))).toBe(false)
  })

  test('takes instants that are ones', () => {
    for (const instant of [new Date(0), new Date(-1), new Date(253_402_300_799_999)])
      expect(accepts(() => checkInstant('due', instant))).toBe(true)
    for (const other of [new Date(Number.NaN), 0, '2026-01-01', null])
      expect(accepts(() => checkInstant('due', other))).toBe(false)
    for (const at of ['0000-12-31T23:59:59Z', '+010000-01-01T00:00:00Z', '-271821-04-20T00:00:00Z'])
      expect(() => checkInstant('due', new Date(at))).toThrow(/due must be in the years 1 to 9999/)
    for (const at of ['0001-01-01T00:00:00Z', '9999-12-31T23:59:59.999Z'])
      expect(() => checkInstant('due', new Date(at))).not.toThrow()
  })

  test('says which argument, what it must be and what it was, and does not repeat all of a long one', () => {
    const refusal = (value: unknown): TaskError => {
      try {
        checkText('identifier', value, 10)
      } catch (error) {
        return error as TaskError
      }
      throw new Error('it was taken')
    }
    expect(refusal('')).toMatchObject({
      message: 'identifier must not be empty: ""',
      data: { argument: 'identifier', value: '' },
    })
    expect(refusal('x'.repeat(1_000_000)).message).toBe(
      `identifier must have at most 10 characters, and has 1000000: "${'x'.repeat(56)}…`,
    )
    expect(refusal(7).message).toBe('identifier must be a string: 7')
  })
})

test('an error is known by its code', () => {
  const error = new TaskError('TOPIC_UNKNOWN', 'no such topic', { topic: 'a' }, { cause: 'why' })
  expect([isTaskError(error), isTaskError(error, 'TOPIC_UNKNOWN'), isTaskError(error, 'TASK_LOST')]).toEqual([true, true, false])
  expect(isTaskError({ ...error })).toBe(false)
  expect(error).toMatchObject({ name: 'TaskError', data: { topic: 'a' }, cause: 'why' })
})

test('tasks are the same when topic, sequence and identifier are', () => {
  const task = { topic: 't', sequence: 7, identifier: 'a' }
  expect(isSameTask(task, { ...task })).toBe(true)
  for (const other of [{ topic: 'u' }, { sequence: 8 }, { identifier: 'b' }])
    expect(isSameTask(task, { ...task, ...other })).toBe(false)
  expect(taskToString(task)).toBe('t/a@7')
})
