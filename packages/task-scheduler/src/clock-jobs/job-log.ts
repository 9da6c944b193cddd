import { inspect } from 'node:util'

/** A job failed, missed its time, or has a timer that does not work. */
export interface ClockJobLogEntry {
  /** The whole of it for people: names the job, and the error. */
  readonly message: string
  readonly id: string
  /** When the fire was due. */
  readonly scheduledFor: Date
  /** What the job threw; undefined if it missed its time. */
  readonly error?: unknown
}

export type ClockJobLog = (entry: ClockJobLogEntry) => void

export const logToConsole: ClockJobLog = ({ message, error }) => {
  if (error === undefined) console.error(message)
  else console.error(message, error)
}

/** A log that cannot throw: what it could not take becomes a process warning, so that nothing is lost with it. */
export function safeLog(log: ClockJobLog): ClockJobLog {
  return (entry) => {
    const warn = (error: unknown): void => process.emitWarning(`onLog threw: ${describe(error)}. It was given: ${entry.message}`)
    try {
      const answer: unknown = log(entry)
      if (answer instanceof Promise) answer.catch(warn)
    } catch (error) {
      warn(error)
    }
  }
}

/** That a fire is dropped, as it is too late. @param next when the job goes on, if it does */
export function missed(id: string, scheduledFor: Date, next: Date | undefined): ClockJobLogEntry {
  const then = next === undefined ? 'it has no other' : `it goes on at ${next.toISOString()}`
  return { message: `Job "${id}" missed its time ${scheduledFor.toISOString()}: ${then}`, id, scheduledFor }
}

/** What somebody threw, in words. */
export function describe(error: unknown): string {
  return error instanceof Error ? error.message || error.name : inspect(error)
}
