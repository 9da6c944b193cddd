/** The function that runs each kind of step of the model test. */
import type { Kind } from '../step.ts'
import type { Turn, World } from '../world.ts'
import { junction, purge } from './clean.ts'
import { decide, handBack, hold, reclaim } from './let-go.ts'
import { expire, initialize, release, repair } from './maintain.ts'
import { lock, poll, take } from './poll.ts'
import { push, pushAgain, pushInstead } from './push.ts'
import { reassignAll, reassignGiven, recreate, redrive, reset, reviveGiven } from './revive.ts'
import { cancel, reschedule } from './selected.ts'

export type Act = (world: World, turn: Turn) => Promise<void>

export const acts: Readonly<Record<Exclude<Kind, 'commit' | 'rollback' | 'wait'>, Act>> = {
  push,
  'push again': pushAgain,
  insert: pushInstead,
  poll,
  take,
  lock,
  complete: decide,
  decide,
  retry: decide,
  'hand back': handBack,
  hold,
  reclaim,
  release,
  expire,
  recreate,
  reset,
  'revive given': reviveGiven,
  reassign: reassignAll,
  'reassign given': reassignGiven,
  redrive,
  cancel,
  reschedule,
  junction,
  purge,
  repair,
  initialize,
}
