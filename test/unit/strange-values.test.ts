/** A value that no program should pass is refused by name, in a short message, and whatever a handler throws becomes a decision. */
import {
  checkInstant,
  checkNames,
  checkTopic,
  duplicates,
  optionNames,
  partialBatch,
  TaskDecision,
  toDecision,
} from '@taskstream/task-api'
import type { TaskKey } from '@taskstream/task-api'
import { buffering, byError, composite, eachTask, never, TaskNode } from '@taskstream/task-processor'
import { cron, preview } from '@taskstream/task-timers'
import { defineTopic, httpRequest } from 'taskstream'
import { expect, test } from 'vitest'

const any = (value: unknown): never => value as never

const revoked = (): object => {
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  return proxy
}

const deep = (): unknown => {
  let value: unknown = []
  for (let level = 0; level < 20_000; level++) value = [value]
  return value
}

/** Values that cannot be made a text. */
const strange: readonly (readonly [string, () => unknown])[] = [
  ['an object without a prototype', () => Object.create(null) as unknown],
  ['a list with a symbol', () => [Symbol('a')]],
  ['a list of twenty thousand levels', deep],
  ['a revoked proxy', revoked],
  [
    'an object whose toString throws',
    () => ({
      toString: () => {
        throw new RangeError('mine')
      },
    }),
  ],
]

test.for(strange)('%s in place of a name is refused, and the error names the argument', ([, make]) => {
  expect(() => checkTopic(make())).toThrow(
    expect.objectContaining({ code: 'ARGUMENT_INVALID', data: expect.objectContaining({ argument: 'topic' }) }),
  )
})

test.for([
  ['text', 'x'.repeat(16_000_000)],
  ['list', Array.from({ length: 300_000 }, () => 1)],
  ['number', 2n ** 1_000_000n],
] as const)('a message shows the beginning of a long %s', ([, value]) => {
  expect(() => checkTopic(value)).toThrow(
    expect.objectContaining({ code: 'ARGUMENT_INVALID', message: expect.stringMatching(/^.{1,200}$/s) }),
  )
})

test.for([new Map([['delayMs', 5]]), new Set(['a']), new Date(0), [], Promise.resolve({})] as const)(
  'a collection in place of options is refused, as what it has in it would be ignored: %o',
  (options) => {
    expect(() => checkNames(optionNames<{ delayMs: number }>('push', { delayMs: true }), options)).toThrow(
      expect.objectContaining({ code: 'ARGUMENT_INVALID', message: expect.stringContaining('such as { delayMs: … }') }),
    )
  },
)

test('what only inherits from Date is no instant', () => {
  expect(() => checkInstant('due', Object.create(Date.prototype))).toThrow(expect.objectContaining({ code: 'ARGUMENT_INVALID' }))
})

test.for(strange)('%s that a handler throws fails its task, and the failure can be stored', ([, make]) => {
  expect(toDecision(make())).toMatchObject({ result: 'failure' })
  expect(toDecision(make()).toMessage()).toMatch(/./)
})

test.for(['message', 'stack', 'name'])(
  'an error with anything in place of its %s fails its task, and the failure can be stored',
  (field) => {
    for (const [, make] of strange) {
      const error = Object.defineProperty(new Error('a'), field, { value: make() })
      expect(typeof toDecision(error).toMessage()).toBe('string')
    }
  },
)

test('an error whose cause cannot be read carries no decision', () => {
  const error = Object.defineProperty(new Error('a'), 'cause', { value: revoked() })
  expect(toDecision(error)).toMatchObject({ result: 'failure' })
})

const refused: readonly (readonly [string, string, () => unknown])[] = [
  ['retry without a pause', 'pause', () => TaskDecision.retry(any(undefined))],
  ['snooze without a pause', 'pause', () => TaskDecision.snooze(any(null))],
  ['withSuccessor without a task', 'successor', () => TaskDecision.success().withSuccessor(any(undefined) as TaskKey)],
  ['combine of what is no Map', 'decisions', () => TaskDecision.combine(any([]), new Map())],
  ['duplicates with a result that nobody knows', 'result', () => duplicates.all({ result: any('constructor') })],
  ['duplicates with a key that is no function', 'key', () => duplicates.outdated({ key: any('identifier') })],
  ['partialBatch without options', 'options', () => partialBatch(any(undefined))],
  ['partialBatch without a delegate', 'delegate', () => partialBatch(any({ predicate: () => true }))],
  ['byError with an arrow function as a class', 'rules[0][0]', () => byError([[any(() => 1), never]])],
  ['buffering without options', 'options', () => buffering(any(undefined))],
  ['composite with contexts that are no list', 'contexts', () => composite({ contexts: any(1) })],
  ['eachTask without a function', 'handle', () => eachTask(any(undefined))],
  ['a node without options', 'options', () => new TaskNode(any(undefined))],
  ['a node without transactions', 'transactions', () => new TaskNode(any({ repository: {} }))],
  [
    'a node with a lease of a symbol',
    'leaseMs',
    () => new TaskNode(any({ repository: {}, transactions: () => {}, leaseMs: Symbol('a') })),
  ],
  [
    'a node with a clock that does not tell time',
    'clock',
    () => new TaskNode(any({ repository: {}, transactions: () => {}, clock: {} })),
  ],
  ['cron with a pattern that is no text', 'pattern', () => cron(any([Symbol('a')]))],
  ['preview without an instant', 'options', () => preview(cron('* * * * *'), 1, any(undefined))],
  ['defineTopic without options', 'options', () => defineTopic('a', any(undefined))],
  ['defineTopic with null as a schema', 'input', () => defineTopic('a', any({ input: null }))],
  ['httpRequest with an object as an address', 'url', () => httpRequest({ url: any(Object.create(null)) })],
]

test.for(refused)('%s is refused', ([, argument, call]) => {
  expect(call).toThrow(expect.objectContaining({ code: 'ARGUMENT_INVALID', data: expect.objectContaining({ argument }) }))
})

test('a stream of batches refuses options that are none when its first batch is asked for', async () => {
  const node = new TaskNode(any({ repository: {}, transactions: () => {} }))
  await expect(node.stream('a', any(null)).next()).rejects.toMatchObject({ code: 'ARGUMENT_INVALID' })
  await expect(node.stream('a', { signal: any(5) }).next()).rejects.toMatchObject({
    code: 'ARGUMENT_INVALID',
    data: { argument: 'signal' },
  })
  expect(() => node.process(any(5), { handler: () => {} })).toThrow(
    expect.objectContaining({ data: expect.objectContaining({ argument: 'topic' }) }),
  )
  expect(() => node.process('a', { handler: () => {}, retainMs: any(null) })).toThrow(
    expect.objectContaining({ data: expect.objectContaining({ argument: 'retainMs' }) }),
  )
})
