import { context, propagation, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { W3CTraceContextPropagator } from '@opentelemetry/core'
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { eachTask } from '@taskstream/task-processor'
import { instrumentTaskstream } from '@taskstream/task-telemetry'
import { taskFields } from '@taskstream/task-telemetry/logs'
import { prometheusMetrics } from '@taskstream/task-telemetry/prometheus'
import { testTasks } from '@taskstream/task-testing'

// What NodeSDK does for an application. Here the spans stay in memory.
const exporter = new InMemorySpanExporter()
trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }))
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
propagation.setGlobalPropagator(new W3CTraceContextPropagator())

instrumentTaskstream()

await using tasks = await testTasks({ topics: ['invoices'] })
const metrics = prometheusMetrics({ fleet: { tasks: tasks.repository, transactions: tasks.transactions } })

const log = (message: string): void => console.log(message, taskFields())

await tasks.push('invoices', 'inv-1')
const handler = eachTask(({ identifier }) => log(`sending ${identifier}`))
await tasks.drain('invoices', handler)

for (const { name, parentSpanContext } of exporter.getFinishedSpans())
  console.log(name, parentSpanContext ? 'has a parent' : 'has none')
const lines = (await metrics.collect()).split('\n')
console.log(lines.filter((line) => line.startsWith('messaging_client_sent')).join('\n'))
