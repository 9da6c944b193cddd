/** Supplements of a task come back by their token, for that task only. */
import { supplementToken, TaskSupplement } from '@taskstream/task-api'
import type { Task } from '@taskstream/task-api'
import { describe, expect, expectTypeOf, test, vi } from 'vitest'

const Total = supplementToken<number>('total')
const task: Task = { topic: 't', sequence: 1, identifier: 'a' }

describe('a supplement', () => {
  test('comes back as what its token says', () => {
    const supplement = new TaskSupplement()
    supplement.register(Total, 7, task)
    expectTypeOf(supplement.require(Total, task)).toEqualTypeOf<number>()
    expectTypeOf(supplement.probe(Total, task)).toEqualTypeOf<number | undefined>()
    expectTypeOf(supplement.suggest(Total, () => 8, task)).toEqualTypeOf<number>()
    expectTypeOf(supplement.suggest(Total, async () => 8, task)).toEqualTypeOf<number | Promise<number>>()
    // @ts-expect-error -- text is no total
    expect(() => supplement.register(Total, 'seven', task)).toThrow()
    expect(supplement.require(Total, task)).toBe(7)
  })

  test('belongs to a task, whatever object stands for it, and to no other', () => {
    const supplement = new TaskSupplement()
    supplement.register(Total, 7, task)
    expect(supplement.require(Total, { ...task })).toBe(7)
    for (const other of [{ topic: 'u' }, { sequence: 2 }, { identifier: 'b' }]) {
      expect(supplement.probe(Total, { ...task, ...other })).toBeUndefined()
    }
    expect(supplement.probe(Total)).toBeUndefined()
  })

  test('belongs to a token: two of one name are two kinds', () => {
    const supplement = new TaskSupplement()
    supplement.register(Total, 7)
    expect(supplement.probe(supplementToken<number>('total'))).toBeUndefined()
    expect(supplement.probe(Total)).toBe(7)
  })

  test('belongs to a qualifier, or to none', () => {
    const supplement = new TaskSupplement()
    for (const [index, qualifier] of [undefined, '', 'null', 'EUR'].entries()) {
      supplement.register(Total, index, 'global', qualifier)
      supplement.register(Total, 10 + index, task, qualifier)
    }
    for (const [index, qualifier] of [undefined, '', 'null', 'EUR'].entries()) {
      expect(supplement.require(Total, 'global', qualifier)).toBe(index)
      expect(supplement.require(Total, task, qualifier)).toBe(10 + index)
    }
    expect(supplement.probe(Total, task, 'NOK')).toBeUndefined()
  })

  test('is registered once: the first one stays', () => {
    const supplement = new TaskSupplement()
    supplement.register(Total, 7, task, 'EUR')
    expect(() => supplement.register(Total, 8, { ...task }, 'EUR')).toThrow(
      expect.objectContaining({
        code: 'SUPPLEMENT_DUPLICATE',
        message: 'There is a supplement "total" (EUR) of t/a@1 already',
        data: { token: 'total', task, qualifier: 'EUR' },
      }),
    )
    expect(supplement.require(Total, task, 'EUR')).toBe(7)
  })

  test('that is missing is said to be, by the one who requires it', () => {
    const supplement = new TaskSupplement()
    expect(() => supplement.require(Total)).toThrow(
      expect.objectContaining({
        code: 'SUPPLEMENT_MISSING',
        message: expect.stringContaining('"total" for all tasks'),
        data: { token: 'total', task: 'global', qualifier: undefined },
      }),
    )
    expect(() => supplement.require(Total, task, 'EUR')).toThrow(
      expect.objectContaining({ data: { token: 'total', task, qualifier: 'EUR' } }),
    )
  })

  test('may be a value that is not much of one', () => {
    const Nothing = supplementToken<undefined>('nothing')
    const supplement = new TaskSupplement()
    supplement.register(Nothing, undefined)
    expect(supplement.require(Nothing)).toBeUndefined()
    expect(() => supplement.register(Nothing, undefined)).toThrow(expect.objectContaining({ code: 'SUPPLEMENT_DUPLICATE' }))
    expect(supplement.suggest(Nothing, () => expect.unreachable('there is one'))).toBeUndefined()
  })
})

describe('a suggestion', () => {
  test('is computed where there is no value, and is the value then', () => {
    const supplement = new TaskSupplement()
    const factory = vi.fn(() => 7)
    expect(supplement.suggest(Total, factory, task)).toBe(7)
    expect(supplement.suggest(Total, factory, { ...task })).toBe(7)
    expect(factory).toHaveBeenCalledOnce()
    expect(supplement.require(Total, task)).toBe(7)
    expect(() => supplement.register(Total, 8, task)).toThrow(expect.objectContaining({ code: 'SUPPLEMENT_DUPLICATE' }))
  })

  test('made by an asynchronous factory is computed once for all who ask meanwhile', async () => {
    const supplement = new TaskSupplement()
    const { promise, resolve } = Promise.withResolvers<number>()
    const factory = vi.fn(() => promise)
    const asked = [supplement.suggest(Total, factory), supplement.suggest(Total, factory)]
    expect(supplement.probe(Total)).toBeUndefined()
    expect(() => supplement.require(Total)).toThrow(expect.objectContaining({ code: 'SUPPLEMENT_MISSING' }))
    resolve(7)
    expect(await Promise.all(asked)).toEqual([7, 7])
    expect(supplement.suggest(Total, factory)).toBe(7)
    expect(factory).toHaveBeenCalledOnce()
  })

  test('gives way to what is registered while it is computed', async () => {
    const supplement = new TaskSupplement()
    const asked = supplement.suggest(Total, async () => 7)
    supplement.register(Total, 8)
    expect(await asked).toBe(8)
    expect(supplement.require(Total)).toBe(8)
  })

  test('that fails leaves nothing behind, and may be made again', async () => {
    const supplement = new TaskSupplement()
    const failed = [1, 2].map(() => supplement.suggest(Total, () => Promise.reject<number>(new Error('broken'))))
    await expect(Promise.all(failed)).rejects.toThrow('broken')
    expect(() =>
      supplement.suggest(Total, (): number => {
        throw new Error('broken, too')
      }),
    ).toThrow('broken, too')
    expect(supplement.probe(Total)).toBeUndefined()
    expect(await supplement.suggest(Total, async () => 7)).toBe(7)
  })
})
