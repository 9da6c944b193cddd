/** How many tasks each measurement has, by the size of the run. */

export interface Scale {
  /** Tasks that are pushed one by one. */
  readonly singles: number
  /** Tasks that are pushed in batches, and drained. */
  readonly batched: number
  /** Tasks of a drain that is measured beside others of the same round. */
  readonly drained: number
  /** Tasks of a drain whose handler writes, waits or fails, or that are in a hundred topics. A multiple of 200, as half of them are BullMQ's. */
  readonly handled: number
  /** The most milliseconds of a drain with default options, which may be slow. */
  readonly defaultMs: number
  /** Tasks that taskstream drains while a snapshot is held, and while none is. Its peers drain `drained` tasks. */
  readonly beside: number
  /** Pushes in a round whose latency is measured. */
  readonly samples: number
  /** Ended rows in the table before a drain begins. */
  readonly history: number
  /** Ready rows while a few tasks are polled. */
  readonly backlog: number
  /** Ready rows for a process whose memory is measured. */
  readonly watched: number
  /** Tasks that wait for one task of their identifier. */
  readonly blocked: number
  /** Tasks that all have one identifier. */
  readonly serial: number
  /** Tasks with a hundred thousand identifiers. */
  readonly manyIdentifiers: number
  /** Bytes of all payloads of one measurement. */
  readonly payloadBytes: number
}

const full: Scale = {
  singles: 6_000,
  batched: 60_000,
  drained: 50_000,
  handled: 20_000,
  defaultMs: 4_000,
  beside: 100_000,
  samples: 200,
  history: 1_000_000,
  backlog: 1_000_000,
  watched: 200_000,
  blocked: 100_000,
  serial: 1_000,
  manyIdentifiers: 100_000,
  payloadBytes: 50_000_000,
}

export const scales = {
  /** To see whether everything runs. Its figures say nothing. */
  tiny: {
    singles: 100,
    batched: 2_000,
    drained: 2_000,
    handled: 1_000,
    defaultMs: 2_500,
    beside: 4_000,
    samples: 10,
    history: 10_000,
    backlog: 20_000,
    watched: 2_000,
    blocked: 2_000,
    serial: 50,
    manyIdentifiers: 2_000,
    payloadBytes: 1_000_000,
  },
  quick: {
    ...full,
    singles: 2_000,
    batched: 30_000,
    drained: 20_000,
    handled: 6_000,
    defaultMs: 2_500,
    beside: 50_000,
    samples: 100,
    payloadBytes: 20_000_000,
  },
  full,
  /** Ten million rows of history, backlog and drained tasks. */
  large: {
    ...full,
    batched: 200_000,
    drained: 100_000,
    handled: 50_000,
    beside: 200_000,
    samples: 1_000,
    history: 10_000_000,
    backlog: 10_000_000,
    watched: 10_000_000,
    blocked: 500_000,
    serial: 3_000,
    manyIdentifiers: 200_000,
    payloadBytes: 200_000_000,
  },
} as const satisfies Readonly<Record<string, Scale>>

export type Size = keyof typeof scales
/** How long a run of the size may take, in minutes. */
export const minutesOf: Readonly<Record<Size, number>> = { tiny: 3, quick: 6, full: 30, large: 240 }
