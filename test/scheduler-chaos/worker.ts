/** The process that test/scheduler-chaos starts several times: it runs one scheduler until it is killed. */
import { setTimeout as delay } from 'node:timers/promises'
import { PeriodicScheduler } from '@taskstream/task-scheduler'
import { reopenSubject } from '../subject.ts'
import type { Subject } from '../subject.ts'

const subject = await reopenSubject(JSON.parse(process.argv[2] ?? '') as Subject['location'])
// The parent ended without killing this process.
process.once('disconnect', () => process.exit())
for (let started = false; !started;) {
  const scheduler = new PeriodicScheduler({
    repository: subject.tasks(),
    transactions: subject.transactions,
    // Errors of a crashed server are expected. The audit shows whether they did harm.
    listener: { onError: () => {} },
  })
  started = await scheduler.start().then(
    () => true,
    () => false,
  )
  if (!started) await delay(50)
}
process.send?.('started')
