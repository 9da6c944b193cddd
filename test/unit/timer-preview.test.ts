/** A preview shows when a timer elapses, and what changes of clocks do to it. */
import { calendar, cron, every, preview } from '@taskstream/task-timers'
import type { PreviewEntry, Timer } from '@taskstream/task-timers'
import { expect, test } from 'vitest'

const after = (iso: string): { after: number } => ({ after: Date.parse(iso) })

/** The notes of each of so many elapses. */
const notes = (timer: Timer, count: number, base: string): (readonly string[])[] =>
  preview(timer, count, after(base)).map((entry) => entry.notes)

test('an elapse is told by the clocks of the zone, with its offset, its name, and how long after the one before it is', () => {
  expect(preview(calendar('09:00 Europe/Oslo'), 2, after('2024-03-29T12:00:00Z'))).toEqual<PreviewEntry[]>([
    { instant: '2024-03-30T08:00:00Z', local: 'Sat 2024-03-30 09:00:00', offset: '+01:00', abbreviation: 'CET', notes: [] },
    {
      instant: '2024-03-31T07:00:00Z',
      local: 'Sun 2024-03-31 09:00:00',
      offset: '+02:00',
      abbreviation: 'CEST',
      sincePreviousMs: 23 * 3_600_000,
      notes: ['clocks go forward on 2024-03-31, 02:00 to 03:00'],
    },
  ])
})

test('zones are called what people call them, and by their offset where they have no name', () => {
  const names = [
    'America/New_York',
    'Europe/London',
    'Australia/Sydney',
    'Asia/Kolkata',
    'America/St_Johns',
    'Asia/Tehran',
    'UTC',
  ]
  const entries = names.map((zone) => preview(calendar(`12:00 ${zone}`), 1, after('2024-07-01T00:00:00Z'))[0])
  expect(entries.map((entry) => [entry?.offset, entry?.abbreviation])).toEqual([
    ['-04:00', 'EDT'],
    ['+01:00', 'BST'],
    ['+10:00', 'AEST'],
    ['+05:30', 'IST'],
    ['-02:30', 'GMT-2:30'],
    ['+03:30', 'GMT+3:30'],
    ['+00:00', 'UTC'],
  ])
})

test('local times may be of another zone than the timer', () => {
  const [entry] = preview(calendar('09:00 Europe/Oslo'), 1, { ...after('2024-07-01T00:00:00Z'), zone: 'Asia/Tokyo' })
  expect(entry).toMatchObject({ local: 'Mon 2024-07-01 16:00:00', offset: '+09:00', notes: [] })
})

test('times that the clocks skip are named', () => {
  expect(notes(calendar('02:30 Europe/Oslo'), 1, '2024-03-30T12:00:00Z')).toEqual([
    ['clocks go forward on 2024-03-31, 02:00 to 03:00: 02:30 does not occur'],
  ])
  expect(notes(calendar('*:0/30 Europe/Oslo'), 1, '2024-03-31T00:30:00Z')).toEqual([
    ['clocks go forward on 2024-03-31, 02:00 to 03:00: 02:00 and 02:30 do not occur'],
  ])
  expect(notes(cron('* * * * *', { zone: 'Europe/Oslo' }), 1, '2024-03-31T00:59:00Z')).toEqual([
    ['clocks go forward on 2024-03-31, 02:00 to 03:00: 02:00, 02:01, 02:02 … do not occur'],
  ])
  expect(notes(calendar('daily America/Sao_Paulo'), 1, '2018-11-03T12:00:00Z')).toEqual([
    ['clocks go forward on 2018-11-04, 00:00 to 01:00: 00:00 does not occur'],
  ])
})

test('times that occur twice are named, with which of them are taken', () => {
  expect(notes(calendar('02:30 Europe/Oslo'), 2, '2024-10-26T12:00:00Z')).toEqual([
    [],
    ['clocks go back on 2024-10-27, 03:00 to 02:00: 02:30 occurs twice, the first is taken'],
  ])
  expect(notes(cron('*/20 * * * *', { zone: 'Europe/Oslo' }), 1, '2024-10-27T00:40:00Z')).toEqual([
    ['clocks go back on 2024-10-27, 03:00 to 02:00: 02:00, 02:20 and 02:40 occur twice, and both are taken'],
  ])
  expect(notes(calendar('01:45 Australia/Lord_Howe'), 1, '2024-04-06T14:45:00Z')).toEqual([
    ['clocks go back on 2024-04-07, 02:00 to 01:30: 01:45 occurs twice, the first is taken'],
  ])
})

test('of many changes only those are told that made a difference', () => {
  expect(notes(calendar('*-03-31 02:30 Europe/Oslo'), 2, '2023-04-01T00:00:00Z')).toEqual([
    // 2024: skipped. Of the other three changes before 2025 nothing is said.
    ['clocks go forward on 2024-03-31, 02:00 to 03:00: 02:30 does not occur'],
    ['clocks go back on 2025-10-26, 03:00 to 02:00', 'clocks go forward on 2026-03-29, 02:00 to 03:00'],
  ])
  // Three.
  expect(notes(calendar('2025-01-01 Europe/Oslo'), 1, '2023-06-01T00:00:00Z')).toEqual([[]])
})

test('intervals do not go by clocks: nothing is said of them', () => {
  expect(preview(every('PT12H'), 2, { ...after('2024-03-30T12:00:00Z'), zone: 'Europe/Oslo' })).toMatchObject([
    { local: 'Sun 2024-03-31 01:00:00', notes: [] },
    { local: 'Sun 2024-03-31 14:00:00', sincePreviousMs: 43_200_000, notes: [] },
  ])
})

test('there are fewer when the timer ends, and fractions where it has some', () => {
  expect(preview(calendar('2024-02-29 12:00:00.25'), 5, after('2024-01-01T00:00:00Z'))).toMatchObject([
    { instant: '2024-02-29T12:00:00.250Z', local: 'Thu 2024-02-29 12:00:00.250' },
  ])
  expect(preview(calendar('*-02-30'), 5, after('2024-01-01T00:00:00Z'))).toEqual([])
})

test('what cannot be previewed is refused', () => {
  const timer = calendar('daily')
  for (const call of [
    () => preview(timer, 0, { after: 0 }),
    () => preview(timer, 1_001, { after: 0 }),
    () => preview(timer, 1, { after: Number.NaN }),
    () => preview(timer, 1, { after: 0, zone: 'Mars/Base' }),
  ])
    expect(call).toThrow(expect.objectContaining({ code: 'ARGUMENT_INVALID' }))
})
