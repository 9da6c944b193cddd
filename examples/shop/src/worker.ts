/** Handles the jobs of the shop. Start as many of these as you like, and kill any of them. */
import { prometheusMetrics } from '@taskstream/task-telemetry/prometheus'
import { openShop } from './database.ts'
import { handleJobs } from './handlers.ts'
import { openHealth } from './health.ts'
import { loggingMailer } from './mailer.ts'
import { settings } from './settings.ts'

const { stream, close } = openShop({ application: 'shop-worker' })
const metrics = prometheusMetrics({ fleet: { tasks: stream.tasks, transactions: (work) => stream.transaction(work) } })
handleJobs(stream, { mailer: loggingMailer, reminderAfterMs: settings.reminderAfterMs })

const health = await openHealth(settings.healthPort, stream, () => metrics.collect())
await stream.start({
  stopOn: ['SIGTERM', 'SIGINT'],
  onStopped: async ({ finished, returned, abandoned }) => {
    console.log(`worker: ${finished.length} finished, ${returned.length} handed back, ${abandoned.length} abandoned`)
    health.close()
    await close()
  },
})
console.log(`worker ${health.url}`)
