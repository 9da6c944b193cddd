/** One program with its folder and environment, and why it could not be started. */
import { accessSync, constants, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { TaskError } from '@taskstream/task-api'

export interface Program {
  /** As it was given, for messages. */
  readonly name: string
  /** The program as a path, or as a name that is looked for in PATH. */
  readonly file: string
  readonly args: readonly string[]
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
}

/** What a program gets of this process's environment: where things are, and in which language and zone. None of these is a secret. */
const passedOn: readonly string[] = ['PATH', 'HOME', 'TMPDIR', 'LANG', 'LC_ALL', 'LC_CTYPE', 'TZ']

/**
 * A program with its arguments, which runs in a folder.
 *
 * @param env variables beside those that are passed on
 * @throws TaskError PROGRAM_NOT_STARTED if the program is given as a path that cannot be executed
 */
export function programOf(
  [name, ...args]: readonly [string, ...string[]],
  env: Readonly<Record<string, string>>,
  cwd: string = process.cwd(),
): Program {
  const program = { name, file: fileOf(name, cwd), args, cwd, env: environmentOf(env) }
  checkFile(program)
  return program
}

/**
 * Looks for a program that is given by its name, as the system will when it is started.
 *
 * @throws TaskError PROGRAM_NOT_STARTED if no folder in PATH has it
 */
export function checkInPath({ name, cwd, env }: Program): void {
  const path = env['PATH']
  // Without a PATH, the system has one of its own.
  if (name.includes('/') || path === undefined) return
  if (path.split(':').some((folder) => obstacleOf(resolve(cwd, folder, name)) === undefined)) return
  throw notStarted(name, 'no folder in PATH has it')
}

/** @throws TaskError RUNTIME_UNSUPPORTED on a system where a program could not be ended with all that it has started */
export function checkProcessGroups(): void {
  if (process.platform !== 'win32') return
  throw new TaskError('RUNTIME_UNSUPPORTED', 'externalProcess needs process groups, which Windows does not have', {
    found: 'win32',
    needed: 'Linux, macOS or another Unix',
  })
}

/** The environment of a program. */
function environmentOf(more: Readonly<Record<string, string>>): Record<string, string> {
  const own = passedOn.flatMap((name): [string, string][] => {
    const value = process.env[name]
    return value === undefined ? [] : [[name, value]]
  })
  return { ...Object.fromEntries(own), ...more }
}

/** Makes a path of a program that is given as one. A name without a slash is looked for in PATH when the program is started. */
function fileOf(name: string, cwd: string): string {
  return name.includes('/') ? resolve(cwd, name) : name
}

/** @throws TaskError PROGRAM_NOT_STARTED if a program that is given as a path cannot be started */
function checkFile({ name, file }: Pick<Program, 'name' | 'file'>): void {
  const why = name.includes('/') ? obstacleOf(file) : undefined
  if (why !== undefined) throw notStarted(name, why)
}

export function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
}

/** Says why the system has not started a program. Its own answer is the same for a missing program, folder or interpreter. */
export function startError({ name, file, cwd }: Program, cause: unknown): TaskError {
  const { code } = cause as NodeJS.ErrnoException
  return notStarted(name, whyOf(), cause)

  function whyOf(): string {
    if (code !== 'ENOENT' && code !== 'EACCES')
      return `the system answers ${cause instanceof Error ? cause.message : String(cause)}`
    if (!isFolder(cwd)) return `the folder ${cwd}, in which it is to run, is not there`
    if (name.includes('/')) return obstacleOf(file) ?? 'the interpreter that its first line names cannot be started'
    return code === 'ENOENT' ? 'no folder in PATH has it' : 'what PATH leads to may not be executed by this user'
  }
}

function notStarted(program: string, why: string, cause?: unknown): TaskError {
  const message = `The program "${program}" cannot be started: ${why}`
  return new TaskError('PROGRAM_NOT_STARTED', message, { program }, cause === undefined ? {} : { cause })
}

/** @returns undefined if a file can be executed, as far as can be seen */
function obstacleOf(file: string): string | undefined {
  try {
    if (statSync(file).isDirectory()) return `${file} is a folder`
    accessSync(file, constants.X_OK)
    return undefined
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') return `${file} is not there`
    return code === 'EACCES' ? `${file} may not be executed by this user` : `${file} cannot be looked at: ${code}`
  }
}
