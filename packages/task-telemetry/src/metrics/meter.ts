/** Metrics in OpenTelemetry. */
import type { Attributes, Counter, Histogram, Meter, Observable, UpDownCounter } from '@opentelemetry/api'
import type { MetricDefinition } from './definitions.ts'
import type { Instruments, Labels, Recorder, Unobserve } from './instruments.ts'

/** A series of which a meter is not yet told all. */
interface Pending {
  tell(): void
}

/** How many values of a histogram's series wait at most. */
const mostWaiting = 512

class Sum implements Pending {
  readonly #counter: Counter | UpDownCounter
  readonly #attributes: Attributes
  #value = 0
  #isTold = true

  constructor(counter: Counter | UpDownCounter, attributes: Attributes) {
    this.#counter = counter
    this.#attributes = attributes
  }

  add(value: number): void {
    this.#value += value
    this.#isTold = false
  }

  tell(): void {
    if (this.#isTold) return
    this.#counter.add(this.#value, this.#attributes)
    this.#value = 0
    this.#isTold = true
  }
}

class Values implements Pending {
  readonly #histogram: Histogram
  readonly #attributes: Attributes
  readonly #values: number[] = []

  constructor(histogram: Histogram, attributes: Attributes) {
    this.#histogram = histogram
    this.#attributes = attributes
  }

  add(value: number): void {
    if (this.#values.push(value) >= mostWaiting) this.tell()
  }

  tell(): void {
    for (const value of this.#values) this.#histogram.record(value, this.#attributes)
    this.#values.length = 0
  }
}

export class MeterInstruments implements Instruments {
  readonly #meter: Meter
  readonly #system: Attributes
  readonly #histograms = new Map<MetricDefinition, Histogram>()
  readonly #counters = new Map<MetricDefinition, Counter | UpDownCounter>()
  readonly #pending: Pending[] = []

  constructor(meter: Meter, system: Attributes) {
    this.#meter = meter
    this.#system = system
  }

  /**
   * Meters are told whenever metrics are collected. They find the series of each value anew: that costs more than to keep it here, and most where it is done
   * once between other work.
   */
  recorder(definition: MetricDefinition, labels: Labels): Recorder {
    const attributes = definition.ofMessaging ? { ...this.#system, ...labels } : labels
    if (definition.kind === 'histogram') {
      const values = new Values(
        made(this.#histograms, definition, () => this.#histogram(definition)),
        attributes,
      )
      this.#pending.push(values)
      return (value) => values.add(value)
    }
    const sum = new Sum(
      made(this.#counters, definition, () => this.#counter(definition)),
      attributes,
    )
    this.#pending.push(sum)
    return (value) => sum.add(value)
  }

  /** Tells the meter what was recorded. */
  flush(): void {
    for (const pending of this.#pending) pending.tell()
  }

  observe(definitions: readonly MetricDefinition[], read: Parameters<Instruments['observe']>[1]): Unobserve {
    const gauges = new Map<MetricDefinition, Observable>(
      definitions.map((definition) => {
        const { name, unit, description } = definition
        return [definition, this.#meter.createObservableGauge(name, { unit, description })]
      }),
    )
    const observables = [...gauges.values()]
    const callback: Parameters<Meter['addBatchObservableCallback']>[0] = async (result) => {
      this.flush()
      for (const { definition, value, labels } of await read()) {
        const gauge = gauges.get(definition)
        if (gauge) result.observe(gauge, value, labels)
      }
    }
    this.#meter.addBatchObservableCallback(callback, observables)
    return () => {
      this.flush()
      this.#meter.removeBatchObservableCallback(callback, observables)
    }
  }

  #histogram({ name, unit, description, buckets }: MetricDefinition): Histogram {
    const advice = { explicitBucketBoundaries: [...(buckets ?? [])] }
    return this.#meter.createHistogram(name, { unit, description, advice })
  }

  #counter({ name, kind, unit, description }: MetricDefinition): Counter | UpDownCounter {
    const options = { unit, description }
    return kind === 'counter' ? this.#meter.createCounter(name, options) : this.#meter.createUpDownCounter(name, options)
  }
}

function made<Instrument>(
  all: Map<MetricDefinition, Instrument>,
  definition: MetricDefinition,
  make: () => Instrument,
): Instrument {
  const known = all.get(definition)
  if (known !== undefined) return known
  const instrument = make()
  all.set(definition, instrument)
  return instrument
}
