/** A composite that could not run is refused when it is built, with what is wrong with it. */
import { supplementToken, TaskDecision } from '@taskstream/task-api'
import { composite } from '@taskstream/task-processor'
import type { Composite } from '@taskstream/task-processor'
import { describe, expect, test } from 'vitest'
import { decide, heldTasks, said } from '../composite.ts'

const nothing = (): void => {}
const refused = (argument: string): unknown =>
  expect.objectContaining({ code: 'ARGUMENT_INVALID', data: expect.objectContaining({ argument }) as unknown })

describe('a composite', () => {
  test('is immutable: a beginning can be shared', async () => {
    const beginning = composite().each('first', nothing)
    const one = beginning.each('second', () => TaskDecision.filter('one'), { after: ['first'] })
    const other = beginning.batch('second', nothing, { after: ['first'] })
    expect(beginning.steps).toEqual([{ id: 'first', kind: 'each', after: [] }])
    expect(one.steps).toEqual([...beginning.steps, { id: 'second', kind: 'each', after: ['first'] }])
    expect(other.steps).toEqual([...beginning.steps, { id: 'second', kind: 'batch', after: ['first'] }])
    expect(said(await decide(beginning, heldTasks('a')))).toEqual(['a success'])
    expect(said(await decide(one, heldTasks('a')))).toEqual(['a filter: one'])
  })

  test('refuses an id that is taken, whatever the kind of its step', () => {
    const pipeline = composite().each('a', nothing).batch('b', nothing)
    expect(() => pipeline.each('b', nothing)).toThrow(refused('the id of a step'))
    expect(() => pipeline.batch('a', nothing)).toThrow('the id of a step must not be that of another: "a"')
  })

  test('refuses to wait for a step that was not added before: there is no circle (B23)', () => {
    const pipeline = composite()
      .each('a', nothing)
      .each('b', nothing, { after: ['a'] })
    for (const after of ['c', 'd', 'toString', ''])
      expect(() => (pipeline as Composite<unknown, string>).each('c', nothing, { after: ['a', after] })).toThrow(
        refused('step "c": after'),
      )
    expect(() => composite<unknown>().batch('c', nothing, { after: ['a' as never] })).toThrow('which are none: "a"')
    expect(() => pipeline.each('c', nothing, { after: 'a' as never })).toThrow(refused('step "c": after'))
    expect(pipeline.each('c', nothing, { after: ['a', 'b', 'a'] }).steps.at(-1)?.after).toEqual(['a', 'b'])
  })

  test('refuses ids, functions and bounds that are none', () => {
    for (const id of ['', 'x'.repeat(101), 'a\0', 7, undefined])
      expect(() => composite().each(id as string, nothing)).toThrow(refused('the id of a step'))
    for (const handle of [undefined, 'a', {}]) {
      expect(() => composite().each('a', handle as never)).toThrow(refused('step "a"'))
      expect(() => composite().batch('a', handle as never)).toThrow(refused('step "a"'))
    }
    for (const concurrency of [0, 10_001, 1.5, '2'])
      expect(() => composite().each('a', nothing, { concurrency: concurrency as number })).toThrow(refused('concurrency'))
  })

  test('refuses options that are none', () => {
    for (const concurrency of [-1, 101, 1.5]) expect(() => composite({ concurrency })).toThrow(refused('concurrency'))
    expect(() => composite({ pendingOnClose: 'drop' as never })).toThrow(refused('pendingOnClose'))
    expect(() => composite({ contexts: [{}, (() => {}) as never] })).toThrow(refused('contexts[1]'))
    expect(() => composite({ supplement: {} as never })).toThrow(refused('supplement'))
    expect(() => composite({ decorate: {} as never })).toThrow(refused('decorate'))
  })

  test('without a step is not opened', () => {
    expect(() => composite().open('t')).toThrow(refused('a composite'))
  })

  test('has its mistakes found by the compiler', () => {
    const Total = supplementToken<number>('total')
    const pipeline = composite().each('a', nothing)
    // @ts-expect-error -- a step that was not added before
    expect(() => pipeline.each('b', nothing, { after: ['c'] })).toThrow()
    // @ts-expect-error -- a value that nothing provides
    pipeline.each('b', () => 7)
    // @ts-expect-error -- a value of another type
    pipeline.each('b', () => 'seven', { provides: Total })
    // @ts-expect-error -- a required supplement is of its token's type
    pipeline.each('b', (task, supplement) => void supplement.require(Total, task).length)
    // @ts-expect-error -- decisions of a batch are a Map
    pipeline.batch('b', () => TaskDecision.success())
    // Ids that are found at run time are checked then.
    let chain: Composite<unknown, string> = composite()
    for (const id of ['a', 'b', 'c']) chain = chain.each(id, nothing, { after: chain.steps.slice(-1).map(({ id }) => id) })
    expect(chain.steps.map(({ after }) => after)).toEqual([[], ['a'], ['b']])
  })
})

describe('a flowchart of a composite', () => {
  test('shows each step, whether it takes batches, and what it waits for', () => {
    const pipeline = composite()
      .each('parse', nothing)
      .each('validate', nothing, { after: ['parse'] })
      .batch('enrich', nothing, { after: ['parse'] })
      .batch('store', nothing, { after: ['validate', 'enrich'] })
    expect(pipeline.toMermaid()).toBe(
      `flowchart TD
  step1("parse")
  step2("validate")
  step3[["enrich"]]
  step4[["store"]]
  step1 --> step2
  step1 --> step3
  step2 --> step4
  step3 --> step4
`,
    )
    expect(composite().toMermaid()).toBe('flowchart TD\n')
  })

  test('ends with what is done in the completing transaction', () => {
    const pipeline = composite({ contexts: [{ name: 'store' }, {}, { name: 'push "it"', open: () => ({}) }] })
      .each('first', nothing)
      .each('left', nothing, { after: ['first'] })
      .each('right', nothing)
    expect(pipeline.toMermaid()).toBe(
      `flowchart TD
  step1("first")
  step2("left")
  step3("right")
  context1[("store")]
  context2[("contexts#91;1#93;")]
  context3[("push #34;it#34;")]
  step1 --> step2
  step2 --> context1
  step3 --> context1
  context1 --> context2
  context2 --> context3
`,
    )
  })

  test('has labels in which nothing means anything', () => {
    const label = (id: string): string | undefined => /\("(.*)"\)/.exec(composite().each(id, nothing).toMermaid())?.[1]
    expect(label('read-manifest v1.2: a/b_c')).toBe('read-manifest v1.2#58; a/b_c')
    expect(label('kjøre før 10')).toBe('kjøre før 10')
    expect(label('"];x[<b>&#quot;`*\n')).toBe('#34;#93;#59;x#91;#60;b#62;#38;#35;quot#59;#96;#42;#10;')
    expect(label('__init__')).toBe('#95;#95;init#95;#95;')
    expect(label('- 1. end')).toBe('#45; 1#46; end')
  })
})
