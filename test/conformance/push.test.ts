import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { canRun, openSubject } from '../subject.ts'
import type { Subject, Tasks } from '../subject.ts'

describe.skipIf(!canRun)('push', () => {
  let subject: Subject
  let tasks: Tasks
  beforeAll(async () => {
    subject = await openSubject()
    tasks = subject.tasks()
    await subject.transactions(async (transaction) => {
      await tasks.register(transaction)
      await tasks.initialize(transaction, 'mail')
    })
  })
  afterAll(() => subject[Symbol.asyncDispose]())

  test('returns a task for each creation, in their order, with ascending sequences', async () => {
    const pushed = await subject.transactions((transaction) => tasks.push(transaction, 'mail', ['c', { identifier: 'a' }, { identifier: 'b', input: 'x' }]))
    expect(pushed.map(({ identifier, outcome }) => [identifier, outcome])).toEqual([
      ['c', 'created'],
      ['a', 'created'],
      ['b', 'created'],
    ])
    const sequences = pushed.map(({ sequence }) => sequence)
    expect(sequences).toEqual(sequences.toSorted((left, right) => left - right))
    expect(new Set(sequences).size).toBe(3)
  })
})
