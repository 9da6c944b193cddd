/** Measures how many elapses of a timer are found in a second, one after another, on one core: `npm run bench:calendar`. */
import { cron, parseTimer } from '@taskstream/task-timers'
import type { Timer } from '@taskstream/task-timers'
import Table from 'cli-table3'

const expressions = [
  '*:0/10',
  'hourly',
  'daily',
  '*:*:*',
  'Mon..Fri 09:00',
  'Mon..Fri 09:00 Europe/Oslo',
  '*:0/20 America/New_York',
  '*-*~1 12:00 Europe/Oslo',
  'Mon *-*-1..7 02:30 Australia/Lord_Howe',
  '*-02-29 Asia/Tokyo',
  'Sat *-02-29',
  'every:PT10M',
]
const start = Date.parse('2026-01-01T00:00:00Z')
const forMs = 500

/** Counts elapses in a second. A timer that ends begins anew. */
function nextsPerSecond(timer: Timer): number {
  let [count, at] = [0, start]
  const begin = performance.now()
  for (;;) {
    for (let index = 0; index < 1_000; index++) at = timer.next(at) ?? start
    count += 1_000
    const passed = performance.now() - begin
    if (passed > forMs) return (count / passed) * 1_000
  }
}

function readsPerSecond(expression: string): number {
  let count = 0
  const begin = performance.now()
  for (;;) {
    for (let index = 0; index < 100; index++) parseTimer(expression)
    count += 100
    const passed = performance.now() - begin
    if (passed > forMs) return (count / passed) * 1_000
  }
}

const round = (value: number): string => Math.round(value).toLocaleString('en-US')
const table = new Table({ head: ['timer', 'next() in a second', 'read in a second'], colAligns: ['left', 'right', 'right'] })
for (const expression of expressions) {
  const timer = parseTimer(expression)
  nextsPerSecond(timer)
  table.push([expression, round(nextsPerSecond(timer)), round(readsPerSecond(expression))])
}
for (const zone of ['UTC', 'Europe/Oslo']) {
  const timer = cron('0 9 * * MON-FRI', { zone })
  table.push([timer.expression, round(nextsPerSecond(timer)), round(readsPerSecond(timer.expression))])
}
console.log(table.toString())
