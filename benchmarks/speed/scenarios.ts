/** All scenarios by group. */
import { backlogGrowth } from './backlog.ts'
import { connections } from './connections.ts'
import { curves } from './curves.ts'
import { drain } from './drains.ts'
import { failures } from './failures.ts'
import { historyGrowth } from './history.ts'
import { blocked, identifiers } from './identifiers.ts'
import { jobs } from './jobs.ts'
import { latency } from './latency.ts'
import { memory, memoryByDefault } from './memory.ts'
import { payloads } from './payloads.ts'
import { pushBatches, pushSingle, pushTen } from './pushes.ts'
import type { Groups, Measures, Scenario } from './scenario.ts'
import { fresh } from './scenario.ts'
import { heldSnapshot } from './snapshot.ts'
import { sqliteDrain, sqlitePush } from './sqlite.ts'

function throughput(name: string, measures: Measures, rounds = 3): Scenario {
  return { name, unit: 'tasks/s', better: 'higher', engine: 'PostgreSQL 18', rounds, subjects: fresh(measures) }
}

function ratio(name: string, better: Scenario['better'], subjects: Scenario['subjects']): Scenario {
  return { name, unit: 'ratio', better, engine: 'PostgreSQL 18', subjects }
}

export const groups: Groups = {
  // A batch takes milliseconds and its rate varies, so there are more rounds than elsewhere.
  push: [throughput('push-single', pushSingle), throughput('push-10', pushTen), throughput('push-batch', pushBatches, 11)],
  drain: [
    throughput('drain-1', drain(1), 5),
    { ...throughput('drain-2', drain(2), 5), beside: 'drain-1' },
    throughput('drain-transactional', drain(1, 'transactional')),
  ],
  jobs: [throughput('jobs', jobs)],
  // Even an idle machine varies from second to second, so there are many short rounds in turn.
  latency: [{ name: 'latency', unit: 'ms', better: 'lower', engine: 'PostgreSQL 18', rounds: 10, subjects: latency }],
  growth: [
    // The figure is a ratio of two short drains, so there are more rounds than elsewhere.
    { ...ratio('held-snapshot', 'higher', heldSnapshot), rounds: 9 },
    { ...ratio('history-growth', 'higher', historyGrowth), rounds: 5 },
    ratio('backlog-growth', 'lower', backlogGrowth),
  ],
  curves: [{ name: 'curves', unit: 'ms', better: 'lower', engine: 'PostgreSQL 18', rounds: 1, subjects: curves }],
  identifiers: [
    throughput(
      'identifiers-1',
      identifiers(1, ({ serial }) => serial),
    ),
    throughput(
      'identifiers-1000',
      identifiers(1_000, ({ drained }) => drained),
    ),
    throughput(
      'identifiers-100k',
      identifiers(100_000, ({ manyIdentifiers }) => manyIdentifiers),
    ),
  ],
  blocked: [{ name: 'identifiers-blocked', unit: 'ms', better: 'lower', engine: 'PostgreSQL 18', subjects: blocked }],
  failures: [throughput('failures', failures)],
  payload: [
    throughput('payload-100B', payloads(100, 1000)),
    throughput('payload-10kB', payloads(10_000, 1000)),
    throughput('payload-1MB', payloads(1_000_000, 10)),
  ],
  // One round is enough: a drain of millions is long, and leaves nothing to be drained again.
  memory: [
    { name: 'memory', unit: 'MiB', better: 'lower', engine: 'PostgreSQL 18', rounds: 1, subjects: fresh(memory) },
    {
      name: 'memory-default',
      unit: 'MiB',
      better: 'lower',
      engine: 'PostgreSQL 18',
      rounds: 1,
      subjects: fresh(memoryByDefault),
    },
  ],
  connections: [1, 4, 16].map((count) => throughput(`connections-${count}`, connections(count))),
  sqlite: [
    { name: 'sqlite-push', unit: 'tasks/s', better: 'higher', engine: 'SQLite', subjects: sqlitePush },
    { name: 'sqlite-drain', unit: 'tasks/s', better: 'higher', engine: 'SQLite', subjects: sqliteDrain },
  ],
}
