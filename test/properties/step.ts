/** What a history consists of. */
import * as fc from 'fast-check'

const kinds = [
  'commit',
  'commit',
  'commit',
  'rollback',
  'push',
  'push',
  'poll',
  'poll',
  'poll',
  'take',
  'take',
  'complete',
  'complete',
  'retry',
  'fail',
  'suspend',
  'hand back',
  'release',
  'expire',
  'wait',
  'insert',
  'recreate',
  'reset',
  'reassign',
  'redrive',
  'junction',
  'purge',
] as const

export interface Step {
  readonly kind: string
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
