/** Metrics in OpenTelemetry. */
import type { Attributes, Meter, Observable } from '@opentelemetry/api'
import type { MetricDefinition } from './definitions.ts'
import type { Instruments, Recorder, Unobserve } from './instruments.ts'

export class MeterInstruments implements Instruments {
  readonly #meter: Meter
  readonly #system: Attributes

  constructor(meter: Meter, system: Attributes) {
    this.#meter = meter
    this.#system = system
  }

  recorder({ name, kind, unit, description, buckets, ofMessaging }: MetricDefinition): Recorder {
    const system = ofMessaging ? this.#system : undefined
    const options = { unit, description }
    if (kind === 'histogram') {
      const advice = { explicitBucketBoundaries: [...(buckets ?? [])] }
      const histogram = this.#meter.createHistogram(name, { ...options, advice })
      return (value, labels) => histogram.record(value, system ? { ...system, ...labels } : labels)
    }
    const counter = kind === 'counter' ? this.#meter.createCounter(name, options) : this.#meter.createUpDownCounter(name, options)
    return (value, labels) => counter.add(value, system ? { ...system, ...labels } : labels)
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
      for (const { definition, value, labels } of await read()) {
        const gauge = gauges.get(definition)
        if (gauge) result.observe(gauge, value, labels)
      }
    }
    this.#meter.addBatchObservableCallback(callback, observables)
    return () => this.#meter.removeBatchObservableCallback(callback, observables)
  }
}
