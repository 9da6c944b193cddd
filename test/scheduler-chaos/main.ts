/**
 * `npm run test:scheduler-chaos -- [--engine postgres|sqlite|mariadb] [--seconds 60] [--timers 200] [--seed n]`: kills schedulers at random moments,
 * crashes the server too (PostgreSQL only), and then audits every occurrence. The status is 1 if an occurrence was lost, submitted twice or unexpected,
 * if a scheduler ended before it was killed, or if nothing was killed, crashed or due.
 */
import { parseArgs } from 'node:util'
import Table from 'cli-table3'
import { startEngine } from '../databases/start-engine.ts'
import { startPostgres } from '../databases/postgres-server.ts'

const { values } = parseArgs({
  options: {
    engine: { type: 'string', default: 'postgres' },
    seconds: { type: 'string', default: '60' },
    timers: { type: 'string', default: '200' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 31)) },
  },
})
await using opened = new AsyncDisposableStack()
const server = values.engine === 'postgres' ? opened.use(await startPostgres({ durable: true })) : undefined
if (!server) opened.use(await startEngine(values.engine))
// subject.ts reads the engine's address when it is loaded, so it is imported after the engine has started.
const { openSubject } = await import('../subject.ts')
const { openPostgres } = await import('../engines/postgres.ts')
const { chaos } = await import('./chaos.ts')
const subject = opened.use(server ? await openPostgres(server.url) : await openSubject())
if (server) await subject.tasks().migrate(subject.transactions)

const report = await chaos(subject, {
  seconds: Number(values.seconds),
  timers: Number(values.timers),
  seed: Number(values.seed),
  ...(server && { crash: () => server.crash() }),
  onProgress: (line) => process.stderr.write(`${line}\n`),
})
const table = new Table({ head: [`${values.engine}, ${values.seconds} s, seed ${values.seed}`, ''] })
table.push(...Object.entries(report))
console.log(table.toString())
const { kills, endedAlone, crashes, occurrences, lost, twice, unexpected } = report
// A run in which nothing happened proves nothing.
const quiet = kills === 0 || (server !== undefined && crashes === 0) || occurrences === 0
if (quiet) process.stderr.write('nobody was killed, the server did not crash, or nothing was due\n')
process.exitCode = quiet || endedAlone + lost + twice + unexpected > 0 ? 1 : 0
