/**
 * Counts how far the code is gone through: `npm run flows -- [--engine sqlite|mariadb|mysql] [--trace WORD]`. The default engine is PostgreSQL from
 * npm. A move is a function that is entered in another file than the function that was entered before it; a return is a move into a file
 * that was visited before. `--trace` prints the moves of the flow that has the word in its name.
 */
import { parseArgs } from 'node:util'
import Table from 'cli-table3'
import { startEngine } from '../databases/start-engine.ts'
import { traceSources } from './trace.ts'
import type { Entry } from './trace.ts'

const { values } = parseArgs({ options: { engine: { type: 'string', default: 'postgres' }, trace: { type: 'string' } } })

await using _server = await startEngine(values.engine)
traceSources()
const { openSubject } = await import('../subject.ts')
const { flows } = await import('./flows.ts')

const table = new Table({
  head: [`${values.engine}: flow`, 'functions', 'files', 'moves', 'returns'],
  style: { head: [], border: [] },
})
for (const [name, flow] of Object.entries(flows)) {
  if (values.trace !== undefined && !name.includes(values.trace)) continue
  await using subject = await openSubject()
  const entries = await flow(subject)
  const moves = entries.filter(({ file }, index) => index > 0 && entries[index - 1]!.file !== file)
  const files = new Set(entries.map(({ file }) => file))
  const functions = new Set(entries.map((entry) => `${entry.file} ${entry.name}`))
  table.push([name, functions.size, files.size, moves.length, moves.length - files.size + 1])
  if (values.trace !== undefined) console.log(visits(entries).join('\n'))
}
console.log(table.toString())

/** A line for each stay in a file, with the functions that are entered there; an asterisk where it was visited before. */
function visits(entries: readonly Entry[]): string[] {
  const seen = new Set<string>()
  const lines: string[] = []
  let last = ''
  for (const { file, name } of entries) {
    if (file === last) lines.push(`${lines.pop()} ${name}`)
    else lines.push(`${seen.has(file) ? '*' : ' '} ${file} ${name}`)
    seen.add(file)
    last = file
  }
  return lines
}
