/** Limits of topics are set, changed and taken away, and refused where they make no sense. */
import type { TopicLimits } from '@taskstream/task-api'
import { expect, test } from 'vitest'
import { part } from './engine.ts'
import type { Part } from './engine.ts'
import { codeOf, thrownBy, useFixture } from './fixture.ts'

export const limitsSet: Part = part('a limit', (engine) => {
  const fixture = useFixture(engine)

  const limit = (given: TopicLimits, keep = false): Promise<TopicLimits> =>
    fixture.commit<TopicLimits>((transaction) => fixture.tasks.limit(transaction, fixture.topic, given, { keep }))
  const limitsNow = async (): Promise<TopicLimits | undefined> => {
    const all = await fixture.commit<ReadonlyMap<string, TopicLimits>>((transaction) => fixture.tasks.limits(transaction))
    return all.get(fixture.topic)
  }
  /** Makes another topic, and the first one the current one again. */
  const another = async (): Promise<string> => {
    const name = `${fixture.topic}-dead`
    await fixture.commit<boolean>((transaction) => fixture.tasks.initialize(transaction, name))
    return name
  }

  test('is set, changed, and taken away', async () => {
    expect(await limitsNow()).toBeUndefined()
    const deadLetter = await another()
    const all = { total: 5, rate: { count: 10, perMs: 1_000 }, maxEntries: { count: 3, whenFull: 'reject' }, deadLetter } as const
    expect(await limit(all)).toEqual(all)
    expect(await limitsNow()).toEqual(all)
    expect(await limit({ total: 7 }, true)).toEqual(all)
    const less = { total: 7, maxEntries: { count: 4, whenFull: 'drop-oldest' } } as const
    expect(await limit(less)).toEqual(less)
    expect(await limitsNow()).toEqual(less)
    expect(await limit({})).toEqual({})
    expect(await limitsNow()).toBeUndefined()
  })

  test('that was taken away is not given back by a definition', async () => {
    await limit({ total: 3 }, true)
    expect(await limit({})).toEqual({})
    expect(await limit({ total: 3 }, true)).toEqual({})
    expect(await limitsNow()).toBeUndefined()
    expect(await limit({ total: 2 })).toEqual({ total: 2 })
    expect(await limit({ total: 3 }, true)).toEqual({ total: 2 })
  })

  test('goes with its topic', async () => {
    await limit({ total: 1 })
    await fixture.commit<boolean>((transaction) => fixture.tasks.destroy(transaction, fixture.topic))
    expect(await limitsNow()).toBeUndefined()
  })

  test.each<readonly [TopicLimits, RegExp]>([
    [{ total: 0 }, /total .*: 0/],
    [{ total: 1.5 }, /total .*: 1.5/],
    [{ rate: { count: 0, perMs: 1_000 } }, /rate.count .*: 0/],
    [{ rate: { count: 1, perMs: 0 } }, /rate.perMs .*: 0/],
    [{ rate: { count: 1, perMs: 86_400_001 } }, /rate.perMs .*: 86400001/],
    [{ maxEntries: { count: 0 } }, /maxEntries.count .*: 0/],
    [{ maxEntries: { count: 1, whenFull: 'wait' as never } }, /whenFull must be one of reject, drop-oldest: "wait"/],
    [{ totl: 1 } as never, /totl/],
    [null as never, /limits must be an object.*: null/],
    [{ total: 1, rate: null } as never, /rate must be an object.*: null/],
    [{ rate: { count: 1, per: 1_000 } } as never, /per/],
    [{ maxEntries: 5 } as never, /maxEntries must be an object.*: 5/],
    [{ maxEntries: { count: 1, whenfull: 'drop-oldest' } } as never, /whenfull/],
    [{ deadLetter: 5 } as never, /deadLetter .*: 5/],
    [{ deadLetter: '' }, /deadLetter .*: ""/],
  ])('of %j is refused by name', async (given, message) => {
    const error = await thrownBy(() => limit(given))
    expect(error).toMatchObject({ code: 'ARGUMENT_INVALID', message: expect.stringMatching(message) as string })
  })

  test('of a topic that is not known, or whose dead letters go to none, is refused', async () => {
    const of = (topic: string, given: TopicLimits): Promise<unknown> =>
      codeOf(() => fixture.commit<TopicLimits>((transaction) => fixture.tasks.limit(transaction, topic, given)))
    expect(await of('nowhere', { total: 1 })).toBe('TOPIC_UNKNOWN')
    expect(await of(fixture.topic, { deadLetter: 'nowhere' })).toBe('TOPIC_UNKNOWN')
    expect(await of(fixture.topic, { deadLetter: fixture.topic })).toBe('ARGUMENT_INVALID')
    expect(await limitsNow()).toBeUndefined()
  })

  test('whose dead letters would come back is refused, and told by which way', async () => {
    const [second, third] = [await another(), `${fixture.topic}-third`]
    await fixture.commit<boolean>((transaction) => fixture.tasks.initialize(transaction, third))
    const of = (topic: string, deadLetter: string): Promise<TopicLimits> =>
      fixture.commit<TopicLimits>((transaction) => fixture.tasks.limit(transaction, topic, { deadLetter }))
    await of(fixture.topic, second)
    await of(second, third)
    const error = await thrownBy(() => of(third, fixture.topic))
    expect(error).toMatchObject({ code: 'ARGUMENT_INVALID' })
    expect((error as Error).message).toContain(`"${fixture.topic}" → "${second}" → "${third}"`)
    await limit({})
    expect(await of(third, fixture.topic)).toEqual({ deadLetter: fixture.topic })
  })
})
