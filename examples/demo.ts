/**
 * Audits the dependencies of this checkout. Each installed package is a task, and several processes work on the tasks. One
 * process is killed and one is stopped; in the end every package has been audited exactly once.
 *
 *   npm run demo                        a SQLite file
 *   npm run demo -- --postgres          a PostgreSQL server from npm
 *   npm run demo -- --url postgres://…  a server of yours; touches only a schema of its own
 *   npm run demo -- --json              the result as the last line
 */
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startCrew } from './demo/chaos.ts'
import { openDatabase } from './demo/database.ts'
import { prepare } from './demo/location.ts'
import { findPackages } from './demo/packages.ts'
import { progressBar, showLicences, showProof } from './demo/report.ts'
import { createAudit, readLicences, readProof } from './demo/store.ts'

const { values: options } = parseArgs({
  options: { postgres: { type: 'boolean' }, url: { type: 'string' }, json: { type: 'boolean' } },
})
const began = performance.now()
await using location = await prepare(options)
await using database = await openDatabase(location.location)
const { tasks, transactions } = database

await tasks.migrate(transactions)
const root = join(import.meta.dirname, '..')
const packages = await findPackages(root)
await transactions(async (transaction) => {
  await tasks.initialize(transaction, 'audit')
  await createAudit(database, transaction)
  const creations = packages.map((folder) => ({ identifier: folder.slice(root.length + 1), input: folder }))
  await tasks.push(transaction, 'audit', creations)
})

const bar = progressBar(packages.length)
const done = Promise.withResolvers<void>()
const refusal = Promise.withResolvers<void>()
let completed = 0
const crew = startCrew({
  location: location.location,
  onEvent: (event) => bar.update({ event }),
  onMessage: (message) => {
    completed += message.completed
    bar.update(completed)
    if (completed >= packages.length) done.resolve()
    if (message.refused > 0) refusal.resolve()
  },
})
await done.promise
crew.wakeSleeper()
await refusal.promise
await crew.stop()
bar.stop()

const proof = {
  engine: location.location.engine,
  pushed: packages.length,
  ...(await readProof(database)),
  refused: crew.refused,
  ms: Math.round(performance.now() - began),
}
showLicences(await readLicences(database))
const kept = showProof(proof)
if (options.json) console.log(JSON.stringify(proof))
process.exitCode = kept ? 0 : 1
