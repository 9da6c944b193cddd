/**
 * `npm run hammer -- [--engine postgres|sqlite|mariadb|mysql] [--seconds 20] [--mutants]`: runs the hammer with eight connections on a singular topic,
 * once for each order. With `--mutants` it also runs without each guard, and expects the hammer to notice. The status is 1 if two active tasks of one
 * identifier were seen, a task is stuck, a statement failed, nothing was done, or a missing guard was not noticed. On MariaDB and MySQL one transaction
 * in a thousand may be ended by a deadlock, unless it polls; the server's report of it is printed.
 */
import { parseArgs } from 'node:util'
import Table from 'cli-table3'
import { startEngine } from '../databases/start-engine.ts'
import { sql } from '@taskstream/task-sql'
import type { Subject } from '../subject.ts'
import type { HammerReport } from './hammer.ts'

const { values } = parseArgs({
  options: {
    engine: { type: 'string', default: 'postgres' },
    seconds: { type: 'string', default: '20' },
    mutants: { type: 'boolean', default: false },
  },
})
await using _server = await startEngine(values.engine, {
  postgres: { lock_timeout: '1s' },
  mariadb: { 'innodb-lock-wait-timeout': '1' },
})
const { hammer } = await import('./hammer.ts')
const { mutants, mutated, mutateFunctions } = await import('./mutants.ts')
const { isMysql, openSubject } = await import('../subject.ts')

const table = new Table({
  head: [
    '',
    'polls',
    'empty',
    'polled',
    'completed',
    'lost',
    'pushed',
    'samples',
    'violations',
    'stuck',
    'errors',
    'conflicts',
    'waits',
    'slowest ms',
  ],
})
const add = (name: string, report: HammerReport): void => {
  const { polls, empty, polled, completed, lost, pushed, samples, violations, stuck, errors, conflicts, waits, slowestMs } =
    report
  table.push([
    name,
    polls,
    empty,
    polled,
    completed,
    lost,
    pushed,
    samples,
    violations,
    stuck,
    errors.length,
    conflicts.length,
    waits.length,
    Math.round(slowestMs),
  ])
  for (const wait of new Set(report.waits)) process.stderr.write(`  waited: ${wait.slice(0, 200)}\n`)
  for (const error of new Set([...errors, ...conflicts])) process.stderr.write(`  ${error}\n`)
}
const run = async (
  name: string,
  seconds: number,
  order: 'fifo' | 'lifo' | 'priority',
  mutant?: (typeof mutants)[number],
): Promise<HammerReport> => {
  process.stderr.write(`${name}, ${seconds} s\n`)
  await using subject = await openSubject()
  if (mutant && subject.engine === 'postgres') await mutateFunctions(subject, mutant)
  const end = performance.now() + seconds * 1000
  const report = await hammer(subject, {
    topic: 'hammer',
    connections: 8,
    identifiers: 20,
    polling: { order, condition: 'singular-by-identifier' },
    tasks: () => subject.tasks(mutant ? { adapt: (adapter) => mutated(adapter, mutant) } : {}),
    goOn: () => performance.now() < end,
  })
  add(name, report)
  if (isMysql && report.errors.length + report.conflicts.length > 0) process.stderr.write(`${await latestDeadlock(subject)}\n`)
  return report
}

/** What InnoDB says of the last deadlock: the two transactions, their statements and the locks that they waited for. */
async function latestDeadlock({ transactions, execute }: Subject): Promise<string> {
  const [row] = await transactions((transaction) => execute(transaction, sql`show engine innodb status`))
  const [, , text] = Object.values(row!)
  const start = String(text).indexOf('LATEST DETECTED DEADLOCK')
  return start === -1 ? 'InnoDB knows of no deadlock' : String(text).slice(start).split('TRANSACTIONS\n')[0]!
}

let failed = false
for (const order of ['fifo', 'lifo', 'priority'] as const) {
  const report = await run(`${values.engine}, ${order}`, Number(values.seconds), order)
  const { violations, stuck, errors, conflicts, transactions, samples, polled, deaths, undone, interfered } = report
  failed ||= conflicts.length > (isMysql ? transactions / 1_000 : 0)
  failed ||= violations + stuck + errors.length > 0 || Math.min(samples, polled, deaths, undone, interfered) === 0
}
if (values.mutants) {
  for (const mutant of mutants.filter(({ engines }) => engines.some((engine) => engine === values.engine))) {
    const { violations, stuck } = await run(`without: ${mutant.name}`, Math.min(8, Number(values.seconds)), 'lifo', mutant)
    failed ||= violations + stuck === 0
  }
}
console.log(table.toString())
process.exitCode = failed ? 1 : 0
