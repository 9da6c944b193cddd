/**
 * `npm run tiles -- --scenarios [--record outcomes|exceptions] [--json]`: claims that are kept as ranges which tile the numbers of a topic
 * (docs/decisions/ranges.md), apart from the product. Each scenario is played with every guard, and without each of its guards.
 *
 * The status is 1 if something is wrong with every guard, or a missing guard is not noticed.
 */
import { parseArgs } from 'node:util'
import { startPostgres } from '../databases/postgres-server.ts'
import type { TaskRecord } from './guards.ts'
import { playAll } from './scenarios/play.ts'

const { values } = parseArgs({
  options: {
    record: { type: 'string' },
    scenarios: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
  },
})
const records: readonly TaskRecord[] =
  values.record === 'outcomes' || values.record === 'exceptions' ? [values.record] : ['outcomes', 'exceptions']

if (values.scenarios) {
  await using server = await startPostgres()
  const played = await playAll(server.connection, records)
  if (values.json) console.log(JSON.stringify(played, null, 2))
  const wrong = played.filter(({ isExpected }) => !isExpected)
  console.log(`${played.length} played, ${wrong.length} not as expected`)
  process.exitCode = wrong.length > 0 ? 1 : 0
}
