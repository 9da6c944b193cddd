/** Bad input causes an error with a code that names the bad value, and nothing is written. */
import { TaskDecision, taskLimits } from '@taskstream/task-api'
import type { HeldTask, TaskCreation, TaskError, TaskSelector } from '@taskstream/task-api'
import { beforeEach, expect, test } from 'vitest'
import { codeOf, names, thrownBy, useFixture } from './fixture.ts'
import { part, testWhere } from './engine.ts'
import type { AnyTransaction, Part } from './engine.ts'

const long = (length: number): string => 'x'.repeat(length)
const badTexts = {
  'is empty': '',
  'has an unpaired surrogate': 'a\ud800',
  'has a NUL': 'a\0b',
  'is no text': 7 as unknown as string,
}
const badNumbers = [-1, 0.5, Number.NaN, Infinity, Number.MAX_SAFE_INTEGER, '1' as unknown as number, null as unknown as number]

export const badInput: Part = part('bad input', (engine) => {
  const fixture = useFixture(engine)
  let held: HeldTask
  beforeEach(async () => {
    await fixture.push('held', 'ready')
    held = (await fixture.poll(1))[0]!
  })

  /** Expects an error with the right code and argument, and that the topic is as it was before. */
  const refused = async (argument: string, work: (transaction: AnyTransaction) => unknown): Promise<void> => {
    const error = await fixture.commit((transaction) => thrownBy(() => work(transaction)))
    expect(error).toMatchObject({ name: 'TaskError', code: 'ARGUMENT_INVALID', data: { argument } })
    expect((error as TaskError).message).toContain(argument)
    expect(await fixture.states()).toEqual({ active: 1, ready: 1 })
  }

  test.for(Object.entries({ ...badTexts, 'is too long': long(251) }))(
    'a topic that %s is refused by every verb',
    async ([, topic]) => {
      await refused('topic', (transaction) => fixture.tasks.initialize(transaction, topic))
      await refused('topic', (transaction) => fixture.tasks.push(transaction, topic, 'a'))
      await refused('topic', (transaction) => fixture.tasks.poll(transaction, topic))
      await refused('topic', (transaction) => fixture.tasks.complete(transaction, topic, new Map()))
      await refused('topic', (transaction) => fixture.tasks.hold(transaction, topic, []))
      await refused('topic', (transaction) => fixture.tasks.lost(transaction, topic, []))
      await refused('topic', (transaction) => fixture.tasks.handBack(transaction, topic, []))
      await refused('topic', (transaction) => fixture.tasks.reclaim(transaction, topic, []))
      await refused('topic', (transaction) => fixture.tasks.promoteDue(transaction, topic))
      await refused('topic', (transaction) => fixture.tasks.peek(transaction, [topic]))
      await refused('topic', (transaction) => fixture.tasks.task(transaction, topic, 1))
      await refused('topic', (transaction) => fixture.tasks.page(transaction, topic))
      await refused('topic', (transaction) => fixture.tasks.count(transaction, { topic }))
      await refused('topic', (transaction) => fixture.tasks.purge(transaction, topic))
      await refused('topic', (transaction) => fixture.tasks.purgeAll(transaction, topic))
      await refused('topic', (transaction) => fixture.tasks.recreate(transaction, topic, 'append', []))
      await refused('topic', (transaction) => fixture.tasks.redrive(transaction, topic))
      await refused('topic', (transaction) => fixture.tasks.reassign(transaction, topic, new Map()))
      await refused('topic', (transaction) => fixture.tasks.reassignAll(transaction, topic, { from: 'failed', to: 'success' }))
      await refused('topic', (transaction) => fixture.tasks.cancel(transaction, topic, 1))
      await refused('topic', (transaction) => fixture.tasks.reschedule(transaction, topic, 1, { delayMs: 5 }))
      await refused('topic', (transaction) => fixture.tasks.junction(transaction, topic, 'singular', []))
      await refused('topic', (transaction) => fixture.tasks.activate(transaction, topic))
      await refused('topic', (transaction) => fixture.tasks.deactivate(transaction, topic))
      await refused('topic', (transaction) => fixture.tasks.repair(transaction, topic))
      await refused('topic', (transaction) => fixture.tasks.destroy(transaction, topic))
    },
  )

  test.for(Object.entries({ ...badTexts, 'is too long': long(501) }))(
    'an identifier or external id that %s is refused',
    async ([, text]) => {
      const push =
        (creation: TaskCreation): ((transaction: AnyTransaction) => unknown) =>
        (transaction) =>
          fixture.tasks.push(transaction, fixture.topic, creation)
      await refused('identifier', push({ identifier: text }))
      await refused('externalId', push({ identifier: 'a', externalId: text }))
    },
  )

  test('anything else in a creation that cannot be stored is refused, and named by its place', async () => {
    const bad: [string, object][] = [
      ['reference', { reference: long(501) }],
      ['reference', { reference: 'a\0' }],
      ['input', { input: 'a\0' }],
      ['input', { input: '\udc00' }],
      ['input', { input: 5 }],
      ['input', { input: long(16_777_217) }],
      ['headers', { headers: { a: 'x\0' } }],
      ['headers', { headers: { a: '\ud800' } }],
      ['headers', { headers: { a: long(70_000) } }],
      ['headers', { headers: [] }],
      ['headers', { headers: 'a' }],
      ['due', { due: new Date(Number.NaN) }],
      ['due', { due: '2026-01-01' }],
      ['delayMs', { delayMs: 1, due: new Date() }],
      ...[...badNumbers, 3_153_600_000_001].map((delayMs): [string, object] => ['delayMs', { delayMs }]),
      ...[0, 32_768, 1.5, Number.NaN].map((maxTries): [string, object] => ['maxTries', { maxTries }]),
      ...['false', 1, {}, null].map((suspended): [string, object] => ['suspended', { suspended }]),
      ...[32_768, -32_768, 0.5, Number.NaN].map((priority): [string, object] => ['priority', { priority }]),
    ]
    for (const [field, creation] of bad) {
      const creations = ['good', { identifier: 'bad', ...creation }]
      await refused(`creations[1].${field}`, (transaction) => fixture.tasks.push(transaction, fixture.topic, creations))
    }
    await refused('creation', (transaction) => fixture.tasks.push(transaction, fixture.topic, [null as unknown as string]))
  })

  test('sizes, limits and durations outside their range are refused', async () => {
    for (const size of [...badNumbers, 10_001])
      await refused('size', (transaction) => fixture.tasks.poll(transaction, fixture.topic, { size }))
    for (const size of badNumbers)
      await refused('size', (transaction) => fixture.tasks.page(transaction, fixture.topic, { size }))
    for (const limit of [...badNumbers, 0])
      await refused('limit', (transaction) => fixture.tasks.promoteDue(transaction, fixture.topic, { limit }))
    for (const limit of [...badNumbers, 0])
      await refused('limit', (transaction) => fixture.tasks.expire(transaction, { olderThanMs: 1, limit }))
    for (const olderThanMs of badNumbers)
      await refused('olderThanMs', (transaction) => fixture.tasks.expire(transaction, { olderThanMs }))
    for (const withinMs of badNumbers) await refused('withinMs', (transaction) => fixture.tasks.owners(transaction, withinMs))
    for (const sequence of [-1, 0.5, Number.NaN, 2 ** 53]) {
      await refused('sequence', (transaction) => fixture.tasks.task(transaction, fixture.topic, sequence))
      await refused('after', (transaction) => fixture.tasks.page(transaction, fixture.topic, { after: sequence }))
      await refused('before', (transaction) => fixture.tasks.page(transaction, fixture.topic, { before: sequence }))
    }
    await refused('before', (transaction) => fixture.tasks.page(transaction, fixture.topic, { after: 1, before: 2 }))
    await refused('then', (transaction) => fixture.tasks.expire(transaction, { olderThanMs: 1, then: 'gone' as 'ready' }))
  })

  test('a selector that names no tasks is refused, and says what it could be', async () => {
    const refusedAs = async (argument: string, selector: unknown): Promise<void> => {
      await refused(argument, (transaction) => fixture.tasks.cancel(transaction, fixture.topic, selector as TaskSelector))
      await refused(argument, (transaction) =>
        fixture.tasks.reschedule(transaction, fixture.topic, selector as TaskSelector, { delayMs: 5 }),
      )
    }
    const none = [undefined, null, '5', 5n, {}, { externalId: 'a', identifier: 'a' }, { sequence: 5 }, { externalID: 'a' }, held]
    for (const selector of none) await refusedAs('selector', selector)
    for (const sequence of [-1, 0.5, Number.NaN, 2 ** 53]) {
      await refusedAs('sequence', sequence)
      await refusedAs('sequences[1]', [held.sequence, sequence])
    }
    for (const text of [...Object.values(badTexts), null, long(501)]) {
      await refusedAs('identifier', { identifier: text })
      await refusedAs('externalId', { externalId: text })
    }
    await refusedAs(
      'the number of sequences',
      Array.from({ length: taskLimits.batchSize + 1 }, () => 1),
    )
  })

  test('what is beyond the greatest value is refused, and so is a portion of none', async () => {
    const { tasks, topic } = fixture
    for (const olderThanMs of [...badNumbers, taskLimits.durationMs + 1]) {
      await refused('olderThanMs', (transaction) => tasks.purge(transaction, topic, { olderThanMs }))
      await refused('olderThanMs', (transaction) => tasks.purgeOwners(transaction, olderThanMs))
      await refused('olderThanMs', (transaction) => tasks.expire(transaction, { olderThanMs }))
      await refused('withinMs', (transaction) => tasks.owners(transaction, olderThanMs))
    }
    for (const limit of [...badNumbers, 0, taskLimits.batchSize + 1]) {
      const states = ['ready'] as const
      await refused('limit', (transaction) => tasks.purge(transaction, topic, { limit, states }))
      await refused('limit', (transaction) => tasks.redrive(transaction, topic, { limit }))
      await refused('limit', (transaction) => tasks.promoteDue(transaction, topic, { limit }))
      await refused('limit', (transaction) => tasks.expire(transaction, { olderThanMs: 0, limit }))
      await refused('size', (transaction) => tasks.recreate(transaction, topic, 'reset', { state: 'failed', size: limit }))
    }
    await refused('size', (transaction) => tasks.page(transaction, topic, { size: taskLimits.batchSize + 1 }))
    for (const timeoutMs of [...badNumbers, 0, 86_400_001])
      await refused('timeoutMs', (transaction) => tasks.limitStatements(transaction, timeoutMs))
    const tooMany = Array.from({ length: taskLimits.batchSize + 1 }, (_, sequence): HeldTask => ({ ...held, sequence }))
    await refused('the number of creations', (transaction) => tasks.push(transaction, topic, names(tooMany)))
    await refused('the number of tasks', (transaction) => tasks.hold(transaction, topic, tooMany))
    await refused('the number of tasks', (transaction) => tasks.recreate(transaction, topic, 'reset', tooMany))
    await refused('the number of tasks', (transaction) => tasks.reclaim(transaction, topic, tooMany))
    for (const bound of [-1, 0.5, 2 ** 53]) {
      const all = { from: 'failed', to: 'success' } as const
      await refused('first', (transaction) => tasks.reassignAll(transaction, topic, { ...all, first: bound }))
      await refused('last', (transaction) => tasks.reassignAll(transaction, topic, { ...all, last: bound }))
    }
    // Each group is small enough; together they are not.
    const group = Array.from({ length: taskLimits.batchSize / 2 }, (_, index) => String(index))
    await refused('the number of identifiers', (transaction) =>
      tasks.junction(transaction, topic, 'singular', [group, group, ['one more']]),
    )
  })

  test('a task that stands twice in one call, is of another topic, or was never polled is refused', async () => {
    const done = TaskDecision.success()
    const twice = new Map([held, { ...held }].map((task) => [task, done]))
    const code = (work: (transaction: AnyTransaction) => unknown): Promise<unknown> =>
      fixture.commit((transaction) => codeOf(() => work(transaction)))
    expect(await code((transaction) => fixture.tasks.complete(transaction, fixture.topic, twice))).toBe('TASK_DUPLICATE')
    const holding = fixture.commit((transaction) =>
      thrownBy(() => fixture.tasks.hold(transaction, fixture.topic, [held, { ...held }])),
    )
    expect(await holding).toMatchObject({ code: 'TASK_DUPLICATE', data: { task: held } })
    expect(await code((transaction) => fixture.tasks.handBack(transaction, fixture.topic, [held, held]))).toBe('TASK_DUPLICATE')
    const other = { ...held, topic: 'other' }
    await refused('task', (transaction) => fixture.tasks.complete(transaction, fixture.topic, new Map([[other, done]])))
    const never = { topic: fixture.topic, sequence: 1, identifier: 'a' } as HeldTask
    await refused('task', (transaction) => fixture.tasks.complete(transaction, fixture.topic, new Map([[never, done]])))
    const word = 'success' as unknown as TaskDecision
    expect(await code((transaction) => fixture.tasks.complete(transaction, fixture.topic, new Map([[held, word]])))).toBe(
      'ARGUMENT_INVALID',
    )
    expect(await fixture.states()).toEqual({ active: 1, ready: 1 })
  })

  test('a collection that is none, or has holes, is refused by name', async () => {
    const { topic } = fixture
    // JavaScript programs can pass these values, though the types forbid them.
    const tasks = fixture.tasks as AnyTransaction
    const holes = Object.assign([], { length: 2 })
    for (const none of [undefined, null, 5, {}, Symbol('a')]) {
      await refused('tasks', (transaction) => tasks.hold(transaction, topic, none))
      await refused('tasks', (transaction) => tasks.reclaim(transaction, topic, none))
      await refused('decisions', (transaction) => tasks.complete(transaction, topic, none))
      await refused('results', (transaction) => tasks.reassign(transaction, topic, none))
      await refused('groups', (transaction) => tasks.junction(transaction, topic, 'singular', none))
    }
    for (const none of [undefined, null, 5]) await refused('wish', (transaction) => tasks.takeSlots(transaction, topic, none))
    await refused('creations[0].creation', (transaction) => tasks.push(transaction, topic, holes))
    await refused('task', (transaction) => tasks.reclaim(transaction, topic, [{ ...held, sequence: String(held.sequence) }]))
    await refused('task', (transaction) => tasks.hold(transaction, topic, [{ ...held, identifier: Symbol('a') }]))
    await refused('on', (transaction) => tasks.depend(transaction, held, [null]))
    await refused('externalIds[1]', (transaction) => tasks.admit(transaction, topic, 2, ['a', 5]))
    for (const verb of ['purgeAttempts', 'expire'] as const) await refused('options', (transaction) => tasks[verb](transaction))
    await refused('options', (transaction) => tasks.reassignAll(transaction, topic))
    for (const from of [Symbol('a'), 1n]) {
      await refused('from', (transaction) => tasks.purge(transaction, topic, { from }))
      await refused('from', (transaction) => tasks.redrive(transaction, topic, { from }))
      await refused('from', (transaction) => tasks.recreate(transaction, topic, 'reset', { state: 'failed', from }))
    }
  })

  test('an iterator that never ends is left after as many tasks as a call may have', async () => {
    const endless = function* (): Generator<HeldTask> {
      for (;;) yield held
    }
    await refused('the number of tasks', (transaction) => fixture.tasks.hold(transaction, fixture.topic, endless()))
  })

  test('a filter may name a state any number of times', async () => {
    const states = Array.from({ length: 50_000 }, () => 'ready' as const)
    expect(await fixture.commit((transaction) => fixture.tasks.page(transaction, fixture.topic, { states }))).toHaveLength(1)
  })

  test('a call whose transaction was left out says so', async () => {
    const tasks = fixture.tasks as AnyTransaction
    for (const none of [undefined, null, fixture.topic]) await refused('transaction', () => tasks.push(none, fixture.topic, 'a'))
  })

  testWhere(engine.connections > 1)('a closed connection is named as one', async () => {
    const session = await fixture.subject.session()
    await session.close()
    expect(await codeOf(async () => await fixture.tasks.push(session.transaction, fixture.topic, 'a'))).toBe('TRANSACTION_CLOSED')
  })
})
