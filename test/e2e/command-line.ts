/** Runs the command line as a process of its own. */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import type { Subject } from '../subject.ts'

export interface Run {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

interface RunOptions {
  readonly stdin?: string
  /** Whether to close the standard output of the command as soon as something is written there. */
  readonly closeEarly?: boolean
  /** TASKSTREAM_URL; default: none. */
  readonly url?: string
  readonly cwd?: string
}

const program = join(import.meta.dirname, '..', '..', 'packages', 'task-cli', 'src', 'cli.ts')

export function run(args: readonly string[], { stdin = '', closeEarly = false, url, cwd }: RunOptions = {}): Promise<Run> {
  const { TASKSTREAM_URL: _, ...inherited } = process.env
  const env = { ...inherited, ...(url !== undefined && { TASKSTREAM_URL: url }) }
  const child = spawn(process.execPath, ['--no-warnings', '--conditions=@taskstream/source', program, ...args], { env, cwd })
  let [out, err] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text
    if (closeEarly) child.stdout.destroy()
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text))
  child.stdin.end(stdin)
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, out, err })))
}

/** Returns the URL of the suite's database for the command line. */
export function urlOf({ engine, location: { subject, at } }: Subject): string {
  // The URL of the server does not say whether the server is MariaDB or MySQL.
  return engine === 'sqlite' ? `sqlite:${at}` : at.replace(/^mysql:/, `${subject}:`)
}
