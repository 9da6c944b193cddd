/** The steps of a random history, and how they are drawn. */
import * as fc from 'fast-check'

const kinds = [
  'commit',
  'commit',
  'commit',
  'rollback',
  'push',
  'push',
  'push again',
  'poll',
  'poll',
  'poll',
  'take',
  'take',
  'lock',
  'complete',
  'complete',
  'decide',
  'decide',
  'retry',
  'hand back',
  'hold',
  'reclaim',
  'release',
  'expire',
  'wait',
  'wait',
  'insert',
  'recreate',
  'reset',
  'revive given',
  'reassign',
  'reassign given',
  'redrive',
  'cancel',
  'reschedule',
  'junction',
  'purge',
  'repair',
  'initialize',
] as const

export type Kind = (typeof kinds)[number]

export interface Step {
  readonly kind: Kind
  readonly session: number
  readonly size: number
  readonly pick: number
}

export const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom(...kinds),
  session: fc.nat(2),
  size: fc.integer({ min: 1, max: 4 }),
  pick: fc.nat(11),
})
