/** Keeps the values of metrics, and writes them as Prometheus reads them. */
import { systemAttributes } from '../core/conventions.ts'
import { allMetrics, prometheusLabel, prometheusName } from '../metrics/definitions.ts'
import type { MetricDefinition } from '../metrics/definitions.ts'
import type { Instruments, Labels, Observation, Recorder, Unobserve } from '../metrics/instruments.ts'

/** `text` is version 0.0.4, which everybody reads. */
export type Format = 'text' | 'openmetrics'

interface Series {
  readonly labels: Labels
  value: number
  count: number
  /** How many values there were in each bucket, that of all greater ones included. */
  readonly buckets: number[]
}

type Values = Map<string, Series>

export class Registry implements Instruments {
  readonly #recorded = new Map<MetricDefinition, Values>()
  readonly #observed = new Map<object, () => Iterable<Observation> | Promise<Iterable<Observation>>>()

  recorder(definition: MetricDefinition, labels: Labels): Recorder {
    const values: Values = this.#recorded.get(definition) ?? new Map<string, Series>()
    this.#recorded.set(definition, values)
    const { buckets = [], kind } = definition
    const series = seriesOf(values, definition, labels)
    return (value) => {
      series.value += value
      series.count++
      if (kind !== 'histogram') return
      const index = buckets.findIndex((bound) => value <= bound)
      series.buckets[index < 0 ? buckets.length : index]!++
    }
  }

  observe(_definitions: readonly MetricDefinition[], read: Parameters<Instruments['observe']>[1]): Unobserve {
    const key = {}
    this.#observed.set(key, read)
    return () => void this.#observed.delete(key)
  }

  async text(format: Format): Promise<string> {
    const all = new Map<MetricDefinition, Iterable<Series>>()
    for (const [definition, values] of this.#recorded) all.set(definition, values.values())
    for (const read of this.#observed.values()) {
      const observed = new Map<MetricDefinition, Values>()
      for (const { definition, value, labels } of await read()) {
        const values: Values = observed.get(definition) ?? new Map<string, Series>()
        observed.set(definition, values)
        seriesOf(values, definition, labels).value = value
      }
      for (const [definition, values] of observed) all.set(definition, values.values())
    }
    const families = allMetrics.flatMap((definition) => familyText(definition, all.get(definition) ?? [], format) || [])
    return `${families.join('')}${format === 'openmetrics' ? '# EOF\n' : ''}`
  }
}

function seriesOf(values: Values, { labels: names, buckets }: MetricDefinition, labels: Labels): Series {
  const key = names.length === 1 ? (labels[names[0]!] ?? '') : JSON.stringify(names.map((name) => labels[name] ?? null))
  let series = values.get(key)
  if (!series) {
    series = { labels, value: 0, count: 0, buckets: buckets ? Array.from({ length: buckets.length + 1 }, () => 0) : [] }
    values.set(key, series)
  }
  return series
}

const types = { counter: 'counter', histogram: 'histogram', upDownCounter: 'gauge', gauge: 'gauge' } as const

function familyText(definition: MetricDefinition, series: Iterable<Series>, format: Format): string {
  const lines = [...series].flatMap((each) => sampleLines(definition, each))
  if (lines.length === 0) return ''
  const { kind, unit, description } = definition
  const name = prometheusName(definition)
  // OpenMetrics names the family of a counter without its suffix.
  const family = format === 'openmetrics' && kind === 'counter' ? name.slice(0, -'_total'.length) : name
  const head = [`# HELP ${family} ${escaped(description)}`, `# TYPE ${family} ${types[kind]}`]
  if (format === 'openmetrics' && unit === 's') head.push(`# UNIT ${family} seconds`)
  return [...head, ...lines, ''].join('\n')
}

function sampleLines(definition: MetricDefinition, { labels, value, count, buckets }: Series): string[] {
  const name = prometheusName(definition)
  const all = { ...(definition.ofMessaging && systemAttributes()), ...labels }
  if (definition.kind !== 'histogram') return [`${name}${labelText(all)} ${value}`]
  let sum = 0
  const bounds = [...(definition.buckets ?? []), Infinity]
  const lines = bounds.map((bound, index) => {
    sum += buckets[index] ?? 0
    return `${name}_bucket${labelText({ ...all, le: bound === Infinity ? '+Inf' : String(bound) })} ${sum}`
  })
  return [...lines, `${name}_sum${labelText(all)} ${value}`, `${name}_count${labelText(all)} ${count}`]
}

function labelText(labels: Labels): string {
  const pairs = Object.entries(labels).map(
    ([name, value]) => `${prometheusLabel(name)}="${escaped(value).replaceAll('"', '\\"')}"`,
  )
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`
}

function escaped(text: string): string {
  return text.toWellFormed().replaceAll('\\', '\\\\').replaceAll('\n', '\\n')
}
