/**
 * Values that no program should pass, and some do: each by a name, so that a failure prints the name and not the value. They are made anew for each
 * case, as some can be used only once.
 */

/** What the getters, proxies and conversions below throw. It belongs to the caller, so a call may let it through. */
export class CallersOwn extends Error {
  constructor() {
    super("the caller's own")
  }
}

const throwing = (): never => {
  throw new CallersOwn()
}

const everyTrap = new Proxy({}, { get: () => throwing })
const deepArray = (depth: number): unknown => {
  let value: unknown = []
  for (let level = 0; level < depth; level++) value = [value]
  return value
}

/** A text that would be SQL if it were taken for a part of a statement. */
const statement = { texts: ['(select fuzz from fuzz_injected)'], values: [] }

const makers: Readonly<Record<string, () => unknown>> = {
  undefined: () => undefined,
  null: () => null,
  true: () => true,
  false: () => false,
  NaN: () => Number.NaN,
  '0': () => 0,
  '-0': () => -0,
  '1': () => 1,
  '-1': () => -1,
  '0.5': () => 0.5,
  Infinity: () => Infinity,
  '-Infinity': () => -Infinity,
  '2^31': () => 2 ** 31,
  '2^32': () => 2 ** 32,
  '2^53 - 1': () => Number.MAX_SAFE_INTEGER,
  '2^53': () => 2 ** 53,
  '1e308': () => 1e308,
  '5e-324': () => 5e-324,
  '0n': () => 0n,
  '2n ** 64n': () => 2n ** 64n,
  '2n ** 300_000n': () => 2n ** 300_000n,
  'empty text': () => '',
  blank: () => ' ',
  NUL: () => 'a\0b',
  'high surrogate': () => 'a\uD800',
  'low surrogate': () => '\uDC00b',
  'right-to-left': () => '\u202Egpj\u2066',
  'line ends': () => 'a\r\n\u2028\u2029\u0085b',
  __proto__: () => '__proto__',
  constructor: () => 'constructor',
  toString: () => 'toString',
  'number in text': () => '1',
  'statement in text': () => "'; drop table task; --",
  '501 characters': () => 'x'.repeat(501),
  '300 000 characters': () => 'x'.repeat(300_000),
  '300 000 quotes': () => '"'.repeat(300_000),
  '100 000 emoji': () => '💥'.repeat(100_000),
  symbol: () => Symbol('fuzz'),
  'well-known symbol': () => Symbol.iterator,
  function: () => () => 1,
  'function that throws': () => throwing,
  'async function': () => async () => 1,
  class: () => URLSearchParams,
  'invalid Date': () => new Date(Number.NaN),
  'first Date': () => new Date(-8.64e15),
  'last Date': () => new Date(8.64e15),
  'epoch Date': () => new Date(0),
  'Date in name': () => Object.create(Date.prototype) as unknown,
  '[]': () => [],
  '[[]]': () => [[]],
  '[null]': () => [null],
  '[undefined]': () => [undefined],
  '[symbol]': () => [Symbol('fuzz')],
  '[""]': () => [''],
  'sparse array': () => Object.assign([], { length: 3, 1: 1 }),
  'array of holes': () => Object.assign([], { length: 300_000 }),
  // One more than any call takes.
  'array of 100 001 texts': () => Array.from({ length: 100_001 }, () => 'ready'),
  'deep array': () => deepArray(20_000),
  '{}': () => ({}),
  'frozen object': () => Object.freeze({}),
  'object without prototype': () => Object.create(null) as unknown,
  'own __proto__': () => JSON.parse('{"__proto__": {"identifier": "a"}}') as unknown,
  'own constructor': () => ({ constructor: 1, hasOwnProperty: 1 }),
  'inherited names': () => Object.create({ identifier: 'a', sequence: 1, size: -1 }) as unknown,
  'object with a length': () => ({ length: 300_000 }),
  statement: () => statement,
  thenable: () => ({ then: () => {} }),
  'thrown by toString': () => ({ toString: throwing, valueOf: throwing }),
  'toString without a text': () => ({ toString: () => ({}), valueOf: () => ({}) }),
  'thrown by toPrimitive': () => ({ [Symbol.toPrimitive]: throwing }),
  'thrown by toJSON': () => ({ toJSON: throwing }),
  'thrown by an iterator': () => ({ [Symbol.iterator]: throwing }),
  'iterator of nothing': () => ({ [Symbol.iterator]: 1 }),
  'getters that throw': () =>
    Object.defineProperties(
      {},
      Object.fromEntries(
        ['identifier', 'size', 'topic', 'sequence', 'states'].map((name) => [
          name,
          { get: throwing, enumerable: true, configurable: true },
        ]),
      ),
    ),
  'proxy that throws': () => new Proxy({}, everyTrap as ProxyHandler<object>),
  'proxy of an array': () => new Proxy([], {}),
  'revoked proxy': () => {
    const { proxy, revoke } = Proxy.revocable({}, {})
    revoke()
    return proxy
  },
  circle: () => {
    const circle: Record<string, unknown> = {}
    circle['self'] = circle
    return circle
  },
  Map: () => new Map(),
  'Map of wild things': () =>
    new Map<unknown, unknown>([
      [null, 1],
      [Symbol('fuzz'), 2],
    ]),
  Set: () => new Set([1]),
  WeakMap: () => new WeakMap(),
  bytes: () => new Uint8Array(3),
  'shared bytes': () => new BigInt64Array(2),
  promise: () => Promise.resolve(1),
  RegExp: () => /a/,
  Error: () => new Error('fuzz'),
  URL: () => new URL('http://example.org/'),
  'boxed text': () => new String('a'),
  'boxed number': () => new Number(1),
  globalThis: () => globalThis,
}

/** The names of all wild values, the simplest first: a failure shrinks towards them. */
export const wildNames: readonly string[] = Object.keys(makers)

/** Makes the wild value of this name. */
export function wild(name: string): unknown {
  const make = makers[name]
  if (!make) throw new Error(`There is no wild value ${name}`)
  return make()
}

/** The names of options that no object has, and some that every object has. */
export const wildKeys: readonly string[] = [
  'constructor',
  '__proto__',
  'toString',
  'length',
  'then',
  '',
  'sizee',
  '0',
  'x'.repeat(300_000),
]
