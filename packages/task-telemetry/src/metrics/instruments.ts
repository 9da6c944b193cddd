import type { MetricDefinition } from './definitions.ts'

/** Values of a definition's labels, by their names. A label without a value is left out. */
export type Labels = Readonly<Record<string, string>>

/** Adds to a counter, or records a value of a histogram, in one series. */
export type Recorder = (value: number) => void

export interface Observation {
  readonly definition: MetricDefinition
  readonly value: number
  readonly labels: Labels
}

/** What keeps the values of metrics: OpenTelemetry's meter, or a registry for Prometheus. */
export interface Instruments {
  /** Begins a series. Whoever records often keeps what this returns: nothing is looked up or made for a value then. */
  recorder(definition: MetricDefinition, labels: Labels): Recorder
  /** Observes gauges whenever they are collected. Must not throw or reject. */
  observe(definitions: readonly MetricDefinition[], read: () => Iterable<Observation> | Promise<Iterable<Observation>>): Unobserve
}

export type Unobserve = () => void
