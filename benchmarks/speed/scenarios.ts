/** All scenarios by group. Those that say the most come first: a run whose time is over leaves out the rest. */
import { backlogGrowth } from './backlog.ts'
import { bullBatches, bullDrain, bullLatency, bullSingle, bullTen } from './bullmq.ts'
import { connections } from './connections.ts'
import { curves } from './curves.ts'
import { drain, drainPlain } from './drains.ts'
import type { DrainOptions } from './drains.ts'
import { historyGrowth } from './history.ts'
import { blocked, identifiers } from './identifiers.ts'
import { jobs } from './jobs.ts'
import { latency } from './latency.ts'
import { memory, memoryByDefault } from './memory.ts'
import { payloads } from './payloads.ts'
import { pushBatches, pushSingle, pushTen } from './pushes.ts'
import type { Groups, Scenario } from './scenario.ts'
import { fresh } from './scenario.ts'
import { heldSnapshot } from './snapshot.ts'
import { yardsticks } from './yardsticks.ts'

type Options = Pick<Scenario, 'weight' | 'beside' | 'isLong' | 'once'>

function throughput(name: string, subjects: Scenario['subjects'], options: Options = {}): Scenario {
  return { name, unit: 'tasks/s', better: 'higher', engine: 'PostgreSQL 18', subjects, ...options }
}

function lower(name: string, unit: string, subjects: Scenario['subjects'], options: Options = {}): Scenario {
  return { name, unit, better: 'lower', engine: 'PostgreSQL 18', subjects, ...options }
}

function ratio(name: string, better: Scenario['better'], subjects: Scenario['subjects'], options: Options = {}): Scenario {
  return { name, unit: 'ratio', better, engine: 'PostgreSQL 18', subjects, ...options }
}

/** A drain with the peers of the database, and with BullMQ. */
function drainOf(name: string, drained: DrainOptions, options: Options = {}): Scenario {
  return throughput(name, { ...fresh(drain(drained)), ...bullDrain(drained) }, { weight: 2, ...options })
}

const handled: DrainOptions['count'] = (scale) => scale.handled
const long = { isLong: true } as const

export const groups: Groups = {
  push: [
    throughput('push-single', { ...fresh(pushSingle), ...bullSingle }),
    throughput('push-10', { ...fresh(pushTen), ...bullTen }),
    throughput('push-batch', { ...fresh(pushBatches), ...bullBatches }),
  ],
  drain: [
    throughput('drain-1', { ...fresh({ ...drain(), ...drainPlain }), ...bullDrain() }, { weight: 2 }),
    drainOf('drain-2', { processes: 2 }, { beside: 'drain-1' }),
    // The peers have no such mode, and drain as in drain-1.
    throughput('drain-transactional', fresh(drain({ mode: 'transactional' })), { weight: 1.5 }),
  ],
  handlers: [
    drainOf('drain-defaults', { settings: 'default', count: (scale) => scale.drained, mostMs: (scale) => scale.defaultMs }),
    drainOf('drain-write', { does: 'write', mode: 'transactional', count: handled }),
    drainOf('drain-wait', { does: 'wait', count: handled, factor: 1 }),
    drainOf('drain-fail', { does: 'fail', count: handled }),
    // graphile-worker's delay before a retry is fixed at e seconds and more, and BullMQ's retries would need another backlog.
    throughput('drain-fail-once', fresh(drain({ does: 'fail once', count: handled, peers: ['pg-boss'] }))),
  ],
  many: [drainOf('drain-topics', { topics: 100, count: handled }), drainOf('drain-10', { processes: 10 })],
  // Even an idle machine varies from second to second, so there are many short rounds in turn.
  latency: [lower('latency', 'ms', { ...latency, ...bullLatency })],
  jobs: [throughput('jobs', fresh(jobs), { weight: 1.5 })],
  payload: [
    throughput('payload-100B', fresh(payloads(100, 1000))),
    throughput('payload-10kB', fresh(payloads(10_000, 1000))),
    throughput('payload-1MB', fresh(payloads(1_000_000, 10)), long),
  ],
  ...yardsticks,
  growth: [
    ratio('held-snapshot', 'higher', heldSnapshot, { weight: 2 }),
    ratio('history-growth', 'higher', historyGrowth, { weight: 3, ...long }),
    ratio('backlog-growth', 'lower', backlogGrowth, { weight: 2, ...long }),
  ],
  connections: [1, 4, 16].map((count) => throughput(`connections-${count}`, fresh(connections(count)), long)),
  identifiers: [
    throughput('identifiers-1', fresh(identifiers(1, ({ serial }) => serial)), long),
    throughput('identifiers-1000', fresh(identifiers(1_000, ({ drained }) => drained)), long),
    throughput('identifiers-100k', fresh(identifiers(100_000, ({ manyIdentifiers }) => manyIdentifiers)), long),
  ],
  blocked: [lower('identifiers-blocked', 'ms', blocked, long)],
  // Once is enough: a drain of so many is long, and leaves nothing to be drained again.
  memory: [
    lower('memory', 'MiB', fresh(memory), { once: true, ...long }),
    lower('memory-default', 'MiB', fresh(memoryByDefault), { once: true, ...long }),
  ],
  curves: [lower('curves', 'ms', curves, { once: true, weight: 3, ...long })],
}
