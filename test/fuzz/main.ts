/**
 * `npm run fuzz -- [--cases 100000] [--seed n] [--entry name]` calls every public entry, or one, with extreme and with wrong values. The entries share the
 * cases. The status is 1 if anything but the product's own errors comes out, if an error comes after a write, or if a call takes long.
 */
import { parseArgs } from 'node:util'
import Table from 'cli-table3'
import { entries, fuzzEntry } from './entries.ts'

const { values } = parseArgs({
  options: {
    cases: { type: 'string', default: '100000' },
    seed: { type: 'string', default: String(Math.trunc(Math.random() * 2 ** 31)) },
    entry: { type: 'string' },
  },
})

const strays: unknown[] = []
const stray = (reason: unknown): void => {
  if (strays.push(reason) <= 10) console.error('Nobody has handled:', reason)
  process.exitCode = 1
}
process.on('unhandledRejection', stray)
process.on('uncaughtException', stray)

const table = new Table({
  head: ['entry', 'call', 'cases', 'refused', 'per second', 'slowest (ms)', ''],
  style: { head: [], border: [], compact: true },
})
const failures: string[] = []
const asked = values.entry === undefined ? Object.keys(entries) : [values.entry]
for (const name of asked) {
  for await (const tally of fuzzEntry(name, Math.ceil(Number(values.cases) / asked.length), Number(values.seed))) {
    const { name: call, cases, refused, perSecond, slowestMs, failure } = tally
    table.push([name, call, cases, refused, perSecond, slowestMs.toFixed(1), failure === undefined ? '' : 'FAILED'])
    if (failure !== undefined) failures.push(`${name}, ${call}: ${failure}`)
  }
}
// What is rejected is noticed in a later turn.
await new Promise((resolve) => setTimeout(resolve, 10))
console.log(`seed ${values.seed}\n${table.toString()}`)
for (const failure of failures) console.log(`\n${failure}`)
if (failures.length > 0) process.exitCode = 1
