/** Calls every verb of operators in every way that leads to another statement. */
import type { FormerTask, LockOptions } from '@taskstream/task-api'
import type { Scenario } from './scenarios.ts'

const topic = 'mail'

export function* operatorScenarios(): Generator<Scenario> {
  const told = { kind: 'node', host: 'h', pid: 7, leaseMs: 30_000, topics: [{ topic }] } as const
  yield { verb: 'report', scene: { row: { quiet: 0 } }, run: (tasks, tx) => tasks.report(tx, told) }
  yield {
    verb: 'report',
    scene: { row: { quiet: 0 }, touched: [[/^\s*update/, 0]] },
    run: (tasks, tx) => tasks.report(tx, told),
  }
  const node = { kind: 'node', host: 'h', pid: 7, lease_ms: 1, quiet: 0, topics: '[]', report: '{}', started: 1, seen: 1 }
  yield { verb: 'nodes', scene: { row: node }, run: (tasks, tx) => tasks.nodes(tx) }
  yield { verb: 'record', run: (tasks, tx) => tasks.record(tx, { action: 'redrive', topic, count: 1 }) }
  const done = { made: 1, amount: 1, filter: null, sequences: null, former: null }
  yield { verb: 'actions', scene: { row: done }, run: (tasks, tx) => tasks.actions(tx, { topic, withinMs: 1 }) }
  for (const reference of [7, { externalId: 'e' }]) {
    for (const state of [0, 1, 2, 3, 4, 6])
      yield { verb: 'why', scene: { row: { ...node, state, used: 1 } }, run: (tasks, tx) => tasks.why(tx, topic, reference) }
  }
  // Under a condition, another task of the identifier is at work.
  yield { verb: 'why', scene: { row: { ...node, state: 1, condition: 1, used: 1 } }, run: (tasks, tx) => tasks.why(tx, topic, 7) }
  yield { verb: 'errors', run: (tasks, tx) => tasks.errors(tx, { withinMs: 1 }) }
  yield { verb: 'errors', run: (tasks, tx) => tasks.errors(tx, { topic }) }
  yield { verb: 'held', run: (tasks, tx) => tasks.held(tx, { owner: 'o' }) }
  yield { verb: 'upcoming', run: (tasks, tx) => tasks.upcoming(tx, topic) }
  yield { verb: 'peek', run: (tasks, tx) => tasks.peek(tx, [topic, 'letters']) }
  yield { verb: 'quiet', scene: { touched: [[/^\s*update/, 0]] }, run: (tasks, tx) => tasks.quiet(tx, 'o') }
  yield { verb: 'redrive', run: (tasks, tx) => tasks.redrive(tx, topic, { fingerprint: 'f' }) }
  yield { verb: 'redrive', run: (tasks, tx) => tasks.redrive(tx, topic, { fingerprint: 'f', dryRun: true }) }
  yield { verb: 'record', run: (tasks, tx) => tasks.record(tx, { action: 'undo', count: 1, undoes: 'a', replaces: true }) }
  yield { verb: 'actions', scene: { row: done }, run: (tasks, tx) => tasks.actions(tx, { id: 'a', details: false }) }
  yield { verb: 'purgeActions', scene: { row: done }, run: (tasks, tx) => tasks.purgeActions(tx, { olderThanMs: 1 }) }
  yield { verb: 'count', run: (tasks, tx) => tasks.count(tx, { topic, unneeded: true }) }
  yield { verb: 'purge', run: (tasks, tx) => tasks.purge(tx, topic, { sequences: [1, 2] }) }
  const options: readonly LockOptions[] = [
    { states: ['failed'] },
    { newest: true, unneeded: true, skipLocked: true },
    { fingerprint: 'f', newest: true },
    { tasks: [1, 2] },
    { tasks: 1, dryRun: true },
  ]
  for (const option of options)
    yield { verb: 'lock', scene: { row: { state: 3, told: 0 } }, run: (tasks, tx) => tasks.lock(tx, topic, option) }
  yield* restoring()
  yield { verb: 'deactivate', run: (tasks, tx) => tasks.deactivate(tx, topic, { actor: 'a', note: 'n' }) }
}

/** The scene's rows are of attempt 1, and have the sequences that are asked for. */
function* restoring(): Generator<Scenario> {
  const one = { sequence: 1, attempt: 1, tries: 1, priority: 0 }
  const instant = new Date(0)
  const made = new Date(1)
  const ready = { states: ['ready'] } as const
  const former: readonly FormerTask[] = [
    { ...one, state: 'failed', reason: 'tries' },
    { ...one, state: 'suspended', deadline: instant },
    { ...one, state: 'delayed', due: instant },
    { ...one, state: 'blocked' },
    { ...one, state: 'ready' },
    { ...one, state: 'filtered' },
  ]
  const row = { sequence: 1, state: 1, attempt: 1, stage: 1, told: 0, reason: null, due: null, deadline: null }
  for (const task of former)
    yield { verb: 'restore', scene: { row }, run: (tasks, tx) => tasks.restore(tx, topic, { tasks: [task], left: ready, made }) }
  const cancelled = { ...row, state: 5, stage: 4 }
  const left = { states: ['filtered'] } as const
  yield {
    verb: 'restore',
    scene: { row: cancelled },
    run: (tasks, tx) => tasks.restore(tx, topic, { tasks: [former[4]!], left, made }),
  }
  yield {
    verb: 'restore',
    scene: { rows: [[/task/, 0]] },
    run: (tasks, tx) => tasks.restore(tx, topic, { tasks: [former[4]!], left, made }),
    fails: 'TOPIC_UNKNOWN',
  }
}
