/** Pauses and resumes timers. Occurrences during a pause are not made up for. */
import type { StoredTimer } from '@taskstream/task-api'
import { againFrom, firstOf, toSchedule, waiting } from './schedule.ts'
import { find } from './look.ts'
import { answer } from './steps.ts'
import type { Steps, Work } from './steps.ts'

/** Pauses a timer. @returns whether the timer was running @throws TaskError TIMER_UNKNOWN */
export function* pause(work: Work, scope: string, id: string): Steps<boolean> {
  const timer = yield* find(work, scope, id)
  if (timer.status !== 'running') return false
  yield* store(work, timer, 'paused')
  return true
}

/** Resumes a timer. @returns whether the timer was paused @throws TaskError TIMER_UNKNOWN */
export function* resume(work: Work, scope: string, id: string): Steps<boolean> {
  const timer = yield* find(work, scope, id)
  if (timer.status !== 'paused') return false
  yield* store(work, timer, 'running')
  yield* answer(work.timers.notify(work.transaction))
  return true
}

/** Pauses all running timers of a scope. @returns how many were running */
export function pauseAll(work: Work, scope: string): Steps<number> {
  return storeAll(work, scope, 'running', 'paused')
}

/** Resumes all paused timers of a scope. @returns how many were paused */
export function resumeAll(work: Work, scope: string): Steps<number> {
  return storeAll(work, scope, 'paused', 'running')
}

function* storeAll(work: Work, scope: string, from: 'running' | 'paused', to: 'running' | 'paused'): Steps<number> {
  const locked = yield* answer(work.timers.lockAll(work.transaction, scope, from))
  for (const timer of locked) yield* store(work, timer, to)
  if (to === 'running' && locked.length > 0) yield* answer(work.timers.notify(work.transaction))
  return locked.length
}

function store({ transaction, timers }: Work, timer: StoredTimer, status: 'running' | 'paused'): Steps<void> {
  const wait = waiting(status, status === 'paused' ? {} : firstOf(toSchedule(timer), againFrom(timer)))
  return answer(timers.change(transaction, timer, { ...wait, changed: timer.now }))
}
