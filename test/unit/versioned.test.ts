/** A schema with versions: what is pushed fits the newest, and what was pushed before is brought up to it step by step. */
import type { InputSchema } from '@taskstream/task-api'
import { type } from 'arktype'
import { defineJob, defineTopic, json, versioned } from 'taskstream'
import * as v from 'valibot'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { inputOf, pushedVersionOf } from '../../packages/task-jobs/src/definitions/task-input.ts'
import type { StoredInput } from '../../packages/task-jobs/src/definitions/task-input.ts'

/** What a handler gets of an input that was stored as this version. */
const read = <Given>(schema: InputSchema<unknown, Given>, input: unknown, version?: unknown): unknown => {
  const task = { input: JSON.stringify(input), ...(version !== undefined && { headers: { version } }) } as StoredInput
  return inputOf(defineJob('bill', { input: schema as InputSchema<unknown, unknown> }), task)
}
const refused = (work: () => unknown): unknown => {
  try {
    return work()
  } catch (error) {
    return error
  }
}

const at = '2026-03-01T12:00:00.000Z'

describe.each<[string, ReturnType<typeof Bill>]>([
  [
    'zod',
    Bill(
      z.object({ id: z.number(), total: z.number().default(1) }),
      z.object({ id: z.string(), total: z.number(), currency: z.string() }),
      z.object({ id: z.string().max(5), totals: z.array(z.number()), currency: z.string().default('EUR') }),
    ),
  ],
  [
    'valibot',
    Bill(
      v.object({ id: v.number(), total: v.optional(v.number(), 1) }),
      v.object({ id: v.string(), total: v.number(), currency: v.string() }),
      v.object({
        id: v.pipe(v.string(), v.maxLength(5)),
        totals: v.array(v.number()),
        currency: v.optional(v.string(), 'EUR'),
      }),
    ),
  ],
  [
    'arktype',
    Bill(
      type({ id: 'number', total: 'number = 1' }),
      type({ id: 'string', total: 'number', currency: 'string' }),
      type({ id: 'string <= 5', totals: 'number[]', currency: "string = 'EUR'" }),
    ),
  ],
])('versions of %s', (_, bill) => {
  test('are brought up step by step, each from what the schema before has made', () => {
    expect(bill.version).toBe(3)
    expect(read(bill, { id: 7 })).toEqual({ id: '7', totals: [1], currency: 'NOK' })
    expect(read(bill, { id: 7, total: 5 }, 1)).toEqual({ id: '7', totals: [5], currency: 'NOK' })
    expect(read(bill, { id: '7', total: 5, currency: 'SEK' }, 2)).toEqual({ id: '7', totals: [5], currency: 'SEK' })
    expect(read(bill, { id: '7', totals: [5] }, 3)).toEqual({ id: '7', totals: [5], currency: 'EUR' })
  })

  test('that do not fit are refused by the step at which that is seen', () => {
    const misfits: readonly [unknown, number, RegExp][] = [
      [{ id: 'x' }, 1, /"bill" was pushed as version 1, and does not fit the schema of version 1: .*id/],
      [{ id: 7, total: 5, currency: 'SEK' }, 2, /was pushed as version 2, and does not fit the schema of version 2: .*id/],
      [{ id: 700_000 }, 1, /was pushed as version 1, and does not fit the schema of version 3: .*id/],
      [{ id: '7' }, 3, /is not as its schema says: .*totals/],
    ]
    for (const [input, version, message] of misfits)
      expect(refused(() => read(bill, input, version))).toMatchObject({
        code: 'INPUT_INVALID',
        message: expect.stringMatching(message),
        data: { name: 'bill', issues: [expect.stringMatching(/./)] },
      })
  })

  test('are for those who push the schema of the newest', () => {
    expect(bill['~standard'].validate({ id: '7', totals: [], currency: 'SEK' })).toMatchObject({
      value: { id: '7', totals: [], currency: 'SEK' },
    })
    expect(bill['~standard'].validate({ id: 7 })).toHaveProperty('issues')
    expect(bill['~standard']).toMatchObject({ version: 1, vendor: expect.any(String) })
  })
})

interface First {
  id: number
  total: number
}
interface Second {
  id: string
  total: number
  currency: string
}
interface Third {
  id: string
  totals: number[]
  currency: string
}

/** Three versions of one input, by the schemas of any library. */
function Bill(
  first: InputSchema<First, { id: number; total?: number | undefined }>,
  second: InputSchema<Second, Second>,
  third: InputSchema<Third, { id: string; totals: number[]; currency?: string | undefined }>,
) {
  return versioned(first)
    .to(second, (old) => ({ ...old, id: String(old.id), currency: 'NOK' }))
    .to(third, ({ total, ...old }) => ({ ...old, totals: [total] }))
}

describe('an upcast', () => {
  test('is not called for inputs that are new enough, and once for each that is not', () => {
    const calls: string[] = []
    const counted = versioned(json<number>())
      .to(json<number>(), (old) => (calls.push(`to 2 from ${old}`), old + 1))
      .to(json<number>(), (old) => (calls.push(`to 3 from ${old}`), old + 1))
    expect([read(counted, 5, 3), calls]).toEqual([5, []])
    expect([read(counted, 5, 2), calls.splice(0)]).toEqual([6, ['to 3 from 5']])
    expect([read(counted, 5), calls]).toEqual([7, ['to 2 from 5', 'to 3 from 6']])
  })

  test('returns what a push would have stored: the next schema sees it after JSON', () => {
    const seen: unknown[] = []
    const next = z.any().refine((value) => seen.push(value))
    const loose = versioned(json<unknown>()).to(next, () => ({ at: new Date(at), note: undefined, list: [undefined] }))
    read(loose, {})
    expect(seen).toStrictEqual([{ at, list: [null] }])
  })

  test('that throws, or returns no JSON, refuses the input for good', () => {
    const cause = new Error('no currency')
    const broken = (upcast: () => unknown): unknown =>
      refused(() => read(versioned(json<number>()).to(json<unknown>(), upcast), 7))
    expect(
      broken(() => {
        throw cause
      }),
    ).toMatchObject({
      code: 'INPUT_INVALID',
      message: 'The input of a task "bill" was pushed as version 1, and the upcast to version 2 has thrown: no currency',
      data: { name: 'bill', version: 1 },
      cause,
    })
    for (const value of [undefined, () => 1, 10n, Symbol('a')])
      expect(broken(() => value)).toMatchObject({
        code: 'INPUT_INVALID',
        message: expect.stringContaining('the upcast to version 2 has returned what is no JSON'),
      })
  })

  test('that answers later is refused as a schema is that checks later, and its rejection ends no process', async () => {
    const later = versioned(json<number>()).to(json<unknown>(), async () => Promise.reject(new Error('too late')))
    expect(refused(() => read(later, 7))).toMatchObject({
      code: 'ARGUMENT_INVALID',
      message: expect.stringContaining('must return at once'),
    })
    // An error that nobody handles would be reported after this turn, and fail the run.
    await new Promise((resolve) => {
      setImmediate(resolve)
    })
  })
})

describe('the version of an input', () => {
  test('is 1 without a header, and otherwise a whole number from 1', () => {
    expect([undefined, {}, { version: 1 }, { version: 7 }].map((headers) => pushedVersionOf(headers ? { headers } : {}))).toEqual(
      [1, 1, 1, 7],
    )
    for (const version of [0, -1, 1.5, 2 ** 53, '2', '', null, true, [2], { version: 2 }]) {
      expect(pushedVersionOf({ headers: { version } })).toBeUndefined()
      for (const schema of [json<number>(), versioned(json<number>()).to(json<number>(), (old) => old)])
        expect(refused(() => read(schema, 7, version))).toMatchObject({
          code: 'INPUT_INVALID',
          message: expect.stringContaining(`must be a whole number from 1, and is ${JSON.stringify(version)}`),
        })
    }
  })

  test('that is newer than the definition says so, with or without versions of its own', () => {
    for (const [schema, known] of [
      [json<number>(), 1],
      [versioned(json<number>()), 1],
      [versioned(json<number>()).to(json<number>(), (old) => old), 2],
    ] as const)
      expect(refused(() => read(schema, 7, 3))).toMatchObject({
        code: 'INPUT_NEWER',
        message: expect.stringContaining(`has version 3, and this program knows none after ${known}`),
        data: { name: 'bill', version: 3, known },
      })
  })

  test('says nothing to a job without an input', () => {
    expect(inputOf(defineJob('bare'), { headers: { version: 'x' } })).toBeUndefined()
  })
})

test('versions begin with a schema, and have the next with an upcast: the rest is refused by name', () => {
  const one = versioned(json<number>())
  const wrong: readonly [() => unknown, string, RegExp][] = [
    [() => versioned(undefined as never), 'first', /must be given/],
    [() => versioned({} as never), 'first', /must be a Standard Schema/],
    [() => versioned(one), 'first', /must be the schema of one version/],
    [() => one.to(undefined as never, ((old: unknown) => old) as never), 'next', /must be given/],
    [() => one.to({} as never, ((old: unknown) => old) as never), 'next', /must be a Standard Schema/],
    [() => one.to(one, (old) => old), 'next', /must be the schema of one version/],
    [() => one.to(json<number>(), undefined as never), 'upcast', /must be a function/],
    [() => defineJob('bill', { output: one }), 'output', /must not be versioned: only inputs have versions/],
  ]
  for (const [work, argument, message] of wrong)
    expect(refused(work)).toMatchObject({
      code: 'ARGUMENT_INVALID',
      message: expect.stringMatching(message),
      data: { argument },
    })
})

test('versions are values: a later one changes none of those before', () => {
  const one = versioned(json<number>())
  const two = one.to(json<string>(), String)
  const other = one.to(json<boolean>(), Boolean)
  expect([one.version, two.version, other.version]).toEqual([1, 2, 2])
  expect([read(one, 7), read(two, 7), read(other, 7)]).toEqual([7, '7', true])
  expect(defineTopic('bills', { input: two }).settings.input).toBe(two)
})
