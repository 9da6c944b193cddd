/** A program as the handler of tasks: started for each, with the task in its environment and its input on standard input. */
import { cutText, isTaskError, TaskDecision, TaskDecisionError, TaskError, taskLimits, taskToString } from '@taskstream/task-api'
import type { HeldTask } from '@taskstream/task-api'
import { checkInPath, checkProcessGroups, programOf, runProgram } from '@taskstream/task-jobs'
import type { Ended, Program } from '@taskstream/task-jobs'
import { decisionOf } from './decision-line.ts'
import { plainText } from './plain-text.ts'
import { environmentOf } from './task-environment.ts'
import type { TaskFiles } from './task-files.ts'
import { ProgramMissing } from './task-handler.ts'
import type { HandleTask } from './task-handler.ts'

export interface ProgramOptions {
  readonly command: readonly [program: string, ...args: string[]]
  /** Variables beside those of the task. */
  readonly env: Readonly<Record<string, string>>
  readonly killAfterMs: number
  /** Whether the last line of the output may be a decision. */
  readonly decisions: boolean
  /** Whether the output is JSON that the task returns. */
  readonly value: boolean
}

/** How much is kept of what a program writes, the end of it. */
const keptBytes = 65_536

/** Exit codes with a meaning of their own. Any other but 0 is a failed try. 65 is EX_DATAERR of sysexits.h; 126 and 127 are those of shells. */
const codes = { refused: 65, irrelevant: 77, setAside: 78, notExecutable: 126, notFound: 127 }

/** When a task comes back for which there was no process or no room on the disk, in milliseconds. */
const hinderedMs = 10_000

/** What the system answers if a program is not there. Other answers, such as too many processes, pass. */
const missingCodes: ReadonlySet<unknown> = new Set(['ENOENT', 'EACCES', 'ENOTDIR', 'ENOEXEC', undefined])

/** @throws TaskError PROGRAM_NOT_STARTED if there is no such program; RUNTIME_UNSUPPORTED on Windows */
export function programHandler(options: ProgramOptions, files: TaskFiles): HandleTask {
  const { command, env, killAfterMs } = options
  checkProcessGroups()
  checkInPath(programOf(command, env))
  const limits = { outputBytes: keptBytes, errorBytes: keptBytes, keepsEnd: true, killAfterMs }
  return async (task, signal) => {
    const file = await files.write(task).catch((error: unknown) => {
      throw hindered(error)
    })
    try {
      const program = (): Program => programOf(command, { ...env, ...environmentOf(task, file) })
      const ended = await started(() => runProgram(program(), task.input ?? '', limits, signal))
      if (ended.isAborted) throw abortedBy(signal.reason as TaskError, command[0], task, ended)
      return outcomeOf(ended, options)
    } finally {
      await files.remove(file)
    }
  }
}

/** @throws ProgramMissing if the program is not there, or not any more */
async function started(run: () => Promise<Ended>): Promise<Ended> {
  try {
    return await run()
  } catch (error) {
    if (!isTaskError(error, 'PROGRAM_NOT_STARTED')) throw error
    const { code } = (error.cause ?? {}) as NodeJS.ErrnoException
    throw missingCodes.has(code) ? new ProgramMissing(error.message, { cause: error }) : hindered(error)
  }
}

/** Puts a task off that this machine has no room for. No program has seen it, so that is no try. */
function hindered(error: unknown): TaskDecisionError {
  return new TaskDecisionError(TaskDecision.snooze({ afterMs: hinderedMs }, (error as Error).message))
}

/** The time-out with what the program has said before it; any other reason as it is. */
function abortedBy(reason: TaskError, program: string, task: HeldTask, ended: Ended): TaskError {
  if (!isTaskError(reason, 'TASK_TIMEOUT')) return reason
  const took = `The program "${program}" of ${taskToString(task)} took longer than ${String(reason.data['timeoutMs'])} ms, and was ended`
  return new TaskError('TASK_TIMEOUT', explained(took, ended), { ...reason.data, program })
}

function outcomeOf(ended: Ended, { command: [program], decisions, value }: ProgramOptions): TaskDecision {
  const { exitCode, signal } = ended
  const output = ended.output ?? Buffer.alloc(0)
  if (exitCode === 0) return (decisions ? decisionOf(plainText(output)) : undefined) ?? successOf(output, value, program)
  const how = exitCode === null ? `was ended by the signal ${signal}` : `has ended with the exit code ${exitCode}`
  const message = explained(`The program "${program}" ${how}`, ended)
  if (exitCode === codes.irrelevant) return TaskDecision.filter(message)
  if (exitCode === codes.setAside) return TaskDecision.suspension(message)
  if (exitCode === codes.notExecutable || exitCode === codes.notFound) throw new ProgramMissing(message)
  const failed = new TaskError('PROGRAM_FAILED', message, { program, ...(exitCode === null ? { signal } : { exitCode }) })
  if (exitCode !== codes.refused) throw failed
  throw new TaskDecisionError(TaskDecision.failure(failed).because('terminated'))
}

function successOf(output: Uint8Array, value: boolean, program: string): TaskDecision {
  // The beginning of a character may be cut off.
  const text = plainText(output).replace(/^\uFFFD+/, output.length === keptBytes ? '' : '$&')
  if (!value) return TaskDecision.success(text)
  try {
    return TaskDecision.success().withValue(new TextDecoder('utf-8', { fatal: true }).decode(output).trim())
  } catch {
    throw new TaskError('OUTPUT_INVALID', `What the program "${program}" has printed is no JSON of at most ${keptBytes} bytes`, {
      program,
    })
  }
}

/** Adds what the program has written to its errors. The last line comes first: it says what went wrong, and lists show the first line of a message. */
function explained(message: string, { errors }: Ended): string {
  const text = plainText(errors)
  if (text === '') return message
  const lines = text.split('\n')
  const first = `${message}: ${cutText(lines.at(-1)!, 1_000)}`
  if (lines.length === 1 && text.length <= 1_000) return first
  // What was written last is kept, if there is too much.
  return `${first}\n${text.slice(-(taskLimits.outputLength - first.length - 1))}`
}
