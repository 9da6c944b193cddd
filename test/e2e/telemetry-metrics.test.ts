/** What is counted and measured of tasks, in Prometheus' text and by OpenTelemetry alike. */
import { MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics'
import type { MetricData } from '@opentelemetry/sdk-metrics'
import { TaskDecision } from '@taskstream/task-api'
import { eachTask } from '@taskstream/task-processor'
import { instrumentTaskstream } from '@taskstream/task-telemetry'
import { prometheusMetrics } from '@taskstream/task-telemetry/prometheus'
import { describe, expect, test } from 'vitest'
import { canRun } from '../subject.ts'
import { samplesOf } from '../unit/prometheus-text.ts'
import type { Sample } from '../unit/prometheus-text.ts'
import { useNodeFixture } from './fixture.ts'

/** A reader that collects when it is asked to. */
class Reader extends MetricReader {
  protected override async onShutdown(): Promise<void> {}
  protected override async onForceFlush(): Promise<void> {}
}

describe.skipIf(!canRun)('metrics', () => {
  const fixture = useNodeFixture('telemetry-metrics', { keyed: true })

  const own = (samples: readonly Sample[], name: string): Record<string, number> =>
    Object.fromEntries(
      samples
        .filter(
          (sample) => sample.name === name && (sample.labels['messaging_destination_name'] ?? fixture.topic) === fixture.topic,
        )
        .map(({ labels, value }) => {
          const { messaging_destination_name: _topic, messaging_system_name: _system, ...rest } = labels
          return [Object.values(rest).join(' '), value]
        }),
    )

  /** Pushes five tasks, of which one fails, and one is retried and then succeeds. */
  async function work(): Promise<void> {
    await fixture.push('a', 'b', 'c')
    await fixture.push('bad', 'again')
    const done = Promise.withResolvers<void>()
    let over = 0
    await using node = fixture.nodeOf({
      listener: { onComplete: ({ tasks }) => void ((over += tasks.length) >= 6 && done.resolve()) },
    })
    const handler = eachTask<never>(({ identifier, attempt }) => {
      if (identifier === 'bad') throw new RangeError('bad')
      return identifier === 'again' && attempt === 1 ? TaskDecision.retry({ afterMs: 0 }) : undefined
    })
    node.process(fixture.topic, { handler: handler as never, size: 1, concurrency: 2, idleMs: 20 })
    await node.start()
    await done.promise
    await node.stop()
  }

  test('count pushes, polls and attempts, and measure how long they take', async () => {
    using metrics = prometheusMetrics()
    await work()
    await expect(fixture.commit((tx) => fixture.tasks.push(tx, 'unknown topic', 'a'))).rejects.toThrow(/never initialised/)
    const samples = samplesOf(await metrics.collect())
    expect(own(samples, 'messaging_client_sent_messages_total')).toEqual({ push: 5 })
    expect(own(samples, 'messaging_client_consumed_messages_total')).toEqual({ poll: 6 })
    expect(own(samples, 'taskstream_task_attempts_total')).toEqual({ success: 4, failure: 1, retry: 1 })
    expect(own(samples, 'messaging_process_duration_seconds_count')).toEqual({ process: 5, 'process RangeError': 1 })
    expect(own(samples, 'messaging_client_operation_duration_seconds_count')).toMatchObject({ push: 2 })
    expect(own(samples, 'taskstream_node_slots_used')).toEqual({ '': 0 })
    const failed = samples.find(({ labels }) => labels['error_type'] === 'TOPIC_UNKNOWN')
    expect(failed).toMatchObject({ name: 'messaging_client_sent_messages_total', value: 1 })
  })

  test('are the same in OpenTelemetry', async () => {
    const reader = new Reader()
    using _instrumented = instrumentTaskstream({ meterProvider: new MeterProvider({ readers: [reader] }) })
    await work()
    const { resourceMetrics } = await reader.collect()
    const [scope] = resourceMetrics.scopeMetrics
    expect(scope?.scope).toMatchObject({
      name: '@taskstream/task-telemetry',
      schemaUrl: 'https://opentelemetry.io/schemas/1.45.0',
    })
    const points = (name: string): (readonly [unknown, unknown])[] => {
      const found: MetricData | undefined = scope?.metrics.find(({ descriptor }) => descriptor.name === name)
      return (found?.dataPoints ?? [])
        .filter(({ attributes }) => attributes['messaging.destination.name'] === fixture.topic)
        .map(
          ({ attributes, value }) =>
            [attributes['taskstream.task.outcome'] ?? attributes['messaging.system.name'], value] as const,
        )
    }
    expect(points('messaging.client.sent.messages')).toEqual([['taskstream', 5]])
    expect(Object.fromEntries(points('taskstream.task.attempts') as [string, number][])).toEqual({
      success: 4,
      failure: 1,
      retry: 1,
    })
  })

  test('tell of the whole database, whoever works on it', async () => {
    const { tasks } = fixture
    const fleet = {
      tasks,
      transactions: fixture.subject.transactions,
      examine: async () => [{ check: 'clock', severity: 'ok' }],
    }
    await fixture.push('a', 'b', { identifier: 'c', delayMs: 3_600_000 })
    await fixture.commit((tx) => tasks.deactivate(tx, fixture.topic))
    using metrics = prometheusMetrics<never>({
      fleet: fleet as never,
      topics: (topic) => (topic === fixture.topic ? topic : 'others'),
    })
    const samples = samplesOf(await metrics.collect())
    expect(own(samples, 'taskstream_topic_tasks')).toEqual({ ready: 2, active: 0, waiting: 1 })
    expect(own(samples, 'taskstream_topic_nodes')).toEqual({ '': 0 })
    expect(own(samples, 'taskstream_topic_paused_seconds')['']).toBeGreaterThan(0)
    expect(own(samples, 'taskstream_topic_oldest_ready_seconds')['']).toBeGreaterThanOrEqual(0)
    expect(own(samples, 'taskstream_schema_version')['']).toBeGreaterThan(0)
    expect(own(samples, 'taskstream_timer_overdue_seconds')['']).toBeGreaterThanOrEqual(0)
    expect(own(samples, 'taskstream_examination')).toEqual({ 'clock ok': 1 })
    expect(own(samples, 'taskstream_fleet_up')).toEqual({ '': 1 })
  })
})
