/**
 * `npm run incident -- --name dead-worker [--engine sqlite|postgres|mariadb] [--solve]`: brings an empty database into the state of an incident,
 * and waits for Ctrl-C, so that somebody can look for the cause. With `--solve` it shows how. `--list` shows the incidents.
 */
import { once } from 'node:events'
import { parseArgs } from 'node:util'
import { nearest } from '@taskstream/task-api'
import Table from 'cli-table3'
import { startEngine } from '../databases/start-engine.ts'
import { NotInstalled } from '../databases/installed.ts'
import { engineKinds } from './incident.ts'
import type { EngineKind, Incident, Staged } from './incident.ts'
import { incidents } from './incidents.ts'
import type { Site } from './site.ts'
import { settled } from './terminal.ts'

/** As on a server of users: the doctor would complain of what a test does without. */
const durable = {
  postgres: { fsync: 'on', full_page_writes: 'on', synchronous_commit: 'on' },
  mariadb: { 'innodb-flush-log-at-trx-commit': '1' },
}

/** Aborted by Ctrl-C. */
const stopped = new AbortController()

/** Something that was typed wrong. */
class UsageError extends Error {}

interface Given {
  readonly incident: Incident
  readonly engine: EngineKind
  readonly isSolved: boolean
}

function read(): Given | undefined {
  const { name, engine, list, solve } = options()
  if (list) return undefined
  const names = incidents.map((incident) => incident.name)
  if (name === undefined) throw new UsageError(`name an incident: --name ${names.join(', ')}`)
  const incident = incidents.find((each) => each.name === name)
  if (!incident) throw new UsageError(`there is no incident ${name}${meant(name, names)} (list them: npm run incident -- --list)`)
  const kind = engine ?? incident.engines[0]!
  if (!engineKinds.some((each) => each === kind))
    throw new UsageError(`there is no engine ${kind}${meant(kind, engineKinds)}: take ${incident.engines.join(', ')}`)
  const found = incident.engines.find((each) => each === kind)
  if (!found) throw new UsageError(`${name} does not happen on ${kind}: take ${incident.engines.join(' or ')}`)
  return { incident, engine: found, isSolved: solve }
}

function options(): { name?: string; engine?: string; list: boolean; solve: boolean } {
  try {
    const { values } = parseArgs({
      options: {
        name: { type: 'string' },
        engine: { type: 'string' },
        list: { type: 'boolean', default: false },
        solve: { type: 'boolean', default: false },
      },
    })
    return values
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error))
  }
}

function meant(text: string, words: readonly string[]): string {
  const word = nearest(text, words) ?? words.find((each) => each.startsWith(text) || each.split('-').includes(text))
  return word === undefined ? '' : `; did you mean ${word}?`
}

function list(): void {
  const table = new Table({ head: ['name', 'what has happened', 'on'], style: { head: [], border: [] } })
  table.push(...incidents.map(({ name, happened, engines }) => [name, happened, engines.join(', ')]))
  console.log(table.toString())
}

async function happen({ incident, engine, isSolved }: Given): Promise<void> {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stopped.abort())
  process.stderr.write(`staging ${incident.name} on ${engine} …\n`)
  await using _server = await startEngine(engine, durable)
  // subject.ts reads the engine's address when it is loaded, so what imports it comes after the engine has started.
  const { openSite } = await import('./site.ts')
  await using site = await openSite(incident)
  const staged = await incident.stage(site)
  if (staged.ready && !stopped.signal.aborted) {
    process.stderr.write('waiting until it is bad enough, a minute …\n')
    await Promise.race([staged.ready(), once(stopped.signal, 'abort')])
  }
  if (stopped.signal.aborted) return
  console.log(`\n${staged.question}\n`)
  if (isSolved) {
    // The site is closed as soon as this function returns.
    await solve(site, staged)
    return
  }
  for (const [name, value] of Object.entries({ TASKSTREAM_URL: staged.url ?? site.url, ...staged.env }))
    console.log(`export ${name}='${value}'`)
  console.log('\nFind out why, with one command: npm run --silent taskstream -- …\nCtrl-C ends it.')
  // A signal alone keeps no process alive.
  const waiting = setInterval(() => {}, 60_000)
  await once(stopped.signal, 'abort')
  clearInterval(waiting)
}

async function solve(site: Site, staged: Staged): Promise<void> {
  const show = async ({ command }: Staged['after'], out: string): Promise<void> =>
    console.log(`$ taskstream ${command.join(' ')}\n${out}`)
  const { out } = await settled(site, staged.finds, staged)
  await show(staged.finds, out)
  const remedies = [...out.matchAll(staged.remedy)].map(([, remedy]) => remedy!)
  console.log((await staged.carryOut(remedies)).join('\n'))
  await show(staged.after, `\n${(await settled(site, staged.after, staged)).out}`.trimStart())
}

try {
  const given = read()
  if (given) await happen(given)
  else list()
  // Processes and servers are gone by now; a pool may still wait for its last connection.
  process.exit()
} catch (error) {
  // A terminal interrupts the server too, which may be gone before its database is dropped. Its files are removed all the same.
  if (stopped.signal.aborted) process.exit()
  const isExpected = error instanceof UsageError || error instanceof NotInstalled
  process.stderr.write(isExpected ? `error: ${error.message}\n` : `${error instanceof Error ? error.stack : String(error)}\n`)
  process.exit(error instanceof UsageError ? 2 : 1)
}
