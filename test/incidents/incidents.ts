/** Every incident, in the order of the guide. */
import { badDeploy } from './bad-deploy.ts'
import { clockApart } from './clock-apart.ts'
import { deadWorker } from './dead-worker.ts'
import { heldHorizon } from './held-horizon.ts'
import type { EngineKind, Incident } from './incident.ts'
import { missingGrant } from './missing-grant.ts'
import { pausedAndForgotten } from './paused-and-forgotten.ts'
import { poisonedIdentifier } from './poisoned-identifier.ts'
import { retryStorm } from './retry-storm.ts'
import { timerWithoutScheduler } from './timer-without-scheduler.ts'

export const incidents: readonly Incident[] = [
  deadWorker,
  poisonedIdentifier,
  badDeploy,
  pausedAndForgotten,
  retryStorm,
  heldHorizon,
  missingGrant,
  clockApart,
  timerWithoutScheduler,
]

export function incidentsOn(engine: EngineKind): readonly Incident[] {
  return incidents.filter(({ engines }) => engines.includes(engine))
}
