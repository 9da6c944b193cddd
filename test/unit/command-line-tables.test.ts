/** Tables of the command line: they fit any terminal, and nothing from the database can disturb it. */
import * as fc from 'fast-check'
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { taskColumns } from '../../packages/task-cli/src/core/tasks.ts'
import { topicColumns } from '../../packages/task-cli/src/core/topics.ts'
import type { TopicRow } from '../../packages/task-cli/src/core/topics.ts'
import type { Column } from '../../packages/task-cli/src/output/column.ts'
import { absolute, duration, relative } from '../../packages/task-cli/src/output/duration.ts'
import type { OutputOptions } from '../../packages/task-cli/src/output/format.ts'
import { printDone, printList } from '../../packages/task-cli/src/output/print.ts'
import { renderTable } from '../../packages/task-cli/src/output/table.ts'
import { toJson, visible, visibleLines } from '../../packages/task-cli/src/output/visible.ts'
import { cutEnd, cutMiddle, widthOf } from '../../packages/task-cli/src/output/width.ts'

afterEach(() => {
  vi.restoreAllMocks()
  vi.unstubAllEnvs()
})

const now = Date.UTC(2027, 0, 1, 12)
type Row = Parameters<(typeof taskColumns)[number]['value']>[0]
const task = (given: Partial<Row>): Row => ({
  topic: 'invoices',
  sequence: 1,
  identifier: 'inv-1',
  state: 'ready',
  descent: 'ready',
  attempt: 0,
  tries: 0,
  priority: 0,
  created: new Date(now - 300_000),
  ...given,
})
const rows = [
  task({ sequence: 4_711 }),
  task({
    sequence: 9_007_199_254_740_991,
    identifier: 'customer-0815-order-with-a-very-long-name-2027-01',
    state: 'failed',
    reason: 'tries',
    tries: 3,
    maxTries: 3,
    completed: new Date(now - 60_000),
    owner: 'worker-7.shop.example.org:4711:0123456789ab',
  }),
  task({ sequence: 4_713, identifier: '請求書-七', state: 'suspended', due: new Date(now + 7_200_000), reference: 'run-7' }),
]
const table = (width: number, given: readonly Row[] = rows): string[] =>
  renderTable(
    taskColumns.filter(({ wideOnly = false }) => !wideOnly),
    given,
    { width, ages: true, utc: true, now, headers: true },
  )

describe('a table of tasks', () => {
  test('says of what should have come that it is late', () => {
    const dues = [now + 7_200_000, now - 999, now - 180_000].map((ms) => task({ state: 'suspended', due: new Date(ms) }))
    const column = taskColumns.filter(({ name }) => name === 'due')
    const lines = renderTable(column, dues, { width: 80, ages: true, utc: true, now, headers: false })
    expect(lines.map((line) => line.trim())).toEqual(['in 2h', '0s', '3min late'])
  })

  test.each([40, 60, 100, 160])('keeps its form on %d columns', async (width) => {
    await expect(`${table(width).join('\n')}\n`).toMatchFileSnapshot(`command-line-tables/tasks-${width}.txt`)
    for (const line of table(width)) expect(widthOf(line)).toBeLessThanOrEqual(width)
  })

  test('that no terminal limits has every column, and cuts nothing', async () => {
    const lines = renderTable(taskColumns, rows, { width: Infinity, ages: false, utc: true, now, headers: true })
    await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot('command-line-tables/tasks-wide.txt')
  })

  test('fits any terminal, whatever its texts are', () => {
    const text = fc.string({ unit: 'grapheme', maxLength: 80 })
    fc.assert(
      fc.property(fc.array(text, { maxLength: 5 }), fc.integer({ min: 40, max: 200 }), (identifiers, width) => {
        const lines = table(
          width,
          identifiers.map((identifier) => task({ identifier, owner: identifier, reference: identifier })),
        )
        expect(lines).toHaveLength(identifiers.length + 1)
        for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(width)
      }),
    )
  })

  test('has no column in which no row has anything, except those by which rows are known', () => {
    expect(table(100)[0]).not.toContain('deadline')
    expect(table(100, [])).toEqual(['sequence  identifier  state'])
  })
})

describe('a table of topics', () => {
  const topic = (given: Partial<TopicRow>): TopicRow =>
    ({
      topic: 'invoices',
      order: 'fifo',
      condition: 'none',
      keyed: false,
      ready: 0,
      active: 0,
      delayed: 0,
      paused: false,
      ...given,
    }) as TopicRow
  const topics = [
    topic({ ready: 1_000, active: 40, oldestReadyMs: 90_061_000 }),
    topic({ topic: 'reminders-of-unpaid-invoices-by-electronic-mail', delayed: 7, paused: true }),
    topic({ topic: '請求書', order: 'priority', condition: 'singular-by-identifier', ready: 3, oldestReadyMs: 250 }),
  ]
  const lines = (width: number): string[] =>
    renderTable(topicColumns(1_000), topics, { width, ages: true, utc: true, now, headers: true })

  test.each([40, 60, 100, 160])('keeps its form on %d columns', async (width) => {
    await expect(`${lines(width).join('\n')}\n`).toMatchFileSnapshot(`command-line-tables/topics-${width}.txt`)
    for (const line of lines(width)) expect(widthOf(line)).toBeLessThanOrEqual(width)
  })
})

describe('a text of the database', () => {
  const hostile = [
    'a\u001B[2Jb',
    'a\u009B31mb',
    'a\u0000b',
    'a\nb\r\tb',
    'a\u202Egnp.b',
    'a\u2066b\u2069',
    'a\u2028b',
    'a\u007Fb',
    'a\uFEFFb\u200Bb',
    'a\uD800b',
    'a\u{E0041}b',
  ]
  /** What a terminal would act on, or not show. */
  // oxlint-disable-next-line no-control-regex
  const harmful = /[\u0000-\u0009\u000B-\u001F\u007F-\u009F\u200B\u200E\u200F\u2028-\u202E\u2066-\u2069\uFEFF\uD800-\uDFFF]/

  test.each(hostile)('never reaches a terminal raw (%j)', (text) => {
    const printed: string[] = []
    vi.spyOn(console, 'log').mockImplementation((line: unknown) => void printed.push(String(line)))
    const columns: readonly Column<{ text: string }>[] = [{ name: 'text', rank: 0, kind: 'text', value: ({ text: it }) => it }]
    for (const output of ['table', 'wide', 'json', 'ndjson', 'csv', 'name'] as const)
      printList({ columns, rows: [{ text }], name: (row) => row.text }, { output })
    printDone({ json: { text }, lines: [text], names: [text] }, {})
    expect(printed.join('\n')).not.toMatch(harmful)
    // Each of them is in one line, so that nobody takes a part of it for another row.
    expect(printed).toHaveLength(2 + 2 + 1 + 1 + 2 + 1 + 1)
    expect(table(60, [task({ identifier: text })])).toHaveLength(2)
    expect(JSON.parse(toJson({ text }))).toEqual({ text: text.isWellFormed() ? text : expect.any(String) })
  })

  test('is shown by signs that tell what it was', () => {
    expect(visible('a\u001B[2J\n\t\u0000\u007F\u009B\u202E')).toBe(String.raw`a␛[2J␊␉␀␡\u009b\u202e`)
    expect(visibleLines('a\n\u001Bb')).toBe('a\n␛b')
    // Joiners belong to scripts and to emoji.
    expect(visible('👩‍🚀 می‌خواهم')).toBe('👩‍🚀 می‌خواهم')
    expect(toJson({ a: '\u202E\u{E0041}' })).toBe(String.raw`{"a":"\u202e\udb40\udc41"}`)
  })

  test('of 16 MB costs no more than its beginning', () => {
    const long = '\u001B'.repeat(16_777_216)
    expect(visible(long)).toHaveLength(10_001)
    expect(table(60, [task({ identifier: long })])[1]).toMatch(/␛…␛/)
  })

  test('is cut between characters, by the columns that they take', () => {
    expect([cutEnd('請求書', 5), cutEnd('請求書', 6), cutEnd('abc', 0), cutEnd('👩‍🚀👩‍🚀', 3)]).toEqual([
      '請求…',
      '請求書',
      '',
      '👩‍🚀…',
    ])
    expect([cutMiddle('abcdefghi', 5), cutMiddle('請求書請求書', 6), cutMiddle('abc', 1)]).toEqual(['ab…hi', '請…書', '…'])
    expect(widthOf('e\u0301')).toBe(1)
  })
})

describe('an answer', () => {
  const print = (options: OutputOptions): string => {
    const lines: unknown[] = []
    vi.spyOn(console, 'log').mockImplementation((line: unknown) => void lines.push(line))
    const columns: readonly Column<{ id: string; at: Date; ms: number }>[] = [
      { name: 'id', rank: 0, kind: 'identifier', value: ({ id }) => id },
      { name: 'at', rank: 1, kind: 'instant', value: ({ at }) => at },
      { name: 'ms', rank: 1, kind: 'duration', value: ({ ms }) => ms, wideOnly: true },
    ]
    printList(
      { columns, rows: [{ id: 'say "a,b"', at: new Date(now - 60_000), ms: 61_000 }], name: ({ id }) => id, now },
      options,
    )
    return lines.join('\n')
  }

  test('is written in the format that was asked for', () => {
    expect(print({})).toBe('id         at\nsay "a,b"  1min')
    expect(print({ output: 'wide', utc: true })).toBe(
      'id         at                        ms\nsay "a,b"  2027-01-01T11:59:00.000Z  1min 1s',
    )
    expect(print({ output: 'csv' })).toBe('id,at,ms\n"say ""a,b""",2027-01-01T11:59:00.000Z,61000')
    expect(print({ output: 'name' })).toBe('say "a,b"')
    expect(print({ output: 'ndjson' })).toBe('{"id":"say \\"a,b\\"","at":"2027-01-01T11:59:00.000Z","ms":61000}')
    expect(print({ json: true })).toBe(
      `[\n  {\n    "id": "say \\"a,b\\"",\n    "at": "2027-01-01T11:59:00.000Z",\n    "ms": 61000\n  }\n]`,
    )
  })

  test('has the columns that were asked for, with or without their names', () => {
    expect(print({ columns: 'MS, id', headers: false })).toBe('1min 1s  say "a,b"')
    expect(print({ output: 'csv', columns: 'ms', headers: false })).toBe('61000')
    expect(() => print({ columns: 'idd' })).toThrow(/--columns \(did you mean id\?\) must be of id, at, ms: "idd"/)
    expect(() => print({ columns: 'id', output: 'json' })).toThrow(/cannot be given with -o json/)
  })

  test('is coloured only on a terminal, and not if colours are not wanted', () => {
    const before = Object.getOwnPropertyDescriptor(process.stdout, 'isTTY')
    Object.defineProperty(process.stdout, 'isTTY', { value: true, configurable: true })
    onTestFinished(() => void Object.defineProperty(process.stdout, 'isTTY', before ?? { value: undefined, configurable: true }))
    vi.stubEnv('NO_COLOR', '')
    expect(print({}).split('\n')[0]).toMatch(/^.\[1mid +at.\[22m$/)
    vi.stubEnv('NO_COLOR', '1')
    expect(print({})).not.toContain('\u001B')
  })
})

test.each([
  [0, '0ms'],
  [999, '999ms'],
  [1_000, '1s'],
  [59_999, '59s'],
  [60_000, '1min'],
  [61_500, '1min 1s'],
  [3_600_000, '1h'],
  [5_400_000, '1h 30min'],
  [3_601_000, '1h'],
  [86_400_000, '1d'],
  [90_061_000, '1d 1h'],
  [172_799_000, '1d 23h'],
])('a duration of %d ms is said by its two largest units: %s', (ms, text) => {
  expect(duration(ms)).toBe(text)
})

test('an instant is an age, a time to come, or absolute', () => {
  const at = (ms: number): string => relative(new Date(now + ms), now)
  expect([at(0), at(-999), at(-61_000), at(-3_600_000), at(61_000), at(172_800_000), at(400)]).toEqual([
    '0s',
    '0s',
    '1min',
    '1h',
    'in 1min',
    'in 2d',
    '0s',
  ])
  expect(absolute(new Date(now), true)).toBe('2027-01-01T12:00:00.000Z')
  expect(Date.parse(absolute(new Date(now), false))).toBe(now)
  expect(absolute(new Date(now), false)).toMatch(/^2027-01-0\dT\d\d:\d\d:00\.000[+-]\d\d:\d\d$/)
})
