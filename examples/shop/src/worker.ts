/** Handles the jobs of the shop. Start as many of these as you like, and kill any of them. */
import { consoleListener } from 'taskstream'
import { prometheusMetrics } from '@taskstream/task-telemetry/prometheus'
import { openShop } from './database.ts'
import { handleJobs } from './handlers.ts'
import { openHealth, Troubles } from './health.ts'
import { loggingMailer } from './mailer.ts'
import { settings } from './settings.ts'

const troubles = new Troubles()
const { stream, close } = openShop({ application: 'shop', listener: [consoleListener, troubles.listener] })
const metrics = prometheusMetrics({ fleet: { tasks: stream.tasks, transactions: (work) => stream.transaction(work) } })
handleJobs(stream, { mailer: loggingMailer, reminderAfterMs: settings.reminderAfterMs })

const health = await openHealth(settings.healthPort, { troubles, metrics: () => metrics.collect() })
for (const signal of ['SIGTERM', 'SIGINT']) process.once(signal, () => troubles.stopping())
await stream.start({
  stopOn: ['SIGTERM', 'SIGINT'],
  onStopped: async ({ finished, returned, abandoned }) => {
    console.log(`worker: ${finished.length} finished, ${returned.length} handed back, ${abandoned.length} abandoned`)
    health.close()
    await close()
  },
})
troubles.started()
console.log(`worker ${health.url}`)
