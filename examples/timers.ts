/** Timers say when things happen. Run this file with `node --conditions=@taskstream/source examples/timers.ts`. */
import { TaskError } from '@taskstream/task-api'
import { calendar, cron, every, once, parseTimer, preview } from '@taskstream/task-timers'

const after = Date.parse('2026-03-27T12:00:00Z')

const timers = [
  calendar('Mon..Fri 09:00 Europe/Oslo'),
  cron('0 9 * * MON-FRI', { zone: 'Europe/Oslo' }),
  every('PT90M', { from: new Date('2026-01-01T00:00:00Z') }),
  once(new Date('2027-01-15T08:00:00Z')),
]
for (const timer of timers) {
  const next = parseTimer(timer.expression).next(after) // milliseconds since 1970, or undefined if the timer never elapses again
  console.log(timer.expression, '→', next === undefined ? 'never' : new Date(next).toISOString())
}

for (const { instant, local, abbreviation, notes } of preview(calendar('02:30 Europe/Oslo'), 3, { after }))
  console.log(instant, local, abbreviation, ...notes)

try {
  calendar('*:*/10')
} catch (error) {
  if (error instanceof TaskError) console.log(error.message, error.data['suggestion'])
}
