/** Metrics in OpenTelemetry. */
import type { Attributes, Counter, Histogram, Meter, Observable, UpDownCounter } from '@opentelemetry/api'
import type { MetricDefinition } from './definitions.ts'
import type { Instruments, Labels, Recorder, Unobserve } from './instruments.ts'

/** What was added to a series of a counter, and is not yet told. */
interface Pending {
  readonly counter: Counter | UpDownCounter
  readonly attributes: Attributes
  value: number
  isTold: boolean
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

  /** Counters are told of whenever metrics are collected: a meter finds the series of each value anew, which costs more than to add it up here. */
  recorder(definition: MetricDefinition, labels: Labels): Recorder {
    const attributes = definition.ofMessaging ? { ...this.#system, ...labels } : labels
    if (definition.kind === 'histogram') {
      const histogram = made(this.#histograms, definition, () => this.#histogram(definition))
      return (value) => histogram.record(value, attributes)
    }
    const counter = made(this.#counters, definition, () => this.#counter(definition))
    const pending: Pending = { counter, attributes, value: 0, isTold: false }
    this.#pending.push(pending)
    return (value) => {
      pending.value += value
      pending.isTold = false
    }
  }

  /** Tells the meter what was counted. */
  flush(): void {
    for (const pending of this.#pending) {
      if (pending.isTold) continue
      pending.counter.add(pending.value, pending.attributes)
      pending.value = 0
      pending.isTold = true
    }
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
