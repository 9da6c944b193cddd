/**
 * Turns processes that tests start into the mutant too; they load this file first (`node --import`). TASKSTREAM_MUTANTS names the
 * folder of the mutated sources, where a process also leaves the places that it reached. TASKSTREAM_MUTANT is the active mutant.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const folder = process.env['TASKSTREAM_MUTANTS'] ?? ''
const active = Number(process.env['TASKSTREAM_MUTANT'] ?? 0)
const places = new Map(JSON.parse(readFileSync(join(folder, 'sources.json'), 'utf8')) as [file: string, mutated: string][])
const reached = new Set<number>()

globalThis.__mutant = (id) => {
  reached.add(id)
  return id === active
}
process.on('exit', () => writeFileSync(join(folder, `reached-${process.pid}.json`), JSON.stringify([...reached])))

registerHooks({
  load: (url, context, next) => {
    const mutated = url.startsWith('file:') ? places.get(fileURLToPath(url)) : undefined
    if (mutated === undefined) return next(url, context)
    return { format: 'module-typescript', source: readFileSync(mutated, 'utf8'), shortCircuit: true }
  },
})
