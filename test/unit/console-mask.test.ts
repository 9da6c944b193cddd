/** What is kept out of pages and answers, and what is not. */
import { expect, test } from 'vitest'
import { maskMessage, maskText } from '../../packages/task-console/src/core/mask.ts'
import { nameOf, segment } from '../../packages/task-console/src/core/path.ts'
import { roughly, visible } from '../../packages/task-console/src/core/text.ts'

test('secrets in fields are masked at any depth, in texts that are JSON too, and nothing else is', () => {
  const input = {
    total: 12,
    Password: 'a',
    auth: { accessToken: 'b', list: [{ 'api-key': 'c' }] },
    nested: '{"secret":"d","kept":1}',
    none: { token: null },
    cardNumber: 'e',
    my_pin: 'f',
    pass: 'g',
    jwt: 'h',
    cardinality: 1,
    postcard: 'i',
    compass: 'j',
  }
  expect(JSON.parse(maskText(JSON.stringify(input)).text)).toEqual({
    total: 12,
    Password: '•••',
    auth: { accessToken: '•••', list: [{ 'api-key': '•••' }] },
    nested: '{"secret":"•••","kept":1}',
    none: { token: null },
    cardNumber: '•••',
    my_pin: '•••',
    pass: '•••',
    jwt: '•••',
    cardinality: 1,
    postcard: 'i',
    compass: 'j',
  })
  expect(JSON.parse(maskText('{"__proto__":{"password":"a"},"a":1}').text)).toEqual(
    JSON.parse('{"__proto__":{"password":"•••"},"a":1}'),
  )
})

test('secrets in messages are masked, and the words of errors stay', () => {
  for (const [text, shown] of [
    ['declined, password=hunter22', 'declined, password=•••'],
    ['GET /a?access_token=abc&b=1', 'GET /a?access_token=•••&b=1'],
    ['Authorization: Bearer abc.def', 'Authorization: •••'],
    ["{ apiKey: 'abc' }", '{ apiKey: ••• }'],
    ['connect postgres://shop:hunter22@db-1/orders', 'connect postgres://shop:•••@db-1/orders'],
    ['card 4111 1111 1111 1111 declined', 'card ••• declined'],
    ['CardDeclined: insufficient funds', 'CardDeclined: insufficient funds'],
    ['Authorization: token ghp_abc, again', 'Authorization: •••'],
    ['GET /\nCookie: a=1; b=abc\nHost: shop', 'GET /\nCookie: •••\nHost: shop'],
    ['got {"password":"a\\"hunter22"} from it', 'got {"password":••• } from it'.replace(' }', '}')],
    ['$password => "hunter 22", 7', '$password => •••, 7'],
    ['client_secret_value=abc', 'client_secret_value=•••'],
    ['password: ["a b", "c"] refused', 'password: ••• refused'],
    ['card: 4711, session=abc, sid=x', 'card: •••, session=•••, sid=•••'],
    ['sent Bearer abc.def-1 to it', 'sent Bearer ••• to it'],
    [`token="${'x'.repeat(5_000)}" is old`, 'token=••• is old'],
    ['token="abc', 'token=•••'],
    ['discard: no, postcard: yes', 'discard: no, postcard: yes'],
    ["secretAccessKey: 'x'", 'secretAccessKey: •••'],
    ['tokenValue=abc passwordHash: x', 'tokenValue=••• passwordHash: •••'],
    ['AccessToken: x', 'AccessToken: •••'],
    ['UserPassword: x', 'UserPassword: •••'],
    ['apikey:        x\npassword     = y', 'apikey:        •••\npassword     = •••'],
    ['passwords=["x"], token: {"a":"x"}', 'passwords=•••, token: •••'],
    ['TokenExpired: an hour ago', 'TokenExpired: an hour ago'],
    ['PasswordMismatch: no', 'PasswordMismatch: no'],
    ['at 1764265500123456789 of 4915123456789', 'at 1764265500123456789 of 4915123456789'],
    ['wildcard: a, cardinality=3', 'wildcard: a, cardinality=3'],
    ['InvalidToken: unexpected end', 'InvalidToken: unexpected end'],
    ['order 4711 of customer 7', 'order 4711 of customer 7'],
  ] as const)
    expect(maskMessage(text)).toBe(shown)
})

test('a text that begins like JSON and is none, or is nested too deep, makes no error', () => {
  expect(maskText('{"password": "hunter22').text).not.toContain('hunter22')
  const deep = `${'['.repeat(20_000)}{"password":"hunter22"}${']'.repeat(20_000)}`
  expect(maskText(deep).text).not.toContain('hunter22')
  let texts = '{"password":"hunter22"}'
  for (let depth = 0; depth < 12; depth++) texts = JSON.stringify({ a: texts })
  expect(maskText(texts).text).not.toContain('hunter22')
})

test('a text above a megabyte is not shown, and a long one is cut', () => {
  expect(maskText('x'.repeat(1_048_577))).toEqual({ text: '', length: 1_048_577, cut: true })
  expect(maskText('x'.repeat(100_000))).toMatchObject({ length: 100_000, cut: true })
  expect(maskText('x'.repeat(100_000)).text).toHaveLength(65_536)
})

test('every name comes back from a path', () => {
  for (const name of ['a', '.', '..', '~', '~a', 'a/b', '%2F', ' ', 'ä', '‮', 'a?b#c'])
    expect(nameOf(decodeURIComponent(segment(name)))).toBe(name)
})

test('what cannot be seen is shown, and spans are told in steps', () => {
  expect(visible('a\0b\u202Ec\nd')).toBe('a␀b\\u{202e}c␊d')
  expect([0, 4_999, 12_000, 59_000, 61_000, 3_700_000, 90_000_000].map((ms) => roughly(ms))).toEqual([
    'a moment',
    'a moment',
    '10 s',
    '50 s',
    '1 min',
    '1 h 1 min',
    '1 d 1 h',
  ])
})
