/**
 * `npm run test:leaders -- [--engine postgres|sqlite|mariadb] [--takeovers 100] [--interval 1000] [--seed n]`: kills, stops and cuts off the leader of a
 * group again and again, inside its transactions too. The status is 1 if two nodes have committed in one term, or one in a term that was over.
 */
import { parseArgs } from 'node:util'
import { SingleBar } from 'cli-progress'
import Table from 'cli-table3'
import { startEngine } from '../databases/start-engine.ts'

const { values } = parseArgs({
  options: {
    engine: { type: 'string', default: 'postgres' },
    takeovers: { type: 'string', default: '100' },
    interval: { type: 'string', default: '1000' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 31)) },
  },
})
await using _server = await startEngine(values.engine)
// subject.ts reads the engine's address when it is loaded, so it is imported after the engine has started.
const { openSubject } = await import('../subject.ts')
const { faultsOn, laboratoryTables, runLaboratory } = await import('./laboratory.ts')
await using subject = await openSubject()
for (const definition of laboratoryTables(subject.engine))
  await subject.transactions(async (transaction) => void (await subject.execute(transaction, definition)))

const interval = Number(values.interval)
const faults = faultsOn(subject.engine)
const bar = new SingleBar({ format: '{bar} {value} of {total} take-overs, {eta_formatted}' })
bar.start(Number(values.takeovers), 0)
const report = await runLaboratory(subject, {
  takeOvers: Number(values.takeovers),
  livenessCheckIntervalMs: interval,
  heartbeatIntervalMs: Math.floor(interval / 10),
  seed: Number(values.seed),
  faultOf: (_count, drawn) => faults[Math.floor(drawn * faults.length)]!,
  onTakeOver: (count) => bar.update(count),
})
bar.stop()

const table = new Table({ head: [`${values.engine}, seed ${values.seed}`, 'take-overs', 'p50 ms', 'p99 ms', 'max ms'] })
const { takeOvers, commits, shared, late, unasked } = report
for (const [fault, some] of [['all', takeOvers] as const, ...Map.groupBy(takeOvers, ({ fault }) => fault)]) {
  const ms = some.map((one) => one.ms).toSorted((left, right) => left - right)
  const at = (share: number): string => (ms[Math.min(ms.length - 1, Math.floor(share * ms.length))] ?? 0).toFixed(0)
  table.push([fault, some.length, at(0.5), at(0.99), at(1)])
}
console.log(table.toString())
console.log(
  `${commits} commits; ${shared} terms of two nodes; ${late} commits in a term that was over; ${unasked} take-overs that nobody has asked for`,
)
process.exitCode = shared + late > 0 || takeOvers.length === 0 ? 1 : 0
