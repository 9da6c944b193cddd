/** One process of the chaos: a scheduler, until it is killed. */
import { setTimeout as delay } from 'node:timers/promises'
import { PeriodicScheduler } from '@taskstream/task-scheduler'
import { reopenSubject } from '../subject.ts'
import type { Subject } from '../subject.ts'

const subject = await reopenSubject(JSON.parse(process.argv[2] ?? '') as Subject['location'])
// The parent went away without killing it.
process.once('disconnect', () => process.exit())
for (let started = false; !started;) {
  const scheduler = new PeriodicScheduler({
    repository: subject.tasks(),
    transactions: subject.transactions,
    // A server that is down is not worth a line: the audit tells what came of it.
    listener: { onError: () => {} },
  })
  started = await scheduler.start().then(
    () => true,
    () => false,
  )
  if (!started) await delay(50)
}
process.send?.('started')
