import type { Recorder } from './instruments.ts'

/** The recorders of a metric, by the values of the labels that its series differ in. There are as many as `Limits` lets through. */
export class Series {
  readonly #made = new Map<string, Map<string, Recorder>>()
  readonly #make: (first: string, second: string) => Recorder

  constructor(make: (first: string, second: string) => Recorder) {
    this.#make = make
  }

  of(first: string, second = ''): Recorder {
    let inner = this.#made.get(first)
    if (!inner) this.#made.set(first, (inner = new Map()))
    let recorder = inner.get(second)
    if (!recorder) inner.set(second, (recorder = this.#make(first, second)))
    return recorder
  }
}
