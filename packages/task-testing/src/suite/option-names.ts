/** An unknown option or field is refused and nothing is written, because ignoring a misspelt name would go unnoticed. */
import type { HeldTask, TaskCreation, TaskError } from '@taskstream/task-api'
import { beforeEach, expect, test } from 'vitest'
import { codeOf, thrownBy, useFixture } from './fixture.ts'
import { part } from './engine.ts'
import type { AnyTransaction, Part } from './engine.ts'

export const optionNames: Part = part('a name that nobody knows', (engine) => {
  const fixture = useFixture(engine)
  let held: HeldTask
  beforeEach(async () => {
    await fixture.push('held', 'ready')
    held = (await fixture.poll(1))[0]!
  })

  /** Expects an error with the right code and argument, and that the topic is as it was before. */
  const refused = async (argument: string, message: string, work: (transaction: AnyTransaction) => unknown): Promise<void> => {
    const error = await fixture.commit((transaction) => thrownBy(() => work(transaction)))
    expect(error).toMatchObject({ name: 'TaskError', code: 'ARGUMENT_INVALID', data: { argument } })
    expect((error as TaskError).message).toContain(argument)
    expect((error as TaskError).message).toContain(message)
    expect(await fixture.states()).toEqual({ active: 1, ready: 1 })
  }

  test('is refused in the options of every verb, and the one that was meant is told', async () => {
    const { topic } = fixture
    const late = new Date()
    // JavaScript programs can pass these values, though the types forbid them.
    const tasks = fixture.tasks as AnyTransaction
    const cases: readonly [meant: string, options: object, verb: (transaction: AnyTransaction, options: object) => unknown][] = [
      ['insertion', { insertions: 'replace' }, (tx, options) => tasks.push(tx, topic, 'a', options)],
      ['keyed', { key: true }, (tx, options) => tasks.initialize(tx, `${topic}-new`, options)],
      ['size', { sise: 9 }, (tx, options) => tasks.poll(tx, topic, options)],
      ['strict', { Strict: true }, (tx, options) => tasks.complete(tx, topic, new Map(), options)],
      ['limit', { limits: 5 }, (tx, options) => tasks.promoteDue(tx, topic, options)],
      ['state', { state: 'failed', states: ['failed'] }, (tx, options) => tasks.recreate(tx, topic, 'reset', options)],
      ['states', { state: ['ready'] }, (tx, options) => tasks.redrive(tx, topic, options)],
      ['dryRun', { dryrun: true }, (tx, options) => tasks.redrive(tx, topic, options)],
      ['first', { from: 'failed', to: 'success', frist: 1 }, (tx, options) => tasks.reassignAll(tx, topic, options)],
      ['delayMs', { delay: 5 }, (tx, options) => tasks.reschedule(tx, topic, 1, options)],
      ['states', { state: 'ready' }, (tx, options) => tasks.page(tx, topic, options)],
      ['createdBefore', { createdbefore: late }, (tx, options) => tasks.page(tx, topic, options)],
      ['limit', { limt: 5 }, (tx, options) => tasks.overview(tx, options)],
      ['topic', { topics: 'a' }, (tx, options) => tasks.count(tx, options)],
      ['from', { form: late }, (tx, options) => tasks.results(tx, options)],
      ['preceding', { preceeding: true }, (tx, options) => tasks.resolve(tx, late, options)],
      ['olderThanMs', { olderThan: 5 }, (tx, options) => tasks.purge(tx, topic, options)],
      ['exclusive', { exclusiv: true }, (tx, options) => tasks.register(tx, options)],
      ['olderThanMs', { olderThanMs: 5, older: 5 }, (tx, options) => tasks.expire(tx, options)],
    ]
    for (const [meant, options, verb] of cases)
      await refused(Object.keys(options).at(-1)!, `did you mean ${meant}?`, (transaction) => verb(transaction, options))
    expect(await codeOf(() => fixture.commit((tx) => fixture.tasks.page(tx, `${topic}-new`)))).toBe('TOPIC_UNKNOWN')
  })

  test('is refused in a creation, and told by its place', async () => {
    const push =
      (...creations: unknown[]): ((transaction: AnyTransaction) => unknown) =>
      (transaction) =>
        fixture.tasks.push(transaction, fixture.topic, creations as TaskCreation[])
    const meant = 'did you mean delayMs?'
    await refused('delay', meant, push({ identifier: 'a', delay: 5 }))
    await refused('creations[2].delay', meant, push('a', { identifier: 'b' }, { identifier: 'c', delay: 5 }))
    await refused('creations[0].delay', meant, push({ identifier: 'c', reference: 'r', delay: 5, maxTries: 1 }, 'b'))
    await refused('externalID', 'did you mean externalId?', push({ identifier: 'a', externalID: 'x' }))
    await refused('colour', 'it has identifier, input, reference', push({ identifier: 'a', colour: 'red' }))
    // A held task is no creation: the caller has to say which of its fields to push.
    await refused('topic', 'no field of a creation', push(held))
    await fixture.commit(push({ identifier: 'a', delayMs: undefined, headers: { anything: 1 } }))
  })

  test('is not looked for in options that are none: they are refused themselves', async () => {
    const page =
      (options: unknown): ((transaction: AnyTransaction) => unknown) =>
      (transaction) =>
        fixture.tasks.page(transaction, fixture.topic, options as object)
    for (const options of [null, 'failed', 5]) await refused('options', 'must be an object', page(options))
    await fixture.commit(page(undefined))
  })
})
