/** What node-cron and systemd timers do, on taskstream. Run this file with `node --conditions=@taskstream/source examples/coming-from/cron.ts`. */
import { DatabaseSync } from 'node:sqlite'
import { ClockJobScheduler, calendar, cron, preview } from '@taskstream/task-scheduler'
import { defineJob, taskstream } from 'taskstream/node-sqlite'

// In this process alone, as node-cron
const jobs = new ClockJobScheduler()
jobs.schedule(() => console.log('the cache is warm'), { id: 'warm', timer: cron('*/5 * * * *'), onError: 'log-and-continue' })
jobs.schedule(() => console.log('it is Monday'), { id: 'monday', timer: cron('0 9 * * MON', { zone: 'Europe/Oslo' }) })

// Once, in whichever process is there, with retries and a history
const stream = taskstream(new DatabaseSync(':memory:'), { listener: {}, application: 'shop' })
const cleanup = defineJob('cleanup', { timer: 'Mon..Fri 03:00 Europe/Oslo', timeoutMs: 3_600_000 })
stream.handle(cleanup, ({ signal }) => {
  signal.throwIfAborted()
  console.log('cleaned up')
})
await stream.start()

// The first Monday of a month; cron has no words for it, as its days of month and week are one or the other
const after = Date.parse('2026-03-27T12:00:00Z')
for (const timer of [calendar('Mon *-*-1..7 09:00 Europe/Oslo'), cron('0 9 1-7 * MON', { zone: 'Europe/Oslo' })])
  console.log(timer.expression, ...preview(timer, 3, { after }).map(({ local }) => local))

await stream.stop()
await jobs.stop()
