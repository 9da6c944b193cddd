/** Which tasks `push` creates, and how it treats tasks whose external id already exists. */
import { TaskDecision } from '@taskstream/task-api'
import type { HeldTask, PushOptions, TaskCreation, TaskInfo } from '@taskstream/task-api'
import { expect, test } from 'vitest'
import { names, thrownBy, useFixture } from './fixture.ts'
import { part, testWhere } from './engine.ts'
import type { Part } from './engine.ts'

export const push: Part = part('push', (engine) => {
  const fixture = useFixture(engine)

  test('returns a task for each creation, in their order, with ascending sequences', async () => {
    const pushed = await fixture.push('c', { identifier: 'a' }, { identifier: 'b', input: 'x' })
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
    expect(await fixture.push()).toEqual([])
    expect(await fixture.commit((transaction) => fixture.tasks.push(transaction, fixture.topic, 'one'))).toMatchObject([
      { identifier: 'one' },
    ])
    expect(await fixture.states()).toEqual({ ready: 1 })
  })

  test('is open to a verb of one’s own, in its transaction and with its options', async () => {
    const pushTwice = fixture.tasks.verb(function* ({ verbs: { push } }, options?: PushOptions) {
      yield* push(fixture.topic, { identifier: 'a', externalId: 'x' }, options)
      return yield* push(fixture.topic, { identifier: 'a', externalId: 'x' }, options)
    })
    expect(await fixture.commit((transaction) => pushTwice(transaction))).toMatchObject([
      { identifier: 'a', outcome: 'duplicate' },
    ])
    expect(await fixture.states()).toEqual({ ready: 1 })
    const supersede = fixture.commit((transaction) => pushTwice(transaction, { insertion: 'supersede' }))
    await expect(supersede).rejects.toMatchObject({ code: 'TOPIC_NOT_KEYED' })
  })

  test('is one of all the verbs that a verb of one’s own may use, in one transaction', async () => {
    const [old] = await fixture.push('old')
    const replace = fixture.tasks.verb(function* ({ verbs }, fails: boolean) {
      const { cancelled } = yield* verbs.cancel(fixture.topic, old!.sequence)
      const pushed = yield* verbs.push(fixture.topic, 'new')
      const held = yield* verbs.poll(fixture.topic)
      yield* verbs.complete(fixture.topic, new Map(held.map((task: HeldTask) => [task, TaskDecision.success()])))
      if (fails) throw new Error('rolled back')
      return [...names(cancelled), ...names(pushed), ...names(held), yield* verbs.count({ topic: fixture.topic })]
    })
    await expect(fixture.commit((transaction) => replace(transaction, true))).rejects.toThrow('rolled back')
    expect(await fixture.states()).toEqual({ ready: 1 })
    const [cancelled, pushed, held, counts] = await fixture.commit<unknown[]>((transaction) => replace(transaction, false))
    expect([cancelled, pushed, held]).toEqual(['old', 'new', 'new'])
    expect([...(counts as ReadonlyMap<string, ReadonlyMap<string, unknown>>).get(fixture.topic)!.keys()].toSorted()).toEqual([
      'filtered',
      'succeeded',
    ])
  })

  test('takes twenty thousand at once, in order', async () => {
    const identifiers = Array.from({ length: 20_000 }, (_, index) => `t${index}`)
    const pushed = await fixture.push(...identifiers)
    expect(names(pushed)).toEqual(identifiers)
    expect(names(await fixture.poll(5))).toEqual(identifiers.slice(0, 5))
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
    await fixture.push(...texts.map((text) => ({ identifier: text, input: `<${text}>` })))
    const polled = await fixture.poll()
    expect(polled.map(({ identifier, input }) => [identifier, input])).toEqual(texts.map((text) => [text, `<${text}>`]))
  })

  test('keeps an input of a million characters', async () => {
    const input = 'xyz"\\{🎉'.repeat(125_000)
    await fixture.push({ identifier: 'large', input })
    expect((await fixture.poll())[0]?.input === input).toBe(true)
  })

  test('takes a blank input or reference for none', async () => {
    await fixture.push({ identifier: 'a', input: '  \n', reference: ' ' })
    const [info] = await fixture.page()
    expect(info).not.toHaveProperty('input')
    expect(info).not.toHaveProperty('reference')
  })

  test('keeps headers that look like what JSON writes for characters that cannot be stored', async () => {
    const headers = { nul: String.raw`\u0000`, half: String.raw`a\ud800`, path: String.raw`C:\\ud83d` }
    await fixture.push({ identifier: 'a', headers })
    expect(await fixture.page()).toMatchObject([{ headers }])
  })

  test('keeps the headers of each task, whether all tasks of a push have the same or some have others or none', async () => {
    const shared: Record<string, string> = { trace: 'first' }
    await fixture.push({ identifier: 'a', headers: shared }, { identifier: 'b', input: 'x', headers: shared })
    await fixture.push({ identifier: 'c', headers: { trace: 'own' } }, { identifier: 'd', headers: shared }, 'e')
    shared['trace'] = 'changed'
    await fixture.push({ identifier: 'f', headers: shared })
    await fixture.push({ identifier: 'g', headers: shared }, { identifier: 'g', headers: shared })
    const kept = (await fixture.page()).map(({ headers }) => headers?.['trace'])
    expect(kept).toEqual(['first', 'first', 'own', 'first', undefined, 'changed', 'changed', 'changed'])
  })

  test('keeps each field of a task, though it is given alone', async () => {
    const due = new Date('2100-01-01T00:00:00Z')
    const fields: readonly (readonly [given: Partial<TaskCreation>, kept: Partial<TaskInfo>])[] = [
      [{ reference: 'r' }, { reference: 'r' }],
      [{ externalId: 'x' }, { externalId: 'x' }],
      [{ suspended: true }, { state: 'suspended' }],
      [{ due }, { due }],
      [{ delayMs: 3_600_000 }, { state: 'suspended', due: expect.any(Date) as Date }],
      [{ deadline: due }, { deadline: due }],
      [{ deadlineMs: 3_600_000 }, { deadline: expect.any(Date) as Date }],
      [{ priority: -7 }, { priority: -7 }],
      [{ maxTries: 3 }, { maxTries: 3 }],
      [{ headers: { type: 'a' } }, { headers: { type: 'a' } }],
    ]
    for (const [given] of fields) await fixture.push({ identifier: 'a', ...given })
    expect(await fixture.page()).toMatchObject(fields.map(([, kept]) => kept))
  })

  test('sets aside what is pushed suspended or due later, and nothing else', async () => {
    const due = new Date(Date.now() + 3_600_000)
    await fixture.push(
      { identifier: 'a', suspended: true },
      { identifier: 'b', due },
      { identifier: 'c', delayMs: 3_600_000 },
      { identifier: 'd', delayMs: 0 },
    )
    expect(names(await fixture.poll())).toEqual(['d'])
    const infos = await fixture.page()
    expect(infos.map(({ state }) => state)).toEqual(['suspended', 'suspended', 'suspended', 'active'])
    expect(infos[0]).not.toHaveProperty('due')
    expect(infos[1]?.due).toEqual(due)
    expect(infos[2]?.due?.getTime()).toBe((infos[2]?.created.getTime() ?? 0) + 3_600_000)
  })

  test('creates one task for an external id, and says where it is when it is pushed again', async () => {
    const creation = (externalId: string, identifier = externalId): TaskCreation => ({ identifier, externalId })
    const first = await fixture.push(creation('x'), creation('y'), creation('x', 'again'))
    expect(first.map(({ outcome, identifier }) => [outcome, identifier])).toEqual([
      ['created', 'x'],
      ['created', 'y'],
      ['duplicate', 'x'],
    ])
    expect(first[2]?.sequence).toBe(first[0]?.sequence)
    const second = await fixture.push('plain', creation('y', 'other'), creation('z'))
    expect(second.map(({ outcome, identifier }) => [outcome, identifier])).toEqual([
      ['created', 'plain'],
      ['duplicate', 'y'],
      ['created', 'z'],
    ])
    expect(second[1]?.sequence).toBe(first[1]?.sequence)
    for (const task of [...first, ...second]) expect(task.topic).toBe(fixture.topic)
    expect(await fixture.states()).toEqual({ ready: 4 })
    await fixture.nextTopic()
    expect(await fixture.push(creation('x'))).toMatchObject([{ outcome: 'created' }])
  })

  test('still finds an external id when its task is done', async () => {
    const [first] = await fixture.push({ identifier: 'a', externalId: 'only' })
    const again = { outcome: 'duplicate', sequence: first!.sequence }
    const held = await fixture.poll()
    expect(await fixture.push({ identifier: 'a', externalId: 'only' })).toMatchObject([again])
    await fixture.complete(held)
    expect(await fixture.push({ identifier: 'a', externalId: 'only' })).toMatchObject([again])
    expect(await fixture.states()).toEqual({ succeeded: 1 })
  })

  // Other families lock the task that an external id meets. Acting between two statements needs an adapter of the test's own.
  testWhere(engine.family === 'postgres' && engine.connections > 1 && engine.adapts !== false)(
    'says that a task was deleted before it was found by its external id, and creates one when run again',
    async () => {
      const purged: number[] = []
      const tasks = fixture.subject.tasks({
        adapt: (adapter) =>
          ({
            ...adapter,
            execute: async (...given: Parameters<typeof adapter.execute>) => {
              const rows = await adapter.execute(...given)
              if (given[1].texts.join('').includes('on conflict (topic, external_id)'))
                purged.push(await fixture.commit<number>((transaction) => fixture.tasks.purge(transaction, fixture.topic)))
              return rows
            },
          }) as typeof adapter,
      })
      const session = await fixture.subject.session()
      // The last of the others is pushed before, and stays.
      for (const others of [[], ['b', 'c'], [{ identifier: 'stays', externalId: 'y' }]]) {
        await fixture.nextTopic({ record: 'states' })
        const creations = [{ identifier: 'a', externalId: 'x' }, ...others]
        await fixture.push(creations[0]!)
        await fixture.complete(await fixture.poll())
        const staying = others.filter((other) => typeof other === 'object')
        await fixture.push(...staying)
        await session.begin()
        const error = await thrownBy(() => tasks.push(session.transaction, fixture.topic, creations))
        await session.rollback()
        expect(error).toMatchObject({ code: 'TRANSACTION_CONFLICT', data: { topic: fixture.topic } })
        const outcomes = creations.map((one) => (staying.some((other) => other === one) ? 'duplicate' : 'created'))
        expect((await fixture.push(...creations)).map(({ outcome }) => outcome)).toEqual(outcomes)
      }
      expect(purged).toEqual([1, 1, 1])
      await session.close()
    },
  )
})
