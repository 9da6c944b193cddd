/** A node does not accuse another of time zone data that is its own. */
import { parseTimer } from '@taskstream/task-timers'
import { expect, test } from 'vitest'
import { zonesDiffer } from '../../packages/task-scheduler/src/periodic/zones-differ.ts'

test.each([
  '02:30 Europe/Oslo',
  '*:0/20 Europe/Oslo',
  '*:*:0/0.3 Europe/Oslo',
  'cron:30 2 * * * Europe/Oslo',
  'cron:*/20 * * * * Europe/Oslo',
  'cron:*/20 2 * * * Europe/Oslo',
  'cron:30 2,14 * * * Europe/Oslo',
  '01:30 Antarctica/Troll',
  'cron:30 1 * * * Antarctica/Troll',
  'daily America/Santiago',
  'cron:0 0 * * * America/Santiago',
  'hourly Australia/Lord_Howe',
  'cron:45 1 * * * Australia/Lord_Howe',
  'monthly Asia/Kathmandu',
])('the occurrences of %s are found again by the same data, also where clocks change', (expression) => {
  const timer = parseTimer(expression)
  const schedule = { scope: 's', id: 'i', timer, misfire: 'once', jitterMs: 0, fired: 0 } as const
  for (const from of ['2026-01-01', '2026-03-28T12:00Z', '2026-04-04', '2026-09-05', '2026-10-24T12:00Z']) {
    let occurrence = timer.next(Date.parse(from))
    for (let count = 0; occurrence !== undefined && count < 100; count++) {
      expect(zonesDiffer(schedule, occurrence)).toBeUndefined()
      occurrence = timer.next(occurrence)
    }
  }
})
