/** Calls every verb of operators in every way that leads to another statement. */
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
  yield { verb: 'quiet', scene: { touched: [[/^\s*update/, 0]] }, run: (tasks, tx) => tasks.quiet(tx, 'o') }
  yield { verb: 'redrive', run: (tasks, tx) => tasks.redrive(tx, topic, { fingerprint: 'f' }) }
  yield { verb: 'redrive', run: (tasks, tx) => tasks.redrive(tx, topic, { fingerprint: 'f', dryRun: true }) }
  yield { verb: 'deactivate', run: (tasks, tx) => tasks.deactivate(tx, topic, { actor: 'a', note: 'n' }) }
}
