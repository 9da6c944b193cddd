import type { SourceOptions } from '../core/source.ts'
import type { HealthAddress } from './health-address.ts'
import type { RetryWords } from './retry-words.ts'

/** The options of `work`, as they are read. Durations are in milliseconds. */
export interface WorkOptions extends SourceOptions {
  /** The program and its arguments; undefined if a service handles the tasks. */
  readonly command?: readonly [program: string, ...args: string[]]
  readonly http?: string
  readonly headersFile?: string
  readonly secretFile?: string
  readonly env?: Readonly<Record<string, string>>
  readonly concurrency: number
  readonly retry: RetryWords
  readonly timeout?: number
  readonly killAfter: number
  readonly grace: number
  readonly lease: number
  readonly decisions?: true
  readonly value?: true
  readonly initialize?: true
  readonly health?: HealthAddress
  readonly untilEmpty?: true
  readonly for?: number
  readonly quietAfter?: number
  readonly verbose?: true
}
