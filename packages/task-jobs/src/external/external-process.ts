import { resolve } from 'node:path'
import { checkInteger, invalid, optionNames, TaskError } from '@taskstream/task-api'
import type { TaskDecision } from '@taskstream/task-api'
import { answered, terminated, textOfJob, titleOf } from './external-job.ts'
import type { ExternalHandler, ExternalJob } from './external-job.ts'
import { checkProcessGroups, isFolder, programOf } from './program.ts'
import type { Program } from './program.ts'
import { runProgram } from './run-program.ts'
import type { Ended, RunLimits } from './run-program.ts'
import { checkSecretNames, secretInvalid } from '../definitions/secret-options.ts'

export interface ExternalProcessOptions {
  /**
   * The program and its arguments. No shell reads them, so each argument arrives as it is. A program without a slash is looked for in PATH; a relative
   * path begins in `cwd`.
   */
  readonly command: readonly [program: string, ...args: string[]]
  /** The folder in which the program runs. Default: the folder of this process when the handler is made. */
  readonly cwd?: string
  /**
   * Variables for the program, beside PATH, HOME, TMPDIR, LANG, LC_ALL, LC_CTYPE and TZ of this process. It gets no others, so that no secret is
   * passed on unless it is given here.
   */
  readonly env?: Readonly<Record<string, string>>
  /** How many bytes the program may print, 1 to 16 777 216. A program that prints more is ended. Default 1 MiB. */
  readonly outputBytes?: number
  /** How long after SIGTERM a program is killed that was asked to end, in milliseconds, 0 to one hour. Default 5 000. */
  readonly killAfterMs?: number
}

const names = optionNames<ExternalProcessOptions>('externalProcess', {
  command: true,
  cwd: true,
  env: true,
  outputBytes: true,
  killAfterMs: true,
})

/** Exit code EX_DATAERR of sysexits.h: the input is wrong, and will be so at the next try. */
const wrongInput = 65

/**
 * Makes a handler that starts a program for each try of a job. The program reads the job as a JSON object from its standard input: `id`, `name`, `key`,
 * `input`, `tries`, `attempt`, `maxTries`, `deadline` and `tags`. If the job has an output, the program prints it as JSON.
 *
 * Exit code 0 is success, and 65 (EX_DATAERR) fails the job for good. Any other code, such as 75 (EX_TEMPFAIL), and any signal is a failed try, which
 * `retry` may repeat. When the job's signal is aborted, the program and all of its process group get SIGTERM, and SIGKILL after `killAfterMs`.
 *
 * Needs a system with process groups, which Windows has not.
 *
 * @throws TaskError ARGUMENT_INVALID; PROGRAM_NOT_STARTED if the program is given as a path that cannot be executed; RUNTIME_UNSUPPORTED on Windows
 * @example
 * stream.handle(render, externalProcess({ command: ['python3', 'render.py'], env: { RENDER_KEY: key } }))
 */
export function externalProcess(options: ExternalProcessOptions): ExternalHandler {
  const { program, limits } = checked(options)
  return async (job) => {
    job.signal.throwIfAborted()
    const ended = await runProgram(program, textOfJob(job), limits, job.signal)
    if (ended.isAborted) throw job.signal.reason
    return decisionOf(program.name, ended, limits, job)
  }
}

function decisionOf(
  program: string,
  { exitCode, signal, output, errors }: Ended,
  { outputBytes }: RunLimits,
  job: ExternalJob,
): TaskDecision {
  if (output === undefined) {
    const message = `The program "${program}" of ${titleOf(job)} has printed more than ${outputBytes} bytes, and was ended: print less, or raise outputBytes`
    throw new TaskError('OUTPUT_TOO_LONG', message, { program, mostBytes: outputBytes })
  }
  if (exitCode === 0) return answered(job, output, `What the program "${program}" has printed for ${titleOf(job)}`)
  const how = exitCode === null ? `was ended by the signal ${signal}` : `has ended with the exit code ${exitCode}`
  const message = `The program "${program}" of ${titleOf(job)} ${how}${said(errors)}`
  const failed = new TaskError('PROGRAM_FAILED', message, {
    program,
    ...(exitCode === null ? { signal } : { exitCode }),
  })
  throw exitCode === wrongInput ? terminated(failed) : failed
}

/** Puts the last line first: in most languages it says what went wrong, and lists of failures show the first line of a message. */
function said(errors: string): string {
  const lines = errors.split('\n')
  return errors && `: ${lines.at(-1)}${lines.length > 1 ? `\n${errors}` : ''}`
}

function checked(options: ExternalProcessOptions): { readonly program: Program; readonly limits: RunLimits } {
  checkSecretNames(names, options)
  checkProcessGroups()
  const { command, cwd = process.cwd(), env = {}, outputBytes = 1_048_576, killAfterMs = 5_000 } = options
  const checkedCommand = checkCommand(command)
  checkInteger('outputBytes', outputBytes, 1, 16_777_216)
  checkInteger('killAfterMs', killAfterMs, 0, 3_600_000)
  if (typeof cwd !== 'string' || cwd.includes('\0') || !isFolder(cwd)) throw invalid('cwd', cwd, 'must be a folder that is there')
  checkEnvironment(env)
  return { program: programOf(checkedCommand, env, resolve(cwd)), limits: { outputBytes, killAfterMs } }
}

function checkCommand(command: ExternalProcessOptions['command']): readonly [string, ...string[]] {
  if (!Array.isArray(command) || command.length === 0)
    throw invalid('command', command, `must be a list, as ['python3', 'render.py']: no shell takes it apart`)
  for (const [index, part] of command.entries())
    if (typeof part !== 'string' || part.includes('\0'))
      throw secretInvalid(`command[${index}]`, 'must be a string without NUL characters')
  if (command[0] === '') throw invalid('command[0]', command[0], 'must be a program')
  return [...command] as [string, ...string[]]
}

function checkEnvironment(env: Readonly<Record<string, string>>): void {
  if (typeof env !== 'object' || env === null || Array.isArray(env)) throw secretInvalid('env', 'must be an object of strings')
  for (const [name, value] of Object.entries(env)) {
    if (name === '' || /[=\0]/.test(name)) throw invalid('env', name, 'must have names without = and NUL')
    if (typeof value !== 'string' || value.includes('\0'))
      throw secretInvalid(`env.${name}`, 'must be a string without NUL characters')
  }
}
