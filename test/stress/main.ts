/** Runs stress.ts: `npm run stress -- [--engine postgres|sqlite|mariadb] [--seconds 60] [--seed n]`. */
import { parseArgs } from 'node:util'
import Table from 'cli-table3'
import { startEngine } from '../databases/start-engine.ts'

const { values } = parseArgs({
  options: {
    engine: { type: 'string', default: 'postgres' },
    seconds: { type: 'string', default: '60' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 31)) },
  },
})
await using _server = await startEngine(values.engine)
const { stress } = await import('./stress.ts')
const { openSubject } = await import('../subject.ts')

await using subject = await openSubject()
const report = await stress(subject, {
  seconds: Number(values.seconds),
  seed: Number(values.seed),
  onProgress: (line) => process.stderr.write(`${line}\n`),
})
const { done, errors, ...counts } = report
const table = new Table({ head: [`${values.engine}, ${values.seconds} s`, ''] })
table.push(...Object.entries(counts), ...Object.entries(done))
console.log(table.toString())
for (const error of errors) process.stderr.write(`  ${error}\n`)
const { missing, twice, outOfOrder, unfinished, leaks } = report
const never = Object.keys(done).filter((fault) => done[fault] === 0)
if (never.length > 0) process.stderr.write(`  never came about: ${never.join(', ')}\n`)
process.exitCode = missing + twice + outOfOrder + unfinished + leaks + never.length > 0 ? 1 : 0
