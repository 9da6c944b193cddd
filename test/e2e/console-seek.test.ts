/** Tasks that meet a filter are found a part at a time, and following the parts finds each once. */
import { useFixture } from '@taskstream/task-testing/suite'
import { describe, expect, test } from 'vitest'
import { canRun, engine } from '../subject.ts'
import { Visitor } from './console-scene.ts'

interface Answer {
  readonly tasks: readonly { readonly sequence: number }[]
  readonly next?: number
  readonly bounded: { readonly by: string; readonly reached: boolean }
}

describe.skipIf(!canRun)('a filter of the console', () => {
  const fixture = useFixture(engine)
  const visitor = new Visitor(fixture)

  test('finds what is further off than one step, once and in order, in both directions', async () => {
    // A step is a thousand sequences, so it ends between two of these, from either end.
    const rare = new Set([0, 1, 700, 999, 1_000, 1_399, 1_400, 1_800, 2_399])
    const sequences: number[] = []
    for (let from = 0; from < 2_400; from += 800) {
      const creations = Array.from({ length: 800 }, (_, index) => ({
        identifier: `t${from + index}`,
        ...(rare.has(from + index) && { reference: 'rare' }),
      }))
      for (const { sequence } of await fixture.push(...creations)) sequences.push(sequence)
    }
    const wanted = [...rare].map((index) => sequences[index]!)
    const console = visitor.as('viewer')
    const follow = async (query: string, by: 'after' | 'before', first?: number): Promise<readonly number[]> => {
      const found: number[] = []
      let next = first
      for (let looks = 0; looks < 100; looks++) {
        const at = next === undefined ? '' : `&${by}=${next}`
        const page = await visitor.json<Answer>(console, `topics/${fixture.topic}/tasks?${query}${at}`)
        found.push(...page.tasks.map(({ sequence }) => sequence))
        expect(page.bounded.reached).toBe(page.next !== undefined)
        if (page.next === undefined) return found
        expect(by === 'after' ? page.next > (next ?? -1) : page.next < (next ?? Infinity)).toBe(true)
        next = page.next
      }
      throw new Error('it never ended')
    }
    for (const size of [1, 2, 50]) {
      expect(await follow(`reference=rare&size=${size}`, 'before')).toEqual(wanted.toReversed())
      expect(await follow(`reference=rare&size=${size}`, 'after', sequences[0]! - 1)).toEqual(wanted)
    }
    expect(await follow('reference=nothing', 'before')).toEqual([])
    expect(await follow('reference=nothing', 'after', sequences[0]! - 1)).toEqual([])
    expect(await follow('size=100', 'before')).toEqual(sequences.toReversed())
  })

  test('has a page that says how far it has looked', async () => {
    await fixture.nextTopic()
    await fixture.push('a')
    const page = await (await visitor.get(visitor.as('viewer'), `topics/${fixture.topic}?state=failed`)).text()
    expect(page).toContain('No task matches.')
    expect(page).not.toContain('Older tasks')
  })
})
