/** Bad input gets a named error that says which value it is, and nothing is written. */
import { TaskDecision } from '@taskstream/task-api'
import type { HeldTask, TaskCreation, TaskError } from '@taskstream/task-api'
import { raw } from '@taskstream/task-sql'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { canRun } from '../subject.ts'
import { testOn } from '../test-on.ts'
import type { AnyTransaction } from '../subject.ts'
import { codeOf, openFixture } from './fixture.ts'
import type { Fixture } from './fixture.ts'

const long = (length: number): string => 'x'.repeat(length)
const badTexts = {
  'is empty': '',
  'has an unpaired surrogate': 'a\ud800',
  'has a NUL': 'a\0b',
  'is no text': 7 as unknown as string,
}
const badNumbers = [-1, 0.5, Number.NaN, Infinity, Number.MAX_SAFE_INTEGER, '1' as unknown as number, null as unknown as number]

describe.skipIf(!canRun)('bad input', () => {
  let it: Fixture
  let held: HeldTask
  beforeAll(async () => void (it = await openFixture()))
  afterAll(() => it[Symbol.asyncDispose]())
  beforeEach(async () => {
    await it.nextTopic()
    await it.push('held', 'ready')
    held = (await it.poll(1))[0]!
  })

  /** Every refusal is checked for its code, for what it names, and for leaving everything as it was. */
  const refused = async (argument: string, work: (transaction: AnyTransaction) => unknown): Promise<void> => {
    const error = (await it
      .commit(async (transaction) => await work(transaction))
      .then(
        (value) => expect.fail(`was taken, and answered ${JSON.stringify(value)}`),
        (thrown: unknown) => thrown,
      )) as TaskError
    expect(error).toMatchObject({ name: 'TaskError', code: 'ARGUMENT_INVALID', data: { argument } })
    expect(error.message).toContain(argument)
    expect(await it.states()).toEqual({ active: 1, ready: 1 })
  }

  test.for(Object.entries({ ...badTexts, 'is too long': long(251) }))(
    'a topic that %s is refused by every verb',
    async ([, topic]) => {
      await refused('topic', (transaction) => it.tasks.initialize(transaction, topic))
      await refused('topic', (transaction) => it.tasks.push(transaction, topic, 'a'))
      await refused('topic', (transaction) => it.tasks.poll(transaction, topic))
      await refused('topic', (transaction) => it.tasks.complete(transaction, topic, new Map()))
      await refused('topic', (transaction) => it.tasks.hold(transaction, topic, []))
      await refused('topic', (transaction) => it.tasks.handBack(transaction, topic, []))
      await refused('topic', (transaction) => it.tasks.reclaim(transaction, topic, []))
      await refused('topic', (transaction) => it.tasks.release(transaction, topic))
      await refused('topic', (transaction) => it.tasks.task(transaction, topic, 1))
      await refused('topic', (transaction) => it.tasks.page(transaction, topic))
      await refused('topic', (transaction) => it.tasks.count(transaction, { topic }))
    },
  )

  test.for(Object.entries({ ...badTexts, 'is too long': long(501) }))(
    'an identifier or external id that %s is refused',
    async ([, text]) => {
      const push =
        (creation: TaskCreation): ((transaction: AnyTransaction) => unknown) =>
        (transaction) =>
          it.tasks.push(transaction, it.topic, creation)
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
      ...[32_768, -32_768, 0.5, Number.NaN].map((priority): [string, object] => ['priority', { priority }]),
    ]
    for (const [field, creation] of bad) {
      const creations = ['good', { identifier: 'bad', ...creation }]
      await refused(`creations[1].${field}`, (transaction) => it.tasks.push(transaction, it.topic, creations))
    }
    await refused('creation', (transaction) => it.tasks.push(transaction, it.topic, [null as unknown as string]))
  })

  test('sizes, limits and durations outside their range are refused', async () => {
    for (const size of [...badNumbers, 10_001])
      await refused('size', (transaction) => it.tasks.poll(transaction, it.topic, { size }))
    for (const size of badNumbers) await refused('size', (transaction) => it.tasks.page(transaction, it.topic, { size }))
    for (const limit of [...badNumbers, 0])
      await refused('limit', (transaction) => it.tasks.release(transaction, it.topic, { limit }))
    for (const limit of [...badNumbers, 0])
      await refused('limit', (transaction) => it.tasks.expire(transaction, { olderThanMs: 1, limit }))
    for (const olderThanMs of badNumbers)
      await refused('olderThanMs', (transaction) => it.tasks.expire(transaction, { olderThanMs }))
    for (const withinMs of badNumbers) await refused('withinMs', (transaction) => it.tasks.owners(transaction, withinMs))
    for (const sequence of [-1, 0.5, Number.NaN, 2 ** 53]) {
      await refused('sequence', (transaction) => it.tasks.task(transaction, it.topic, sequence))
      await refused('after', (transaction) => it.tasks.page(transaction, it.topic, { after: sequence }))
      await refused('before', (transaction) => it.tasks.page(transaction, it.topic, { before: sequence }))
    }
    await refused('before', (transaction) => it.tasks.page(transaction, it.topic, { after: 1, before: 2 }))
    await refused('then', (transaction) => it.tasks.expire(transaction, { olderThanMs: 1, then: 'gone' as 'ready' }))
  })

  test('a task that stands twice in one call, is of another topic, or was never polled is refused', async () => {
    const done = TaskDecision.success()
    const twice = new Map([held, { ...held }].map((task) => [task, done]))
    expect(await codeOf(() => it.commit((transaction) => it.tasks.complete(transaction, it.topic, twice)))).toBe('TASK_DUPLICATE')
    expect(await codeOf(() => it.commit((transaction) => it.tasks.hold(transaction, it.topic, [held, held])))).toBe(
      'TASK_DUPLICATE',
    )
    expect(await codeOf(() => it.commit((transaction) => it.tasks.handBack(transaction, it.topic, [held, held])))).toBe(
      'TASK_DUPLICATE',
    )
    const other = { ...held, topic: 'other' }
    await refused('task', (transaction) => it.tasks.complete(transaction, it.topic, new Map([[other, done]])))
    const never = { topic: it.topic, sequence: 1, identifier: 'a' } as HeldTask
    await refused('task', (transaction) => it.tasks.complete(transaction, it.topic, new Map([[never, done]])))
    const word = 'success' as unknown as TaskDecision
    await expect(
      it.commit((transaction) => it.tasks.complete(transaction, it.topic, new Map([[held, word]]))),
    ).rejects.toMatchObject({ code: 'ARGUMENT_INVALID' })
    expect(await it.states()).toEqual({ active: 1, ready: 1 })
  })

  test('a closed connection is named as one', async () => {
    if (it.subject.connections === 1) return
    const session = await it.subject.session()
    await session.close()
    expect(await codeOf(async () => await it.tasks.push(session.transaction, it.topic, 'a'))).toBe('TRANSACTION_CLOSED')
  })

  testOn(['postgres'])('a transaction that an earlier error has aborted is named as one', async () => {
    const session = await it.subject.session()
    await session.begin()
    await it.subject.execute(session.transaction, raw('select 1 / 0')).catch(() => {})
    expect(await codeOf(() => it.tasks.push(session.transaction, it.topic, 'a'))).toBe('TRANSACTION_CLOSED')
    await session.rollback()
    // And one that is committed all the same does not read as committed.
    const swallowed = it.commit(async (transaction) => {
      await it.tasks.push(transaction, it.topic, 'a')
      await it.subject.execute(transaction, raw('select 1 / 0')).catch(() => {})
    })
    await expect(swallowed).rejects.toMatchObject({ code: 'TRANSACTION_CLOSED' })
    expect(await it.states()).toEqual({ active: 1, ready: 1 })
  })

  testOn(['postgres'])('a database that goes away in the middle of a batch leaves nothing half done', async () => {
    const session = await it.subject.session()
    await session.begin()
    await it.tasks.push(
      session.transaction,
      it.topic,
      Array.from({ length: 1_000 }, (_, index) => `t${index}`),
    )
    const [row] = await it.subject.execute(session.transaction, raw('select pg_backend_pid() as pid'))
    await it.commit((transaction) =>
      it.subject.execute(transaction, raw(`select pg_terminate_backend(${Number(row?.['pid'])}, 5000)`)),
    )
    const code = await codeOf(() => it.tasks.complete(session.transaction, it.topic, new Map([[held, TaskDecision.success()]])))
    expect(code).toBe('DATABASE_UNAVAILABLE')
    expect(await it.states()).toEqual({ active: 1, ready: 1 })
  })
})
