/** Timers, and when they elapse. */
import type { StoredTimer } from '@taskstream/task-api'
import { parseTimer, preview } from '@taskstream/task-scheduler'
import type { PreviewEntry } from '@taskstream/task-scheduler'
import { sees } from '../core/access.ts'
import { Problem } from '../core/problem.ts'
import type { Asked } from './route.ts'
import type { Bounded } from './tasks.ts'

export interface TimerAnswer {
  readonly scope: string
  readonly id: string
  readonly name?: string
  readonly summary?: string
  readonly application?: string
  readonly timer: string
  readonly topic: string
  readonly identifier: string
  readonly status: StoredTimer['status']
  readonly note?: string
  readonly due?: Date
  readonly overdueMs?: number
  readonly fired: number
  readonly skipped: number
  readonly last?: { readonly topic: string; readonly sequence: number; readonly occurrence?: Date }
}

export async function readTimers(
  asked: Asked,
  { scope }: { readonly scope?: string | undefined } = {},
): Promise<{
  readonly timers: readonly TimerAnswer[]
  readonly bounded: Bounded
}> {
  const timers = await asked.read<readonly StoredTimer[]>((transaction) => asked.tasks.timers.list(transaction, { scope }))
  const mine = timers.filter(({ topic }) => sees(asked.access, topic))
  const first = mine.toSorted((left, right) => (left.due ?? Infinity) - (right.due ?? Infinity)).slice(0, 500)
  return { timers: first.map(toTimer), bounded: { by: '500 timers', reached: mine.length > 500 } }
}

export async function readTimer(
  asked: Asked,
  given: { readonly scope: string; readonly id: string },
): Promise<
  TimerAnswer & {
    readonly next: readonly PreviewEntry[]
  }
> {
  const [scope, id] = [given.scope, given.id]
  const timer = await asked.read<StoredTimer | undefined>((transaction) => asked.tasks.timers.get(transaction, { scope, id }))
  if (!timer || !sees(asked.access, timer.topic))
    throw new Problem(
      'TIMER_UNKNOWN',
      404,
      `There is no timer ${JSON.stringify(id.slice(0, 200))} in the scope ${JSON.stringify(scope.slice(0, 200))}.`,
      { scope: scope.slice(0, 200), id: id.slice(0, 200) },
    )
  return { ...toTimer(timer), next: elapses(timer) }
}

function elapses({ timer, now, status }: StoredTimer): readonly PreviewEntry[] {
  if (status === 'ended') return []
  try {
    return preview(parseTimer(timer), 10, { after: now })
  } catch {
    // A later release may know timers that this one cannot read.
    return []
  }
}

function toTimer(timer: StoredTimer): TimerAnswer {
  const { scope, id, topic, identifier, status, fired, skipped, due, now, lastTopic, lastSequence, lastOccurrence } = timer
  const { name, summary, application, note } = timer
  const given = Object.entries({ name, summary, application, note }).filter(([, value]) => value !== null)
  return {
    scope,
    id,
    ...(Object.fromEntries(given) as { readonly name?: string }),
    timer: timer.timer,
    topic,
    identifier,
    status,
    ...(due !== null && { due: new Date(due), overdueMs: Math.max(0, now - due) }),
    fired,
    skipped,
    ...(lastTopic !== null &&
      lastSequence !== null && {
        last: {
          topic: lastTopic,
          sequence: lastSequence,
          ...(lastOccurrence !== null && { occurrence: new Date(lastOccurrence) }),
        },
      }),
  }
}
