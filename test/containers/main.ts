/**
 * `npm run test:containers -- --engine postgres:17`: runs the suite on a database in a Docker container, with any release of an image. The status is
 * vitest's, or 1 if the container does not start. The container is removed in every case.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { constants } from 'node:os'
import { join } from 'node:path'
import { parse } from './command-line.ts'
import type { Asked } from './command-line.ts'
import { startContainer } from './container.ts'
import { kinds } from './engines.ts'
import type { Kind } from './engines.ts'

const vitest = join(import.meta.dirname, '..', '..', 'node_modules', 'vitest', 'vitest.mjs')

const stopping = new AbortController()
// A signal may come twice, as a terminal sends it to the whole process group and npm passes it on.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.on(signal, () => {
    process.exitCode = 128 + constants.signals[signal]
    stopping.abort(new Error(`stopped by ${signal}`))
  })

async function run({ image, kind: name, rest }: Asked): Promise<number> {
  const kind: Kind = kinds[name]
  process.stderr.write(`${image}: starting\n`)
  await using container = await startContainer(image, kind, stopping.signal)
  process.stderr.write(`${image}: the suite runs on it as ${kind.project}\n`)
  return await runVitest(kind, container.url, rest)
}

async function runVitest(kind: Kind, url: string, rest: readonly string[]): Promise<number> {
  const chosen = rest.some((argument) => /^--project(=|$)/.test(argument)) ? [] : ['--project', kind.project]
  const child = spawn(process.execPath, [vitest, 'run', '--mode', 'all', ...chosen, ...rest], {
    stdio: 'inherit',
    env: { ...process.env, [kind.variable]: url },
  })
  const ended = once(child, 'exit') as Promise<[code: number | null]>
  stopping.signal.addEventListener('abort', () => child.kill('SIGTERM'))
  if (stopping.signal.aborted) child.kill('SIGTERM')
  const [code] = await ended
  return code ?? 1
}

try {
  const code = await run(parse(process.argv.slice(2)))
  process.exitCode ??= code
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode ??= 1
}
