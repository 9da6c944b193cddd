/** One run of a program: its input, its output within a limit, and its end, which nothing of it survives. */
import { spawn } from 'node:child_process'
import type { ChildProcessWithoutNullStreams } from 'node:child_process'
import { once } from 'node:events'
import type { Readable } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { ProcessGroup } from './process-group.ts'
import { startError } from './program.ts'
import type { Program } from './program.ts'

export interface RunLimits {
  readonly outputBytes: number
  readonly killAfterMs: number
  /** Whether what the program writes to its errors is part of its output. Default false. */
  readonly together?: boolean
  /** Whether a program that writes more than `outputBytes` goes on, and the end of its output is kept. Default false: it is ended. */
  readonly keepsEnd?: boolean
  /** How many bytes of the errors are kept, the last ones. Default 4 096. */
  readonly errorBytes?: number
}

export interface Ended {
  /** Null if a signal has ended the program. */
  readonly exitCode: number | null
  readonly signal: NodeJS.Signals | null
  /** Undefined if the program has written more than it may. */
  readonly output: Buffer | undefined
  /** The last lines that the program has written to its errors. */
  readonly errors: string
  /** Whether the program was asked to end before it did. */
  readonly isAborted: boolean
}

/** How long is waited for what a program has left in its pipes, in milliseconds. A process that left the group may keep them open for ever. */
const drainMs = 500

/**
 * Runs a program. When the signal is aborted, or too much is written, it is asked to end, and killed after `killAfterMs`.
 *
 * @returns when the program has ended, and what was left of its group too
 * @throws TaskError PROGRAM_NOT_STARTED
 */
export async function runProgram(program: Program, input: string, limits: RunLimits, signal: AbortSignal): Promise<Ended> {
  const child = await started(program)
  using group = new ProcessGroup(child)
  const end = (): void => void group.end(limits.killAfterMs)
  const printed = limits.together ? [child.stdout, child.stderr] : [child.stdout]
  const output = limits.keepsEnd
    ? collectEnd(printed, limits.outputBytes)
    : { taken: collectOutput(printed, limits.outputBytes, end) }
  const errors = collectEnd([child.stderr], limits.errorBytes ?? 4_096)
  // A program need not read its input, and closes it when it ends.
  child.stdin.on('error', () => {})
  child.stdin.end(input)
  const closed = once(child, 'close')
  signal.addEventListener('abort', end)
  if (signal.aborted) end()
  try {
    const [exitCode, exitSignal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null]
    const isAborted = signal.aborted
    await group.end(limits.killAfterMs)
    await Promise.race([closed, pause(drainMs, undefined, { ref: false })])
    return { exitCode, signal: exitSignal, output: output.taken(), errors: textOf(errors), isAborted }
  } finally {
    signal.removeEventListener('abort', end)
    for (const pipe of [child.stdin, child.stdout, child.stderr]) pipe.destroy()
  }
}

/** Starts a program without a shell, in a group of its own that can be ended as a whole. */
async function started(program: Program): Promise<ChildProcessWithoutNullStreams> {
  const { file, args, cwd, env } = program
  let child: ChildProcessWithoutNullStreams
  try {
    child = spawn(file, args, { cwd, env, detached: true })
  } catch (error) {
    throw startError(program, error)
  }
  if (child.pid !== undefined) return child
  const [error] = (await once(child, 'error')) as [unknown]
  throw startError(program, error)
}

/** @param tooLong is called once if there is more than `most` */
function collectOutput(pipes: readonly Readable[], most: number, tooLong: () => void): () => Buffer | undefined {
  let chunks: Buffer[] = []
  let length = 0
  const take = (chunk: Buffer): void => {
    length += chunk.length
    if (length <= most) {
      chunks.push(chunk)
      return
    }
    chunks = []
    for (const pipe of pipes) pipe.destroy()
    tooLong()
  }
  for (const pipe of pipes) pipe.on('data', take)
  return () => (length > most ? undefined : Buffer.concat(chunks))
}

/** What was written last, within a limit. */
interface WrittenEnd {
  readonly taken: () => Buffer
  /** Whether more was written. */
  readonly isCut: () => boolean
}

function collectEnd(pipes: readonly Readable[], most: number): WrittenEnd {
  let last: Buffer = Buffer.alloc(0)
  let isCut = false
  const take = (chunk: Buffer): void => {
    isCut ||= last.length + chunk.length > most
    last = Buffer.from(Buffer.concat([last, chunk]).subarray(-most))
  }
  for (const pipe of pipes) pipe.on('data', take)
  return { taken: () => last, isCut: () => isCut }
}

function textOf({ taken, isCut }: WrittenEnd): string {
  const text = taken().toString('utf8')
  // What is cut begins in the middle of a line, unless all of it is one.
  return (isCut() ? text.slice(text.indexOf('\n') + 1) : text).trim()
}
