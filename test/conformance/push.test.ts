import type { TaskCreation } from '@taskstream/task-api'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { canRun } from '../subject.ts'
import { testOn } from '../test-on.ts'
import { names, openFixture } from './fixture.ts'
import type { Fixture } from './fixture.ts'

describe.skipIf(!canRun)('push', () => {
  let it: Fixture
  beforeAll(async () => void (it = await openFixture()))
  afterAll(() => it[Symbol.asyncDispose]())
  beforeEach(() => it.nextTopic())

  test('returns a task for each creation, in their order, with ascending sequences', async () => {
    const pushed = await it.push('c', { identifier: 'a' }, { identifier: 'b', input: 'x' })
    expect(pushed.map(({ identifier, outcome }) => [identifier, outcome])).toEqual([
      ['c', 'created'],
      ['a', 'created'],
      ['b', 'created'],
    ])
    const sequences = pushed.map(({ sequence }) => sequence)
    expect(sequences).toEqual(sequences.toSorted((left, right) => left - right))
    expect(new Set(sequences).size).toBe(3)
  })

  test('of none writes nothing, and of one takes it without a list', async () => {
    expect(await it.push()).toEqual([])
    expect(await it.commit((transaction) => it.tasks.push(transaction, it.topic, 'one'))).toMatchObject([{ identifier: 'one' }])
    expect(await it.states()).toEqual({ ready: 1 })
  })

  test('takes twenty thousand at once, in order', async () => {
    const identifiers = Array.from({ length: 20_000 }, (_, index) => `t${index}`)
    const pushed = await it.push(...identifiers)
    expect(names(pushed)).toEqual(identifiers)
    expect(names(await it.poll(5))).toEqual(identifiers.slice(0, 5))
  })

  test('keeps every character of identifiers and inputs', async () => {
    const texts = [
      `'; drop table task; --`,
      '"quoted"',
      'back\\slash\\',
      '{braces,}',
      'NULL',
      '{}',
      '[]',
      'tab\tnewline\nreturn\r',
      'æøå 漢字 🎉',
      "it's",
      '$1 ? :1',
      ' ',
      '%_',
    ]
    await it.push(...texts.map((text) => ({ identifier: text, input: `<${text}>` })))
    const polled = await it.poll()
    expect(polled.map(({ identifier, input }) => [identifier, input])).toEqual(texts.map((text) => [text, `<${text}>`]))
  })

  test('keeps an input of a million characters', async () => {
    const input = 'xyz"\\{🎉'.repeat(125_000)
    await it.push({ identifier: 'large', input })
    expect((await it.poll())[0]?.input === input).toBe(true)
  })

  test('takes a blank input or reference for none', async () => {
    await it.push({ identifier: 'a', input: '  \n', reference: ' ' })
    const [info] = await it.page()
    expect(info).not.toHaveProperty('input')
    expect(info).not.toHaveProperty('reference')
  })

  test('sets aside what is pushed suspended or due later, and nothing else', async () => {
    const due = new Date(Date.now() + 3_600_000)
    await it.push(
      { identifier: 'a', suspended: true },
      { identifier: 'b', due },
      { identifier: 'c', delayMs: 3_600_000 },
      { identifier: 'd', delayMs: 0 },
    )
    expect(names(await it.poll())).toEqual(['d'])
    const infos = await it.page()
    expect(infos.map(({ state }) => state)).toEqual(['suspended', 'suspended', 'suspended', 'active'])
    expect(infos[0]).not.toHaveProperty('due')
    expect(infos[1]?.due).toEqual(due)
    expect(infos[2]?.due?.getTime()).toBe((infos[2]?.created.getTime() ?? 0) + 3_600_000)
  })

  test('creates one task for an external id, and says where it is when it is pushed again', async () => {
    const creation = (externalId: string, identifier = externalId): TaskCreation => ({ identifier, externalId })
    const first = await it.push(creation('x'), creation('y'), creation('x', 'again'))
    expect(first.map(({ outcome, identifier }) => [outcome, identifier])).toEqual([
      ['created', 'x'],
      ['created', 'y'],
      ['duplicate', 'x'],
    ])
    expect(first[2]?.sequence).toBe(first[0]?.sequence)
    const second = await it.push('plain', creation('y', 'other'), creation('z'))
    expect(second.map(({ outcome, identifier }) => [outcome, identifier])).toEqual([
      ['created', 'plain'],
      ['duplicate', 'y'],
      ['created', 'z'],
    ])
    expect(second[1]?.sequence).toBe(first[1]?.sequence)
    expect(await it.states()).toEqual({ ready: 4 })
    await it.nextTopic()
    expect(await it.push(creation('x'))).toMatchObject([{ outcome: 'created' }])
  })

  test('still finds an external id when its task is done', async () => {
    const [first] = await it.push({ identifier: 'a', externalId: 'only' })
    await it.poll()
    expect(await it.push({ identifier: 'a', externalId: 'only' })).toMatchObject([
      { outcome: 'duplicate', sequence: first?.sequence },
    ])
  })

  testOn(['postgres-18', 'pgbouncer'])('of an external id that a rival is pushing waits for the outcome', async () => {
    const creation = { identifier: 'a', externalId: 'rival' }
    for (const [end, outcome] of [
      ['rollback', 'created'],
      ['commit', 'duplicate'],
    ] as const) {
      await it.nextTopic()
      const rival = await it.subject.session()
      await rival.begin()
      await it.tasks.push(rival.transaction, it.topic, creation)
      const pushing = it.push(creation)
      await rival[end]()
      expect(await pushing).toMatchObject([{ outcome }])
      expect(await it.states()).toEqual({ ready: 1 })
    }
  })
})
