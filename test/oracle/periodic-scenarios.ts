/** Calls the verbs of periodic tasks in every way that leads to another statement. */
import { allPeriodicTasks, firing, periodicTasks } from '@taskstream/task-scheduler'
import type { PeriodicTask, PeriodicTasks } from '@taskstream/task-scheduler'
import type { OracledbConnection } from '@taskstream/task-sql/oracledb'
import type { Scene } from './recording.ts'
import type { Scenario } from './scenarios.ts'

type Timers = PeriodicTasks<OracledbConnection>

const task: PeriodicTask = {
  id: 'report',
  timer: 'hourly',
  topic: 'mail',
  input: 'x',
  headers: { a: 1 },
  end: new Date('2100-01-01'),
}

/** A timer whose occurrence was due at the beginning of 1970. */
const row: NonNullable<Scene['row']> = {
  scope: 'system',
  id: 'report',
  timer: 'hourly',
  topic: 'mail',
  identifier: 'report',
  status: 0,
  misfire: 0,
  overlap: 0,
  jitter_ms: 0,
  fired: 1,
  skipped: 1,
  occurrence: 0,
  due: 0,
  last_topic: 'mail',
  last_sequence: 7,
  headers: '{}',
  // The timer's last task has succeeded.
  state: 6,
}
const nobody: Scene = { row, rows: [[/from \w*\.?task_periodic/, 0]] }

function through(run: (timers: Timers, connection: OracledbConnection) => Promise<unknown>): Scenario['run'] {
  return (tasks, connection) => run(periodicTasks(tasks), connection)
}

export function* periodicScenarios(): Generator<Scenario> {
  const verb = 'timers'
  yield { verb, scene: nobody, run: through((timers, tx) => timers.schedule(tx, task)) }
  yield { verb, scene: { row }, run: through((timers, tx) => timers.schedule(tx, task)) }
  yield { verb, scene: { row }, run: through((timers, tx) => timers.schedule(tx, { ...task, timer: 'daily' })) }
  yield {
    verb,
    scene: { row, touched: [[/^\s*insert/, 0]] },
    fails: 'TIMER_DUPLICATE',
    run: through((timers, tx) => timers.add(tx, task)),
  }
  yield { verb, scene: nobody, fails: 'TIMER_UNKNOWN', run: through((timers, tx) => timers.pause(tx, 'report')) }
  yield { verb, scene: { row }, run: through((timers, tx) => timers.get(tx, 'report')) }
  for (const filter of [{}, { name: 'close', application: 'billing' }]) {
    yield { verb, scene: { row }, run: through((timers, tx) => timers.list(tx, filter)) }
    yield { verb, scene: { row }, run: (tasks, tx) => allPeriodicTasks(tasks)(tx, filter) }
  }
  yield { verb, scene: { row }, run: through((timers, tx) => timers.pause(tx, 'report')) }
  yield { verb, scene: { row }, run: through((timers, tx) => timers.pauseAll(tx)) }
  const paused: Scene = { row: { ...row, status: 1 } }
  yield { verb, scene: paused, run: through((timers, tx) => timers.resume(tx, 'report')) }
  yield { verb, scene: paused, run: through((timers, tx) => timers.resumeAll(tx)) }
  yield { verb, scene: { row }, run: through((timers, tx) => timers.remove(tx, 'report')) }
  yield { verb, scene: { row }, run: through((timers, tx) => timers.runNow(tx, 'report')) }
  yield {
    verb,
    scene: { row },
    run: through((timers, tx) => timers.reconcile(tx, 'billing', [{ ...task, id: 'other' }], { undeclared: 'remove' })),
  }
  for (const state of [6, 1]) yield { verb, scene: { row: { ...row, state } }, run: (tasks, tx) => firing(tasks)(tx) }
  yield { verb, scene: nobody, run: (tasks, tx) => firing(tasks)(tx) }
}
