/** How long a task waits for a newer worker, and how often that is told. */
import type { HeldTask, TaskDecision, TaskHeaders } from '@taskstream/task-api'
import { defineJob, defineTopic, json, versioned } from 'taskstream'
import { expect, test } from 'vitest'
import { NewerInputs } from '../../packages/task-jobs/src/handling/newer-inputs.ts'
import { taskOf } from './answering.ts'

const two = versioned(json<number>()).to(json<number>(), (old) => old)
const newer = (fields: Partial<HeldTask> = {}): HeldTask => ({ ...taskOf('a'), headers: { version: 3 }, ...fields })

test('the pause is a second at first, and doubles with each look, up to a minute', () => {
  const inputs = new NewerInputs(defineJob('bill', { input: two }))
  const pauses = [1, 2, 3, 4, 5, 6, 7, 8, 2_000].map((attempt) => {
    const decision = inputs.snoozed(newer({ attempt, tries: 1 }), { report: () => {} })!
    expect([decision.result, decision.refunded]).toEqual(['suspension', true])
    return decision.retryAfterMs
  })
  expect(pauses).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000])
  // Tries that have failed were no looks.
  expect(inputs.snoozed(newer({ attempt: 5, tries: 4 }), { report: () => {} })!.retryAfterMs).toBe(2_000)
})

test('one of a definition is told a minute, with what becomes of it', () => {
  for (const definition of [defineJob('bill', { input: two }), defineTopic('bills', { input: two })]) {
    const told: [unknown, ReadonlyMap<HeldTask, TaskDecision>][] = []
    let nowMs = 1
    const inputs = new NewerInputs(definition, () => nowMs)
    const tasks = [newer(), newer({ sequence: 2 }), newer({ sequence: 3, headers: { version: 4 } })]
    const meet = (): void => {
      for (const task of tasks) inputs.snoozed(task, { report: (error, decisions) => void told.push([error, decisions]) })
    }
    meet()
    nowMs += 59_999
    meet()
    expect(told).toHaveLength(1)
    nowMs += 1
    meet()
    expect(told).toHaveLength(2)
    expect(told[0]![0]).toMatchObject({ code: 'INPUT_NEWER', data: { name: definition.name, version: 3, known: 2 } })
    expect([...told[0]![1]]).toMatchObject([[tasks[0], { result: 'suspension', retryAfterMs: 1_000 }]])
  }
})

test('what is not newer is left to its handler, whether it fits or not', () => {
  const report = (): void => expect.unreachable()
  const headers: (TaskHeaders | undefined)[] = [undefined, {}, { version: 1 }, { version: 2 }, { version: '3' }, { version: 2.5 }]
  for (const one of headers) {
    const { headers: _, ...task } = newer()
    const given = one ? { ...task, headers: one } : task
    expect(new NewerInputs(defineJob('bill', { input: two })).snoozed(given, { report })).toBeUndefined()
  }
  expect(new NewerInputs(defineJob('bare')).snoozed(newer(), { report })).toBeUndefined()
})
