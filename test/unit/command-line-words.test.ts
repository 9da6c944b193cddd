/** What the command line reads and says: instants, addresses, errors, and no password. */
import { TaskError } from '@taskstream/task-api'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { explain } from '../../packages/task-cli/src/core/explain.ts'
import { formatInstant, parseInstant } from '../../packages/task-cli/src/core/instant.ts'
import { toLocation } from '../../packages/task-cli/src/core/location.ts'
import { integer, positive, toFilter } from '../../packages/task-cli/src/core/options.ts'
import { withoutSecrets } from '../../packages/task-cli/src/core/secrets.ts'

afterEach(() => {
  vi.unstubAllEnvs()
})

describe('an instant', () => {
  const february = Date.UTC(2024, 1, 28) * 1_000

  test.each([
    ['2024-02-28', february],
    ['2024-02-28T01:02', february + 3_720_000_000],
    ['2024-02-28 01:02:03', february + 3_723_000_000],
    ['2024-02-28T01:02:03.5Z', february + 3_723_500_000],
    ['2024-02-28T00:00:00.000001Z', february + 1],
    ['2024-02-28T01:00:00+01:00', february],
    ['2024-02-28T00:00-00:30', february + 1_800_000_000],
    ['1970-01-01', 0],
    ['1970-01-01T00:00:00.000001Z', 1],
    ['2199-12-31T23:59:59.999999Z', Date.UTC(2200, 0, 1) * 1_000 - 1],
    ['2024-02-29', february + 86_400_000_000],
  ])('%s is so many microseconds', (text, micros) => {
    expect(parseInstant(text)).toBe(micros)
  })

  test.each([
    '',
    '2024',
    '2024-02-30',
    '2023-02-29',
    '2024-13-01',
    '1969-12-31',
    '2200-01-01',
    '2024-02-28T25:00',
    '2024-02-28T00:00:00.1234567Z',
    '2024-02-28T00',
    '2024-02-28T00:00 Z',
    'x2024-02-28',
    '2024-02-28x',
  ])('%s is none', (text) => {
    expect(parseInstant(text)).toBeUndefined()
  })

  test.each([
    [0, '2024-02-28T00:00:00Z'],
    [1, '2024-02-28T00:00:00.000001Z'],
    [500_000, '2024-02-28T00:00:00.500Z'],
    [12_000, '2024-02-28T00:00:00.012Z'],
    [61_999_999, '2024-02-28T00:01:01.999999Z'],
  ])('%d microseconds after midnight is written with as many digits as it has', (micros, text) => {
    expect(formatInstant(february + micros)).toBe(text)
  })
})

describe('an address', () => {
  test.each([
    ['postgres://shop:pass@host:5432/shop', { engine: 'postgres' }],
    ['postgresql://host/shop', { engine: 'postgres' }],
    ['postgres:///shop?host=/run/postgresql', { engine: 'postgres' }],
    ['postgres://shop@/shop?host=/run/postgresql', { engine: 'postgres' }],
    ['postgres://shop:pw@/shop?host=/run/postgresql', { engine: 'postgres' }],
    ['mysql://host/shop', { engine: 'mysql' }],
    ['mariadb://host/shop', { engine: 'mariadb' }],
  ])('%s names its engine', (url, location) => {
    expect(toLocation(url)).toEqual({ ...location, url })
  })

  test.each([
    ['sqlite:tasks.db', 'tasks.db'],
    ['sqlite:///var/tasks.db', '/var/tasks.db'],
    ['file:tasks.db', 'tasks.db'],
    ['file:///var/a%20b.db', '/var/a b.db'],
  ])('%s names a file', (url, path) => {
    expect(toLocation(url)).toEqual({ engine: 'sqlite', path })
  })

  test.each([
    ['', /^--url is empty: give/],
    ['redis://host', /^No engine for redis: give postgres:/],
    ['postgres', /^postgres is no address: give/],
    ['postgresql', /^postgresql is no address/],
    ['mariadb', /^mariadb is no address/],
    ['mysql', /^mysql is no address/],
    ['sqlite', /^sqlite is no address/],
    ['shop@host', /^--url names no engine: give [^;]*$/],
    ['tasks.db', /; for a file of SQLite that is sqlite:tasks\.db$/],
    ['postgres:/host/shop', /begins with postgres:\/\//],
    ['mysql:host', /begins with mysql:\/\//],
    ['postgres://shop:a#b@host/shop', /write %40 for @/],
    ['postgres://shop:a/b@host/shop', /write %40/],
    ['postgres://shop:%zz@host/shop', /write %40/],
    ['postgres://%zz@host/shop', /write %40/],
    ['postgres://host/%zz', /write %40/],
    ['postgres://host:port/shop', /write %40/],
    ['postgres://host/shop#b', /write %40/],
    ['postgres://host/a@b', /write %40/],
    ['sqlite:?mode=ro', /leave out \?mode=ro$/],
    ['sqlite:tasks.db?password=horse', /leave out the \? and all that follows$/],
    ['?password=horse', /^--url names no engine: give [^;]*$/],
    ['sqlite:', /^Which file\? Give sqlite:<file>/],
    ['file:', /^Which file\? Give file:<file>/],
    ['sqlite::memory:', /^:memory: is gone/],
    ['sqlite:tasks.db?mode=ro', /leave out \?mode=ro$/],
    ['file://elsewhere/tasks.db', /no file of this machine/],
  ])('%s is refused', (url, message) => {
    expect(() => toLocation(url)).toThrow(
      expect.objectContaining({ code: 'ARGUMENT_INVALID', data: { argument: 'url' }, message: expect.stringMatching(message) }),
    )
  })
})

test('a refusal of a long address is short, whatever it quotes', () => {
  for (const url of ['x'.repeat(100_000), `${'x'.repeat(100_000)}:a`, `sqlite:a?${'x'.repeat(100_000)}`])
    expect(() => toLocation(url)).toThrow(expect.objectContaining({ message: expect.stringMatching(/^.{1,500}$/s) }))
})

describe('what is printed', () => {
  const started = (url: string | undefined, ...args: string[]): void => {
    vi.stubEnv('TASKSTREAM_URL', url)
    process.argv.splice(2, process.argv.length, ...args)
  }
  const before = [...process.argv]
  afterEach(() => {
    process.argv.splice(0, process.argv.length, ...before)
  })

  test('an address of a hundred thousand @ is searched for passwords in a moment', () => {
    started(`postgres://shop:${'@'.repeat(100_000)}`)
    const began = performance.now()
    expect(withoutSecrets('an error')).toBe('an error')
    expect(performance.now() - began).toBeLessThan(5_000)
  })

  test.each([
    ['postgres://shop:correct-horse@host/shop', 'wrong correct-horse', 'wrong ***'],
    // An address that a file has ends in a line end.
    ['postgres://shop:correct-horse@host/shop\n', 'wrong correct-horse', 'wrong ***'],
    [`postgres://shop:correct-horse${'@'.repeat(50)}host/shop`, 'wrong correct-horse', 'wrong ***'],
    ['postgres://shop:a%40bcd@host/shop', 'a@bcd or a%40bcd', '*** or ***'],
    ['postgres://shop:one/two@host/shop', 'one/two, one, two', '***, ***, ***'],
    ['postgres://shop:one@two@host/shop', 'one@two, one', '***, ***'],
    ['postgres://host/shop?password=secret&x=1', 'secret x=1', '*** x=1'],
    ['postgres://host/shop?sslmode=no&password=secret#x', 'secret', '***'],
    ['postgres:shop:secret@host', 'secret', '***'],
    // A word of two letters is in every text, and the name is not secret.
    ['postgres://shop:pw@host/shop', 'pw', 'pw'],
    ['postgres://shop:shop@host/shop', 'no role shop', 'no role shop'],
    ['postgres://shop:%zzz@host/shop', '%zzz', '***'],
    ['sqlite:tasks.db', 'tasks.db', 'tasks.db'],
  ])('has no password of %s', (url, text, shown) => {
    started(url)
    expect(withoutSecrets(text)).toBe(shown)
    started(undefined, 'topics', '--url', url)
    expect(withoutSecrets(text)).toBe(shown)
    started(undefined, `--url=${url}`)
    expect(withoutSecrets(text)).toBe(shown)
  })

  test('names an error by its code, in words of the command line', () => {
    expect(explain(new Error('no'))).toBe('error: no')
    expect(explain('no')).toBe('error: no')
    expect(explain(Object.assign(new Error('no'), { code: 'ENOENT' }))).toBe('error: no')
    expect(explain(new TaskError('ARGUMENT_INVALID', 'no\n  here'))).toBe('error: no (ARGUMENT_INVALID)\n  here')
    const said = (code: ConstructorParameters<typeof TaskError>[0], data: object): string =>
      explain(new TaskError(code, 'x', { ...data }))
    expect(said('SCHEMA_MISSING', {})).toMatch(/Run: taskstream migrate up \(SCHEMA_MISSING\)$/)
    expect(said('SCHEMA_OLDER', { found: 2, known: 5 })).toMatch(/version 2, .* needs 5\. Run: taskstream migrate up/)
    expect(said('SCHEMA_NEWER', { found: 7, known: 5 })).toMatch(/version 7, .* knows 5: upgrade/)
    expect(said('TOPIC_UNKNOWN', { topic: 'a.b/c:d@e-f_1' })).toMatch(
      /no topic "a.b\/c:d@e-f_1" .*topic create a.b\/c:d@e-f_1\) \(/,
    )
    expect(said('TOPIC_UNKNOWN', { topic: "it's" })).toMatch(/topic create 'it'\\''s'\) \(/)
    expect(said('TOPIC_DIFFERENT', { topic: 'mail' })).toMatch(/"mail" has another order.*: taskstream topic options mail \(/)
    expect(said('TOPIC_NOT_KEYED', { topic: 'mail' })).toMatch(/"mail" keeps no index.*--keyed/)
    expect(said('TIMER_UNKNOWN', { scope: 'own', id: 'report' })).toMatch(/no timer "report" in the scope "own".*periodic ls/)
    expect(said('TIMER_DUPLICATE', { scope: 'own', id: 'report' })).toMatch(/"report" in the scope "own" already: --replace/)
  })
})

describe('an option', () => {
  test('is a whole number, or refused', () => {
    expect([integer('0'), integer('-12'), integer('007')]).toEqual([0, -12, 7])
    for (const text of ['', 'x', '1.5', '1e3', ' 1', '--1']) expect(() => integer(text)).toThrow(/whole number/)
    expect(positive('1')).toBe(1)
    for (const text of ['0', '-1']) expect(() => positive(text)).toThrow(/at least 1/)
  })

  test('of a filter is asked for where it was given', () => {
    expect(toFilter({})).toEqual({})
    expect(toFilter({ state: ['failed', 'ready'], identifier: '', reference: 'r', from: 0, to: 9 })).toEqual({
      states: ['failed', 'ready'],
      identifier: '',
      reference: 'r',
      from: 0,
      to: 9,
    })
  })
})
