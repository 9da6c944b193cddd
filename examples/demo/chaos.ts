/** The demo's workers. One is killed while it holds tasks, and one sleeps until its lease has passed. */
import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import type { Location } from './database.ts'
import type { WorkerMessage } from './worker.ts'

export interface Crew {
  /** Completions that the repository refused. */
  readonly refused: number
  /** Wakes the stopped worker. By now its lease has passed, and others have done its tasks. */
  wakeSleeper(): void
  /** Ends the workers: they finish the tasks that they hold, and exit. */
  stop(): Promise<void>
}

export interface CrewOptions {
  readonly location: Location
  /** Called with every completion: how many tasks it completed, and how many were refused. */
  readonly onMessage: (message: { readonly completed: number; readonly refused: number }) => void
  /** Called with each event of a worker, in words for people. */
  readonly onEvent: (event: string) => void
}

/**
 * Starts two workers. The first is killed once it holds tasks, the second sleeps until its lease has passed; new workers replace
 * both.
 */
export function startCrew({ location, onMessage, onEvent }: CrewOptions): Crew {
  const workers = new Set<ChildProcess>()
  let refused = 0
  let sleeper: ChildProcess | undefined

  const start = (onHolds: (worker: ChildProcess) => void): void => {
    const worker = fork(new URL('worker.ts', import.meta.url), [JSON.stringify(location)])
    workers.add(worker)
    worker.once('exit', (code) => {
      workers.delete(worker)
      if (code) onEvent(`a worker ended by itself, with exit code ${code}`)
    })
    worker.on('message', (message: WorkerMessage) => {
      if ('holds' in message) return onHolds(worker)
      refused += message.refused
      onMessage(message)
    })
  }
  const goOn = (worker: ChildProcess): void => void worker.send('go on')

  start((worker) => {
    onEvent('kill -9 of a worker that holds tasks')
    worker.kill('SIGKILL')
    start(goOn)
  })
  start((worker) => {
    if (sleeper) return goOn(worker)
    onEvent('a worker that holds tasks is stopped')
    sleeper = worker
    // The worker stops itself, so it is certainly not inside a transaction: a stopped writer would hold SQLite's only write lock.
    worker.send('sleep')
    start(goOn)
  })

  return {
    get refused() {
      return refused
    },
    wakeSleeper: () => {
      onEvent('the stopped worker wakes up')
      sleeper?.kill('SIGCONT')
    },
    stop: async () => {
      await Promise.all(
        [...workers].map(async (worker) => {
          const exited = once(worker, 'exit')
          worker.send('stop')
          await exited
        }),
      )
    },
  }
}
