/** Parts of expressions in the language of Prometheus. */
import { messaging, own } from '../core/conventions.ts'
import { fleetMetrics, processMetrics, prometheusLabel, prometheusName } from '../metrics/definitions.ts'

export const topicLabel: string = prometheusLabel(messaging.destination)
export const operationLabel: string = prometheusLabel(messaging.operationName)
export const outcomeLabel: string = prometheusLabel(own.outcome)
export const stateLabel: string = prometheusLabel(own.state)
export const activityLabel: string = prometheusLabel(own.activity)
export const checkLabel: string = prometheusLabel(own.check)
export const severityLabel: string = prometheusLabel(own.severity)

type MetricKey = keyof typeof processMetrics | keyof typeof fleetMetrics

/** The names of all metrics, by what they are called here. */
export const names: Readonly<Record<MetricKey, string>> = Object.fromEntries(
  Object.entries({ ...processMetrics, ...fleetMetrics }).map(([key, definition]) => [key, prometheusName(definition)]),
) as Readonly<Record<MetricKey, string>>

/** Outcomes by which an attempt has ended, whatever became of its task. */
const ended = 'success|filter|failure|retry|suspension'

/** A fact of the database, which every process that is scraped tells alike: it is never summed. */
export function fact(name: string): string {
  return `max by (${topicLabel}) (${name})`
}

export function ready(): string {
  return fact(`${names.tasks}{${stateLabel}="ready"}`)
}

/** Leaves out topics that somebody has paused. */
export function unlessPaused(expression: string): string {
  return `${expression} unless on (${topicLabel}) ${fact(names.paused)} > 0`
}

/** How many attempts have ended within a span, such as `5m`. */
export function attempts(span: string, outcomes: string = ended): string {
  return `sum by (${topicLabel}) (increase(${names.attempts}{${outcomeLabel}=~"${outcomes}"}[${span}]))`
}

/** A duration as Prometheus writes it. */
export function duration(ms: number): string {
  const seconds = Math.round(ms / 1_000)
  if (seconds > 0 && seconds % 3_600 === 0) return `${seconds / 3_600}h`
  return seconds > 0 && seconds % 60 === 0 ? `${seconds / 60}m` : `${seconds}s`
}
