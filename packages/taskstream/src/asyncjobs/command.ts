/** Tasks that programs handle: the task is in a file, and what is printed is the result. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { checkInteger, checkNames, checkText, isTaskError, optionNames, TaskError } from '@taskstream/task-api'
import { checkProcessGroups, programOf, runProgram } from '@taskstream/task-jobs'
import type { RunLimits } from '@taskstream/task-jobs'
import { failure } from './errors.ts'
import type { Task } from './task.ts'

export interface ExternalProcessOptions {
  /** How many bytes the program may print, 1 to 16 777 216. A program that prints more is ended. Default 1 MiB. */
  readonly outputBytes?: number
  /** How long after SIGTERM a program is killed that was asked to end, in milliseconds, 0 to one hour. Default 5 000. */
  readonly killAfterMs?: number
}

const names = optionNames<ExternalProcessOptions>('externalProcess', { outputBytes: true, killAfterMs: true })

type CommandHandler = (task: Task, context: { readonly signal: AbortSignal }) => Promise<string>

/** @param command a program without arguments: its path, or a name that is looked for in PATH */
export function externalProcess(command: string, options: ExternalProcessOptions): CommandHandler {
  checkText('command', command, 4_096)
  checkNames(names, options)
  const { outputBytes = 1_048_576, killAfterMs = 5_000 } = options
  checkInteger('outputBytes', outputBytes, 1, 16_777_216)
  checkInteger('killAfterMs', killAfterMs, 0, 3_600_000)
  checkProcessGroups()
  const limits: RunLimits = { outputBytes, killAfterMs, together: true }
  return async (task, { signal }) => {
    signal.throwIfAborted()
    const folder = await mkdtemp(join(tmpdir(), 'asyncjobs-'))
    try {
      const file = join(folder, 'task.json')
      await writeFile(file, JSON.stringify(task), { mode: 0o600 })
      return await run(command, file, limits, signal)
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  }
}

async function run(command: string, file: string, limits: RunLimits, signal: AbortSignal): Promise<string> {
  const ended = await started(command, file, limits, signal)
  if (ended.isAborted) throw signal.reason
  if (ended.output === undefined)
    throw new TaskError('OUTPUT_TOO_LONG', `The program "${command}" has printed more than ${limits.outputBytes} bytes`, {
      program: command,
      mostBytes: limits.outputBytes,
    })
  const { exitCode, signal: endedBy } = ended
  if (exitCode === 0) return ended.output.toString('utf8')
  const how = exitCode === null ? `signal ${endedBy}` : `exit code ${exitCode}`
  const last = ended.errors.split('\n').at(-1)
  throw failure('PROGRAM_FAILED', 'commandFailed', `"${command}": ${how}${last ? `: ${last}` : ''}`, {
    program: command,
    ...(exitCode === null ? { signal: endedBy } : { exitCode }),
  })
}

async function started(command: string, file: string, limits: RunLimits, signal: AbortSignal): ReturnType<typeof runProgram> {
  try {
    return await runProgram(programOf([command], { CHORIA_AJ_TASK: file }), '', limits, signal)
  } catch (error) {
    if (!isTaskError(error, 'PROGRAM_NOT_STARTED')) throw error
    throw failure('PROGRAM_NOT_STARTED', 'commandMissing', error.message, { program: command }, error)
  }
}
