/** Every scenario by its group; a group is a chart. */
import { backlogGrowth } from './backlog.ts'
import { drain } from './drains.ts'
import { historyGrowth } from './history.ts'
import { latency } from './latency.ts'
import { pushBatch, pushSingle, pushTen } from './pushes.ts'
import type { Measures, Scenario } from './scenario.ts'
import { fresh } from './scenario.ts'
import { heldSnapshot } from './snapshot.ts'

function throughput(name: string, measures: Measures): Scenario {
  return { name, unit: 'tasks/s', better: 'higher', engine: 'PostgreSQL 18', subjects: fresh(measures) }
}

function ratio(name: string, better: Scenario['better'], subjects: Scenario['subjects']): Scenario {
  return { name, unit: 'ratio', better, engine: 'PostgreSQL 18', subjects }
}

export const groups: Readonly<Record<string, readonly Scenario[]>> = {
  push: [throughput('push-single', pushSingle), throughput('push-10', pushTen), throughput('push-batch', pushBatch)],
  drain: [
    throughput('drain-1', drain(1)),
    throughput('drain-2', drain(2)),
    throughput('drain-transactional', drain(1, 'transactional')),
  ],
  latency: [{ name: 'latency', unit: 'ms', better: 'lower', engine: 'PostgreSQL 18', subjects: fresh(latency) }],
  growth: [
    ratio('held-snapshot', 'higher', heldSnapshot),
    ratio('history-growth', 'higher', historyGrowth),
    ratio('backlog-growth', 'lower', backlogGrowth),
  ],
}
