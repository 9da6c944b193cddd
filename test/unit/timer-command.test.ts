/** `taskstream timer next`, as a process: it needs no database. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { run } from '../e2e/command-line.ts'
import type { Run } from '../e2e/command-line.ts'

const root = join(import.meta.dirname, '..', '..')

const next = (args: readonly string[], stdin?: string): Promise<Run> =>
  run(['timer', 'next', ...args], stdin === undefined ? {} : { stdin })

describe('taskstream timer next', () => {
  test('shows people when a timer elapses, and what changes of clocks do to it', async () => {
    const { code, out, err } = await next(['02:30 Europe/Oslo', '--base', '2024-03-30T00:00:00Z', '--count', '2'])
    expect([code, err]).toEqual([0, ''])
    expect(out).toMatch(/^\*-\*-\* 02:30:00 Europe\/Oslo\n/)
    expect(out).toMatch(/utc +Europe\/Oslo +since\n2024-03-30T01:30:00Z {2}Sat 2024-03-30 02:30:00 \+01:00 CET\n/)
    expect(out).toMatch(/2024-04-01T00:30:00Z {2}Mon 2024-04-01 02:30:00 \+02:00 CEST {2}1d 23h\n/)
    expect(out).toMatch(/before 2024-04-01T00:30:00Z: clocks go forward on 2024-03-31, 02:00 to 03:00: 02:30 does not occur\n$/)
    expect((await next(['*-02-30', '--base', '2024-03-30'])).out).toBe('*-02-30 00:00:00\nnever after 2024-03-30T00:00:00Z\n')
    expect((await next(['2199-12-31 00:00:00', '--base', '2024-03-30'])).out).toMatch(/and never again\n$/)
  })

  test('gives one line of JSON, if that is asked for', async () => {
    const asked = ['12:00', '--base', '2024-02-28T00:00:00Z', '--count', '1'] as const
    const lines = (await next([...asked, '-o', 'ndjson'])).out.split('\n')
    expect(lines).toHaveLength(2)
    expect(JSON.parse(lines[0]!)).toEqual(JSON.parse((await next([...asked, '--json'])).out))
  })

  test('gives programs JSON, with fractions of seconds where there are some', async () => {
    const { out } = await next(['*:*:0.5/29.75', '--base', '2024-02-28T00:00:00.000001Z', '--count', '3', '--json'])
    expect(JSON.parse(out)).toEqual({
      normalized: '*-*-* *:*:00.500000/29.750000',
      next: ['2024-02-28T00:00:00.500Z', '2024-02-28T00:00:30.250Z', '2024-02-28T00:01:00.500Z'],
    })
    const micros = await next(['0:0:0.000001', '--base', '2024-02-28T01:00:00+01:00', '--count', '1', '--json'])
    expect(JSON.parse(micros.out).next).toEqual(['2024-02-28T00:00:00.000001Z'])
    const interval = await next(['every:PT90M', '--base', '2024-02-28T00:00:00Z', '--count', '1', '--json'])
    expect(JSON.parse(interval.out)).toEqual({ normalized: 'every:PT90M', next: ['2024-02-28T01:30:00Z'] })
  })

  test('answers each line with a line, in order, whatever stands in it', async () => {
    const lines = [
      '{"expression":"daily","base":"2024-02-28T00:00:00Z","count":2}',
      'oops',
      '{"expression":"*:*/10"}',
      '',
      '{"expression":"*-02-30"}',
      '{"expression":"daily","count":0}',
      '{"expression":"daily","base":"2024-02-30T00:00:00Z"}',
      '{"expression":"daily","base":5}',
      '{"expression":5}',
      '{"expression":"\u2028"}',
      'null',
      '{"expression":"cron:0 9 * * *","base":"2024-02-28T00:00:00Z","count":1}',
    ]
    const { code, out, err } = await next(['--stdin', '--json'], lines.join('\n') + '\r\n')
    expect([code, err]).toEqual([0, ''])
    const error = (pattern: RegExp): unknown => ({ error: expect.stringMatching(pattern) })
    expect(
      out
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as unknown),
    ).toEqual([
      { normalized: '*-*-* 00:00:00', next: ['2024-02-29T00:00:00Z', '2024-03-01T00:00:00Z'] },
      error(/must be a JSON object/),
      error(/write \*:0\/10/),
      error(/must be a JSON object/),
      { normalized: '*-02-30 00:00:00', next: [] },
      error(/from 1 to 1000/),
      error(/ISO 8601/),
      error(/must be a string/),
      error(/must be a string/),
      error(/is expected/),
      error(/must be a JSON object/),
      { normalized: 'cron:0 9 * * *', next: ['2024-02-28T09:00:00Z'] },
    ])
  })

  test('says what is wrong, points at it, and ends with a code that scripts can tell apart', async () => {
    expect(await next(['Sat..Mon 12:00'])).toEqual({
      code: 2,
      out: '',
      err: [
        'error: The timer cannot be read: a range of weekdays ascends from Monday to Sunday (TIMER_INVALID)',
        '  Sat..Mon 12:00',
        '  ^ write Sat,Sun,Mon 12:00',
        '',
      ].join('\n'),
    })
    for (const args of [
      [],
      ['daily', '--stdin'],
      ['daily', '--count', '0'],
      ['daily', '--count', '1001'],
      ['daily', '--base', 'soon'],
    ])
      expect([args, await next(args)]).toMatchObject([args, { code: 2, out: '', err: expect.stringMatching(/--help says more/) }])
    expect((await next(['--help'])).out).toMatch(/Examples:\n {2}taskstream timer next/)
  })

  test('does what the guides show', async () => {
    const guide = readFileSync(join(root, 'docs', 'guides', 'timers.md'), 'utf8')
    const shown = [...guide.matchAll(/^\$ taskstream timer next (.+)\n((?:(?!^(?:\$|```)).*\n)+)/gm)]
    expect(shown.length).toBeGreaterThan(1)
    for (const [, command = '', output] of shown) {
      const args = [...command.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, bare = '']) => quoted ?? bare)
      const { out, err } = await next(args)
      expect([command, out + err]).toEqual([command, output])
    }
    const lines = readFileSync(join(root, 'docs', 'guides', 'command-line.md'), 'utf8')
    const [, question = '', answer] = /^\$ echo '(.*)' \| taskstream timer next --stdin --json\n(.*\n)/m.exec(lines) ?? []
    expect((await next(['--stdin', '--json'], question)).out).toBe(answer)
  })

  test('takes its options for lines that say nothing else', async () => {
    const args = ['--stdin', '--json', '--base', '2024-02-28T00:00:00Z', '--count', '1']
    const { out } = await next(args, '{"expression":"daily"}\n{"expression":"daily","count":2}\n')
    expect(out).toBe(
      '{"normalized":"*-*-* 00:00:00","next":["2024-02-29T00:00:00Z"]}\n' +
        '{"normalized":"*-*-* 00:00:00","next":["2024-02-29T00:00:00Z","2024-03-01T00:00:00Z"]}\n',
    )
  })
})
