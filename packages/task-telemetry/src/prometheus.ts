/** Metrics for Prometheus, without OpenTelemetry. */
import { checkNames, optionNames } from '@taskstream/task-api'
import { Limits } from './core/limits.ts'
import { fleetMetrics } from './metrics/definitions.ts'
import { Fleet } from './metrics/fleet.ts'
import type { FleetOptions } from './metrics/fleet.ts'
import { recordProcess } from './metrics/recording.ts'
import { Registry } from './prometheus/registry.ts'
import type { Format } from './prometheus/registry.ts'

export type { FleetOptions } from './metrics/fleet.ts'
export type { Format } from './prometheus/registry.ts'

export interface PrometheusOptions<Transaction> {
  /** Numbers of the whole database, too. Every process that is scraped would tell the same ones: give this in one place, if you can. */
  readonly fleet?: FleetOptions<Transaction>
  /**
   * Makes one name of several topics, such as those of all tenants. At most 200 names are told apart, and `_other` stands for all others.
   * Default: topics keep their names.
   */
  readonly topics?: (topic: string) => string
}

const names = optionNames<PrometheusOptions<never>>('prometheusMetrics', { fleet: true, topics: true })

/** What was measured since this was made. */
export interface PrometheusMetrics extends Disposable {
  /** All metrics, as text. Never rejects: if the database cannot be read, `taskstream_fleet_up` is 0 and its numbers are absent. */
  collect(format?: Format): Promise<string>
  /** Answers a scrape, in the format that it asks for. */
  answer(request: Request): Promise<Response>
  /** Stops to measure. */
  [Symbol.dispose](): void
}

/** The media types of the formats. */
export const contentTypes: Readonly<Record<Format, string>> = {
  text: 'text/plain; version=0.0.4; charset=utf-8',
  openmetrics: 'application/openmetrics-text; version=1.0.0; charset=utf-8',
}

/** The format that a header `accept` asks for. */
export function formatOf(accept: string | null | undefined): Format {
  return accept?.includes('application/openmetrics-text') ? 'openmetrics' : 'text'
}

/**
 * Measures what this process does with tasks, and tells it as Prometheus reads it.
 *
 * @throws TaskError ARGUMENT_INVALID
 * @example
 * const metrics = prometheusMetrics({ fleet: { tasks, transactions } })
 * createServer(async (_, response) => response.end(await metrics.collect())).listen(9464, '127.0.0.1')
 */
export function prometheusMetrics<Transaction = unknown>(options: PrometheusOptions<Transaction> = {}): PrometheusMetrics {
  checkNames(names, options)
  const limits = new Limits(options.topics)
  const fleet = options.fleet && new Fleet(options.fleet, limits)
  const registry = new Registry()
  const end = recordProcess(registry, limits)
  if (fleet) registry.observe(Object.values(fleetMetrics), () => fleet.observations())
  return {
    collect: (format = 'text') => registry.text(format),
    async answer({ headers }) {
      const format = formatOf(headers.get('accept'))
      return new Response(await registry.text(format), {
        headers: { 'content-type': contentTypes[format], 'cache-control': 'no-store' },
      })
    },
    [Symbol.dispose]: end,
  }
}
