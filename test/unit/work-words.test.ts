/** What `taskstream work` reads: durations, policies, commands, variables, addresses and files; and how it shows what others have written. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { taskLimits } from '@taskstream/task-api'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { commandWords } from '../../packages/task-cli/src/work/command-words.ts'
import { decisionOf } from '../../packages/task-cli/src/work/decision-line.ts'
import { durationOf, durationOption, durationText } from '../../packages/task-cli/src/work/durations.ts'
import { headersIn, secretIn } from '../../packages/task-cli/src/work/header-file.ts'
import { readHealthAddress } from '../../packages/task-cli/src/work/health-address.ts'
import { oneLine, plainText } from '../../packages/task-cli/src/work/plain-text.ts'
import { retryWords } from '../../packages/task-cli/src/work/retry-words.ts'
import { readVariable } from '../../packages/task-cli/src/work/task-environment.ts'

afterEach(() => void vi.unstubAllEnvs())

describe('a duration', () => {
  test.each([
    ['500ms', 500],
    ['60s', 60_000],
    ['1.5s', 1_500],
    ['5min', 300_000],
    ['2h', 7_200_000],
    ['1d', 86_400_000],
    ['0s', 0],
    [' 1s ', 1_000],
  ])('%s is so many milliseconds', (text, ms) => expect(durationOf(text)).toBe(ms))

  test.each(['', '5', '5m', '-1s', '1e3s', '1 s', '1.s', 'PT5M', '1s 2s', '9999999999s'])('is not %j', (text) => {
    expect(durationOf(text)).toBeUndefined()
  })

  test('of an option is within its bounds', () => {
    const read = durationOption('1s', '1h')
    expect([read('1s'), read('60min')]).toEqual([1_000, 3_600_000])
    for (const text of ['999ms', '61min', 'soon'])
      expect(() => read(text)).toThrow('It must be a duration from 1s to 1h, such as 500ms, 60s, 5min, 2h or 1d.')
  })

  test('is written in the unit that is easiest to read', () => {
    expect([0, 999, 1_000, 1_540, 90_000, 7_200_000, 86_400_000].map(durationText)).toEqual([
      '0ms',
      '999ms',
      '1s',
      '1.5s',
      '1.5min',
      '2h',
      '1d',
    ])
  })
})

describe('a policy', () => {
  test('is none, fixed or exponential', () => {
    expect(retryWords('none')).toEqual({ kind: 'none' })
    expect(retryWords('fixed(36500d, 32767)')).toEqual({ kind: 'fixed', afterMs: taskLimits.durationMs, tries: taskLimits.tries })
    expect(() => retryWords('fixed(36501d, 5)')).toThrow('"36501d" is no pause')
    expect(() => retryWords('fixed(1s, 32768)')).toThrow('is no number of tries')
    expect(retryWords('fixed(30s, 5)')).toEqual({ kind: 'fixed', afterMs: 30_000, tries: 5 })
    expect(retryWords(' exponential( 1s,5min ,10 ) ')).toEqual({ kind: 'exponential', firstMs: 1_000, maxMs: 300_000, tries: 10 })
  })

  test.each([
    ['', /^Write none, /],
    ['linear(1s, 5min, 10)', /^Write none, /],
    ['fixed(30s)', /^Write none, /],
    ['fixed(30s, 5, 6)', /^Write none, /],
    ['fixed(fixed(30s, 5))', /^Write none, /],
    ['fixed(30, 5)', /^"30" is no pause, /],
    ['fixed(30s, many)', /^"many" is no number of tries, 1 to 32767/],
    ['fixed(30s, 0)', /^"0" is no number of tries/],
    ['fixed(30s, 32768)', /^"32768" is no number of tries/],
    ['exponential(5min, 1s, 10)', /^The first pause, 5min, is longer than the longest, 1s\.$/],
  ])('is not %j, and that is said of the part that is wrong', (text, why) => {
    expect(() => retryWords(text)).toThrow(why)
  })
})

describe('a command', () => {
  test.each([
    ['./thumb.sh', ['./thumb.sh']],
    ['  thumb  --size\t200 ', ['thumb', '--size', '200']],
    [`a 'b c' "d e" f\\ g`, ['a', 'b c', 'd e', 'f g']],
    [`a '$HOME | x' "it's" 'say "hi"'`, ['a', '$HOME | x', "it's", 'say "hi"']],
    [String.raw`a "\"\\\$\n" '\n' b\'c`, ['a', String.raw`"\$\n`, String.raw`\n`, "b'c"]],
    [`a "" ''`, ['a', '', '']],
    [`pre'fix 'x`, ['prefix x']],
    ['a {args}', ['a', '{args}']],
  ])('%s has these words', (text, words) => expect(commandWords(text)).toEqual(words))

  test.each(['|', '&', ';', '<', '>', '(', ')', '$', '`', '*', '?', '[', ']', '~', '#'])(
    'with an unquoted %s is refused, as that is for a shell',
    (one) => {
      expect(() => commandWords(`a ${one}b`)).toThrow(`Its ${one} is for a shell: add --shell, or quote it`)
      expect(commandWords(`a '${one}b'`)).toEqual(['a', `${one}b`])
    },
  )

  test.each([
    ['', 'names no program'],
    ['""', 'names no program'],
    ['a "b', 'quote " is not closed'],
    [`a 'b`, "quote ' is not closed"],
    ['a \\', 'follows its last backslash'],
  ])('is not %j', (text, why) => expect(() => commandWords(text)).toThrow(why))
})

describe('a variable', () => {
  test('is passed on, or given, and the last of a name counts', () => {
    vi.stubEnv('GREETING', 'hi')
    expect(readVariable('GREETING')).toEqual({ GREETING: 'hi' })
    expect(readVariable('A=', readVariable('A=b=c', { B: '2' }))).toEqual({ A: '', B: '2' })
  })

  test.each([
    ['NOT_SET_ANYWHERE', /is not set here: export it/],
    ['1A=b', /must be NAME, or NAME=value/],
    ['=b', /must be NAME, or NAME=value/],
    ['TASKSTREAM_FILE=x', /TASKSTREAM_FILE is set for each task/],
  ])('is not %j', (text, why) => expect(() => readVariable(text)).toThrow(why))
})

describe('an address for probes', () => {
  test.each([
    ['127.0.0.1:9100', { host: '127.0.0.1', port: 9_100 }],
    ['127.8.0.1:0', { host: '127.8.0.1', port: 0 }],
    ['localhost:1', { host: 'localhost', port: 1 }],
    ['[::1]:65535', { host: '::1', port: 65_535 }],
  ])('is %s', (text, address) => expect(readHealthAddress(text)).toEqual(address))

  test.each([
    '0.0.0.0:9100',
    '[::]:9100',
    '10.0.0.7:9100',
    'example.org:9100',
    '127.0.0.1.example.org:9100',
    '[::ffff:7f00:1]:1',
  ])('is not %s, which others can reach', (text) => expect(() => readHealthAddress(text)).toThrow('Only this machine may ask'))

  test.each(['9100', ':9100', '127.0.0.1', '127.0.0.1:65536', '::1:9100', '127.0.0.1:9100/livez'])('is not %s', (text) => {
    expect(() => readHealthAddress(text)).toThrow('It must be an address such as 127.0.0.1:9100.')
  })
})

describe('a file of headers', () => {
  test('has a header on each line, and a secret is all of its file', () => {
    const folder = mkdtempSync(join(tmpdir(), 'headers-'))
    try {
      const file = join(folder, 'headers')
      writeFileSync(file, 'authorization: Bearer a:b \r\n# x: y\n\nX-Tenant:7\n')
      expect(headersIn(file)).toEqual({ authorization: 'Bearer a:b', 'X-Tenant': '7' })
      writeFileSync(file, ' whsec_abc\n')
      expect(secretIn(file)).toBe('whsec_abc')
      expect(() => headersIn(file)).toThrow(`Line 1 of ${file} is no header`)
      expect(() => secretIn(join(folder, 'none'))).toThrow('--secret-file: ')
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})

describe('what a program writes', () => {
  test.each([
    ['\u001B[1;31mred\u001B[0m', 'red'],
    ['\u001B]0;title\u0007x', 'x'],
    ['\u001B]8;;http://example.org\u001B\\link\u001B]8;;\u001B\\', 'link'],
    ['10%\r50%\r\ndone\n', '10%\n50%\ndone'],
    ['a\0b\u0007c\u009Bd', 'a\uFFFDb\uFFFDc\uFFFDd'],
    ['tab\tand\nline', 'tab\tand\nline'],
    ['\n\n 日 😀 \n', '日 😀'],
  ])('%j is kept as text', (written, text) => expect(plainText(Buffer.from(written))).toBe(text))

  test('is text even if it is none', () => {
    expect(plainText(Uint8Array.of(0xff, 0x41, 0xc3))).toBe('\uFFFDA\uFFFD')
    expect(oneLine('a\r\n\u001B[2Jb\u2028c')).toBe('a b c')
  })
})

describe('the last line of an output', () => {
  test('is a decision only if it is an object with one', () => {
    for (const text of ['', 'done', '3', 'null', '[]', '{"pages":3}', '{"decision":"failure"}\nafterwards'])
      expect(decisionOf(text)).toBeUndefined()
    expect(decisionOf('working\n{"decision":"failure","message":"no"}')).toMatchObject({
      result: 'failure',
      explanations: ['no'],
    })
  })

  test.each([
    ['{"decision":"gone"}', /^decision must be one of success, failure, retry, snooze, filter, suspension/],
    ['{"decision":"retry"}', /^afterMs must be/],
    ['{"decision":"retry","afterMs":"5"}', /^afterMs must be/],
    ['{"decision":"filter","afterMs":5}', /^afterMs is no field of the decision filter/],
    ['{"decision":"failure","message":5}', /^message must be a string/],
    ['{"decision":"toString"}', /^decision must be one of/],
  ])('is refused as the decision %s', (text, why) => expect(() => decisionOf(text)).toThrow(why))
})
