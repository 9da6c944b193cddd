/** What the processes of a run are told, and what they tell. */
import type { Access } from './setup.ts'

export interface Orders {
  readonly access: Access
  /** How long a step of a transaction may take, in milliseconds. */
  readonly statementTimeoutMs: number
  /** How long the driver waits for the answer to a statement, in milliseconds. */
  readonly answerMs: number
  /** How many tasks a producer pushes in a second, at most. */
  readonly rate: number
}

export const topic = 'work'

/** Moments are epoch milliseconds. */
export type Told =
  | { readonly tells: 'ready' }
  /** A push was asked for; the same key may be tried again. */
  | { readonly tells: 'pushing'; readonly key: string; readonly at: number }
  | { readonly tells: 'pushed'; readonly key: string; readonly begun: number; readonly at: number }
  /** A handler has begun. */
  | { readonly tells: 'handling'; readonly keys: readonly string[] }
  | { readonly tells: 'completed'; readonly keys: readonly string[]; readonly at: number }
  /** What a user of the library sees: a code, or the text of an error that has none. */
  | { readonly tells: 'error'; readonly activity: string; readonly code: string; readonly isNamed: boolean; readonly at: number }

export type Tell = 'rest' | 'stop'
