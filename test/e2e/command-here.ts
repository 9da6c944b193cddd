/** Runs the command line in this process, which saves most of the time that a process of its own takes. One command runs at a time. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { format } from 'node:util'
import { vi } from 'vitest'
import { runCommand } from '../../packages/task-cli/src/program.ts'
import type { Run } from './command-line.ts'

const folder = join(import.meta.dirname, '..', '..', 'packages', 'task-cli')
const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string }

export interface Here {
  readonly stdin: string
  readonly env: NodeJS.ProcessEnv
  readonly cwd?: string | undefined
}

let isRunning = false

/** Whether a command is running: its output could not be told from that of another. */
export function isBusy(): boolean {
  return isRunning
}

export async function runHere(args: readonly string[], { stdin, env, cwd }: Here): Promise<Run> {
  isRunning = true
  const before = { argv: process.argv, env: process.env, cwd: process.cwd(), exitCode: process.exitCode }
  const stdinBefore = Object.getOwnPropertyDescriptor(process, 'stdin')!
  let [out, err] = ['', '']
  let code: number | undefined
  const spies = [
    vi.spyOn(console, 'log').mockImplementation((...values: unknown[]) => void (out += `${format(...values)}\n`)),
    vi.spyOn(console, 'error').mockImplementation((...values: unknown[]) => void (err += `${format(...values)}\n`)),
    vi.spyOn(process.stdout, 'write').mockImplementation(writer((text) => (out += text))),
    vi.spyOn(process.stderr, 'write').mockImplementation(writer((text) => (err += text))),
    vi.spyOn(process, 'exit').mockImplementation((given) => void (code ??= Number(given ?? process.exitCode ?? 0)) as never),
  ]
  try {
    process.argv = [process.execPath, join(folder, 'src', 'cli.ts'), ...args]
    process.env = env
    process.exitCode = undefined
    Object.defineProperty(process, 'stdin', {
      configurable: true,
      value: Readable.from(stdin === '' ? [] : [Buffer.from(stdin)]),
    })
    if (cwd !== undefined) process.chdir(cwd)
    await runCommand(version)
    return { code: code ?? Number(process.exitCode ?? 0), out, err }
  } finally {
    for (const spy of spies) spy.mockRestore()
    if (cwd !== undefined) process.chdir(before.cwd)
    Object.defineProperty(process, 'stdin', stdinBefore)
    Object.assign(process, { argv: before.argv, env: before.env, exitCode: before.exitCode })
    isRunning = false
  }
}

function writer(note: (text: string) => void): typeof process.stdout.write {
  return (text: string | Uint8Array, ...rest: unknown[]) => {
    note(typeof text === 'string' ? text : Buffer.from(text).toString())
    const told = rest.at(-1)
    if (typeof told === 'function') told()
    return true
  }
}
