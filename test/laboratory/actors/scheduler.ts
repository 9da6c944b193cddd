/** A scheduler of the run's timers. */
import { PeriodicScheduler } from '@taskstream/task-scheduler'
import type { AnyTransaction } from '../../subject.ts'
import { beActor, insist } from './actor.ts'

await beActor(async ({ transactions, tasks }) => {
  const scheduler = await insist(async () => {
    const each = new PeriodicScheduler<AnyTransaction>({ repository: tasks(), transactions, listener: { onError: () => {} } })
    await each.start()
    return each
  })
  return { stop: () => scheduler.stop() }
})
