/**
 * Decides the PostgreSQL table layout: `npm run bench:hot-path -- [--quick] [--json] [--only NAME]`, where NAME is one of
 * the sections below. All layouts and peers take turns in every round: only ratios inside one run count.
 */
import { parseArgs } from 'node:util'
import { startPostgres } from '../../test/databases/postgres-server.ts'
import { print } from './report.ts'
import type { Section } from './report.ts'
import { sections } from './sections.ts'

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    only: { type: 'string', multiple: true },
  },
})

const wanted = Object.entries(sections).filter(([name]) => !values.only || values.only.includes(name))
if (wanted.length === 0) throw new Error(`--only takes one of: ${Object.keys(sections).join(', ')}`)

const results: Section[] = []
for (const [name, measure] of wanted) {
  await using server = await startPostgres({
    durable: true,
    settings: {
      synchronous_commit: 'off',
      shared_buffers: '1GB',
      max_wal_size: '8GB',
      // So that a crash does forget what was not flushed: the default of 200 ms would save it most of the time.
      ...(name === 'mutants' ? { wal_writer_delay: '10s' } : {}),
    },
  })
  const section = await measure(server, values.quick)
  results.push(section)
  if (!values.json) console.log(`${print([section])}\n`)
}
if (values.json) console.log(JSON.stringify(results, undefined, 2))
