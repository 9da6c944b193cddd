/** Processes that work on the database of an incident: nodes, schedulers, and a reader that never ends. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import type { Subject } from '../subject.ts'

/** What a process is told at its start. */
export interface Orders {
  readonly location: Subject['location']
  readonly role: 'node' | 'scheduler' | 'reader'
  readonly name: string
  readonly release: string
  readonly topic: string
  /** The first line of the error that its handler throws. Default: it handles everything. */
  readonly throws?: string
  /** Whether a failed task is tried again, in a minute. */
  readonly retries?: boolean
  /** Whether its handler never ends. */
  readonly hangs?: boolean
}

/** What a process tells. */
export type Told = { readonly told: 'started' } | { readonly told: 'took' | 'ended' | 'refused' | 'mended' }

export interface Process extends AsyncDisposable {
  readonly pid: number
  /** Waits until it has taken, ended or been refused so many tasks in all. */
  until(told: 'took' | 'ended' | 'refused', count: number): Promise<void>
  /** Replaces its handler by one that works, as if what it needs were there again. */
  mend(): Promise<void>
  kill(): Promise<void>
  stop(): Promise<void>
}

/** @throws Error if it ends before it has started */
export async function startProcess(orders: Orders): Promise<Process> {
  const child = fork(new URL('work.ts', import.meta.url), [JSON.stringify(orders)], {
    execArgv: ['--no-warnings', '--conditions=@taskstream/source'],
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  })
  let errors = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (errors = (errors + text).slice(-2_000)))
  const ended = once(child, 'close')
  const counts = { started: 0, took: 0, ended: 0, refused: 0, mended: 0 }
  let look = (): void => {}
  child.on('message', ({ told }: Told) => {
    counts[told]++
    look()
  })
  const until = (told: Told['told'], count: number): Promise<void> => {
    const seen = new Promise<void>((resolve) => {
      look = () => counts[told] >= count && resolve()
      look()
    })
    const tooEarly = ended.then(() => {
      if (counts[told] < count) throw new Error(`${orders.name} ended before it ${told} ${count}: ${errors}`)
    })
    return Promise.race([seen, tooEarly])
  }
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL')
    await ended
  }
  try {
    await until('started', 1)
  } catch (error) {
    await kill()
    throw error
  }
  return {
    pid: child.pid ?? 0,
    until,
    mend: async () => {
      child.send('mend')
      await until('mended', 1)
    },
    kill,
    stop: async () => {
      if (child.connected) child.send('stop')
      await ended
    },
    [Symbol.asyncDispose]: kill,
  }
}
