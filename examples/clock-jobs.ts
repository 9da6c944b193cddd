import { fixed } from '@taskstream/task-processor'
import { calendar, JobListener, ClockJobScheduler } from '@taskstream/task-scheduler'

class Counter {
  #count = 0

  execute(): void {
    this.#count++
    console.log(`counter: ${this.#count}`)
  }
}

const listener = new JobListener({ trigger: { intervalMs: 10, maxCount: 3 } })
listener.attach(new Counter(), 'counter')
listener.start()

const writeReport = (day: Date): void => console.log(`report of ${day.toISOString()}`)
const refresh = async ({ signal, tries }: { signal: AbortSignal; tries: number }): Promise<void> => {
  signal.throwIfAborted()
  if (tries === 1) throw new Error('the server is away')
  console.log('refreshed')
}

const jobs = new ClockJobScheduler({ workers: 5 })
jobs.schedule(({ scheduledFor }) => writeReport(scheduledFor), { id: 'report', timer: calendar('Mon..Fri 02:30 Europe/Oslo') })
jobs.schedule(refresh, {
  id: 'refresh',
  intervalMs: 50,
  maxCount: 2,
  onError: 'log-and-continue',
  whenLate: 'ignore',
  retry: fixed({ tries: 3, afterMs: 5 }),
})
jobs.scheduleOnce(() => console.log('reminded'), new Date(Date.now() + 20))

for (const { id, next } of jobs.running()) console.log(`${id} is due at ${next?.toISOString()}`)
// The other jobs end by themselves. Once `report` is unscheduled too, the process can end.
jobs.unschedule('report')
