/** Retry policies, limiters, decisions, and the other small functions of handlers. */
import {
  duplicates,
  partialBatch,
  TaskDecision,
  TaskSupplement,
  supplementToken,
  taskReasons,
  toDecision,
} from '@taskstream/task-api'
import type { HeldTask } from '@taskstream/task-api'
import { bound, byError, exponential, fixed, linear, never, prioritizing, steps } from '@taskstream/task-processor'
import * as fc from 'fast-check'
import type { FuzzedCall, FuzzedWorld } from '../property.ts'
import { wild, wildNames } from '../wild.ts'

const tries = fc.integer({ min: 1, max: 32_767 })
const ms = fc.constantFrom(0, 1, 1_000, 3_600_000)
const jitter = fc.oneof(fc.constantFrom(0, -0, 1, 0.5), fc.constantFrom([0, 10], [1, 1], [0.9, 1.9]))
const optional = <Fields extends object>(
  required: { [Key in keyof Fields]: fc.Arbitrary<Fields[Key]> },
  rest: Record<string, fc.Arbitrary<unknown>>,
): fc.Arbitrary<object> => fc.record({ ...required, ...rest }, { requiredKeys: Object.keys(required) as never }) as never
const wilds = fc.constantFrom(...wildNames)
const task = { topic: 'a', sequence: 1, identifier: 'b' }
const twice = [task, { ...task, sequence: 2 }]
const Token = supplementToken<unknown>('token')

export async function openRetries(): Promise<FuzzedWorld> {
  const call = <Drawn>(
    name: string,
    drawn: fc.Arbitrary<Drawn>,
    fuzzed: (...args: never[]) => unknown,
    more: Partial<FuzzedCall> = {},
    args: (drawn: Drawn) => readonly unknown[] = (drawn) => drawn as readonly unknown[],
  ): FuzzedCall => ({ name, drawn: drawn as never, args: args as never, call: fuzzed, codes: [], ...more })
  const used = (policy: ReturnType<typeof fixed>): unknown =>
    [1, 2, 1_000, 32_767].map((failed) => {
      const pause = policy({ tries: failed }, new Error('a'))
      if (pause !== undefined && !(Number.isInteger(pause) && pause >= 0)) throw new Error(`A pause of ${pause}`)
      return pause
    })
  /** A thrown value becomes a decision, whatever it is. */
  const decided = (given: unknown): unknown => {
    const decision = toDecision(given).because('terminated')
    const message = decision.inAscii().toMessage() ?? ''
    if (typeof message !== 'string' || !message.isWellFormed() || message.includes('\0') || message.length > 65_536)
      throw new Error('The message cannot be stored')
    return decision.merge(TaskDecision.success()).include(given).isSameAs(decision)
  }
  return {
    calls: [
      call('fixed', fc.tuple(optional({ tries, afterMs: ms }, { jitter })), (options: never) => used(fixed(options))),
      call(
        'linear',
        fc.tuple(optional({ tries, firstMs: fc.constant(5) }, { stepMs: ms, maxMs: fc.constant(1e6), jitter })),
        (options: never) => used(linear(options)),
      ),
      call(
        'exponential',
        fc.tuple(
          optional({ tries, firstMs: fc.constant(5) }, { factor: fc.constantFrom(1, 2.5, 100), maxMs: fc.constant(1e9), jitter }),
        ),
        (options: never) => used(exponential(options)),
      ),
      call(
        'steps',
        fc.tuple(optional({ tries, minMs: fc.constant(5), maxMs: fc.constant(1e6), steps: tries }, { jitter })),
        (options: never) => used(steps(options)),
      ),
      call(
        'byError',
        fc.tuple(),
        (rules: never, otherwise: never) => byError(rules, otherwise),
        {},
        () => [[[TypeError, never]], never],
      ),
      call(
        'byError of an error',
        fc.tuple(wilds),
        (error: unknown) => byError([[TypeError, never]], never)({ tries: 1 } as never, error),
        { isWild: true },
        ([name]) => [wild(name)],
      ),
      call('bound', fc.tuple(fc.integer({ min: 1, max: 10_000 })), (slots: number) => bound(slots)),
      call('prioritizing', fc.tuple(fc.integer({ min: 1, max: 10_000 })), prioritizing as never, {}, ([slots]) => [
        slots,
        () => 0,
      ]),
      call('toDecision', fc.tuple(wilds), decided, {}, ([name]) => [wild(name)]),
      ...['message', 'stack', 'name', 'cause', 'toString'].map((field) =>
        call(
          `toDecision of an Error, ${field}`,
          fc.tuple(wilds),
          (given: unknown) => decided(Object.defineProperty(new Error('a'), field, { value: given })),
          {},
          ([name]) => [wild(name)],
        ),
      ),
      call('retry', fc.tuple(fc.record({ afterMs: ms })), (given: never, why: unknown) =>
        TaskDecision.retry(given, why).toMessage(),
      ),
      call('snooze', fc.tuple(fc.record({ afterMs: ms })), (given: never, why: unknown) =>
        TaskDecision.snooze(given, why).toMessage(),
      ),
      call('because', fc.tuple(fc.constantFrom(...taskReasons)), (reason: never) => TaskDecision.filter('a').because(reason)),
      call('withValue', fc.tuple(fc.constantFrom('1', '{}', '"\\ud800"')), (value: string) =>
        TaskDecision.success().withValue(value).inAscii(),
      ),
      call('withSuccessor', fc.tuple(fc.record({ topic: fc.constant('a'), sequence: fc.nat() })), (key: never) =>
        TaskDecision.success().withSuccessor(key),
      ),
      call(
        'combine',
        fc.tuple(),
        (left: never, right: never) => [TaskDecision.combine(left, right), TaskDecision.merge(left, right)],
        {},
        () => [new Map([[task, TaskDecision.success()]]), new Map()],
      ),
      call(
        'partialBatch',
        fc.tuple(),
        (options: never) => partialBatch(options),
        {},
        () => [{ predicate: () => true, delegate: () => {} }],
      ),
      call(
        'duplicates',
        fc.tuple(),
        (options: never) => [duplicates.all(options)(twice), duplicates.outdated(options)(twice)],
        {},
        () => [{ result: 'filter' }],
      ),
      call(
        'supplement',
        fc.tuple(),
        (one: never, qualifier: never) => {
          const supplement = new TaskSupplement()
          supplement.register(Token, 1, one, qualifier)
          return supplement.require(Token, one, qualifier)
        },
        { codes: ['SUPPLEMENT_MISSING', 'SUPPLEMENT_DUPLICATE'], isUnchanged: true },
        () => [task satisfies Pick<HeldTask, 'topic' | 'sequence' | 'identifier'>, 'a'],
      ),
    ],
    [Symbol.asyncDispose]: async () => {},
  }
}
