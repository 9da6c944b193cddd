/** Every metric, for OpenTelemetry and for Prometheus. */
import { errorType, messaging, own } from '../core/conventions.ts'

export interface MetricDefinition {
  readonly name: string
  readonly kind: 'counter' | 'histogram' | 'upDownCounter' | 'gauge'
  /** In UCUM. What stands in braces is said only. */
  readonly unit: string
  readonly description: string
  /** The attributes whose values make series. */
  readonly labels: readonly string[]
  /** The upper bounds of a histogram's buckets, in the unit. */
  readonly buckets?: readonly number[]
  /** Whether it is a metric of messaging, which also says of which system it is. */
  readonly ofMessaging?: true
}

const seconds = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]
const blockedSeconds = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]
const { destination: topic, operationName: operation } = messaging

type ProcessMetric =
  | 'sent'
  | 'consumed'
  | 'operation'
  | 'process'
  | 'attempts'
  | 'slots'
  | 'slotsUsed'
  | 'errors'
  | 'leaseLost'
  | 'stuck'
  | 'blocked'
  | 'heartbeatAge'

/** What this process does and meets with. */
export const processMetrics: Readonly<Record<ProcessMetric, MetricDefinition>> = {
  sent: {
    name: 'messaging.client.sent.messages',
    kind: 'counter',
    unit: '{message}',
    description: 'Tasks that pushes have written. Their transactions may still be rolled back.',
    labels: [topic, operation, errorType],
    ofMessaging: true,
  },
  consumed: {
    name: 'messaging.client.consumed.messages',
    kind: 'counter',
    unit: '{message}',
    description: 'Tasks that polls have taken, each as often as it was taken.',
    labels: [topic, operation, errorType],
    ofMessaging: true,
  },
  operation: {
    name: 'messaging.client.operation.duration',
    kind: 'histogram',
    unit: 's',
    description: 'How long pushes, polls and completions take.',
    labels: [topic, operation, errorType],
    buckets: seconds,
    ofMessaging: true,
  },
  process: {
    name: 'messaging.process.duration',
    kind: 'histogram',
    unit: 's',
    description: 'How long handlers take for a batch.',
    labels: [topic, operation, errorType],
    buckets: seconds,
    ofMessaging: true,
  },
  attempts: {
    name: 'taskstream.task.attempts',
    kind: 'counter',
    unit: '{attempt}',
    description: 'Attempts that have ended, by what has become of them.',
    labels: [topic, own.outcome],
  },
  slots: {
    name: 'taskstream.node.slots',
    kind: 'gauge',
    unit: '{batch}',
    description: 'How many batches of a topic the nodes of this process handle at a time at most.',
    labels: [topic],
  },
  slotsUsed: {
    name: 'taskstream.node.slots.used',
    kind: 'upDownCounter',
    unit: '{batch}',
    description: 'How many batches of a topic are being handled in this process.',
    labels: [topic],
  },
  errors: {
    name: 'taskstream.node.errors',
    kind: 'counter',
    unit: '{error}',
    description: 'Errors that nodes have reported, by what they were doing.',
    labels: [own.activity],
  },
  leaseLost: {
    name: 'taskstream.node.lease_lost',
    kind: 'counter',
    unit: '{error}',
    description: 'How often no heartbeat has come through during a whole lease.',
    labels: [],
  },
  stuck: {
    name: 'taskstream.node.stuck',
    kind: 'counter',
    unit: '{error}',
    description: 'How often a handler has not let go when its time was up.',
    labels: [topic],
  },
  blocked: {
    name: 'taskstream.node.event_loop.blocked',
    kind: 'histogram',
    unit: 's',
    description: 'For how long the event loop has stood still, where it has for longer than it may.',
    labels: [],
    buckets: blockedSeconds,
  },
  heartbeatAge: {
    name: 'taskstream.node.heartbeat.age',
    kind: 'gauge',
    unit: 's',
    description: 'How long ago the last heartbeat came through, of the node of this process for which it is the longest.',
    labels: [],
  },
}

type FleetMetric =
  | 'tasks'
  | 'oldestReady'
  | 'failedRecent'
  | 'newErrors'
  | 'nodes'
  | 'paused'
  | 'timerOverdue'
  | 'schemaVersion'
  | 'examination'
  | 'fleetUp'

/** Facts of the database. Each scrape of it says the same, so they must never be summed over processes. */
export const fleetMetrics: Readonly<Record<FleetMetric, MetricDefinition>> = {
  tasks: {
    name: 'taskstream.topic.tasks',
    kind: 'gauge',
    unit: '{task}',
    description: 'Tasks that have not ended, counted to a limit.',
    labels: [topic, own.state],
  },
  oldestReady: {
    name: 'taskstream.topic.oldest_ready',
    kind: 'gauge',
    unit: 's',
    description: 'How long ago the oldest ready task was pushed.',
    labels: [topic],
  },
  failedRecent: {
    name: 'taskstream.topic.failed_recent',
    kind: 'gauge',
    unit: '{task}',
    description: 'Attempts that have failed or are to be repeated, in the last 15 minutes, of the newest 5,000.',
    labels: [topic],
  },
  newErrors: {
    name: 'taskstream.topic.new_errors',
    kind: 'gauge',
    unit: '{error}',
    description: 'Errors of the last 15 minutes that were first seen within the last hour, and have not healed by themselves.',
    labels: [topic],
  },
  nodes: {
    name: 'taskstream.topic.nodes',
    kind: 'gauge',
    unit: '{node}',
    description: 'Living nodes that process the topic.',
    labels: [topic],
  },
  paused: {
    name: 'taskstream.topic.paused',
    kind: 'gauge',
    unit: 's',
    description: 'For how long the topic has been paused; 0 if it is not.',
    labels: [topic],
  },
  timerOverdue: {
    name: 'taskstream.timer.overdue',
    kind: 'gauge',
    unit: 's',
    description: 'How long ago the timer that is overdue for the longest was due; 0 if none is.',
    labels: [],
  },
  schemaVersion: {
    name: 'taskstream.schema.version',
    kind: 'gauge',
    unit: '{version}',
    description: 'The version of the tables.',
    labels: [],
  },
  examination: {
    name: 'taskstream.examination',
    kind: 'gauge',
    unit: '{check}',
    description: '1 for what each check of the doctor has found.',
    labels: [own.check, own.severity],
  },
  fleetUp: {
    name: 'taskstream.fleet.up',
    kind: 'gauge',
    unit: '{database}',
    description: '1 if the numbers of the database could be read, or else 0, and then they are absent.',
    labels: [],
  },
}

export const allMetrics: readonly MetricDefinition[] = [...Object.values(processMetrics), ...Object.values(fleetMetrics)]

/** The name of a metric in Prometheus, as collectors translate OpenTelemetry's. */
export function prometheusName({ name, unit, kind }: MetricDefinition): string {
  const plain = prometheusLabel(name)
  return `${plain}${unit === 's' ? '_seconds' : ''}${kind === 'counter' ? '_total' : ''}`
}

export function prometheusLabel(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9_]/g, '_')
}
