import { inspect } from 'node:util'

/** Reports that a job failed, missed its time, or has a timer that failed. */
export interface ClockJobLogEntry {
  /** The whole entry as text, with the name of the job and the error. */
  readonly message: string
  readonly id: string
  /** When the fire was due. */
  readonly scheduledFor: Date
  /** The error of the job or of its timer; undefined if the job missed its time. */
  readonly error?: unknown
}

export type ClockJobLog = (entry: ClockJobLogEntry) => void

export const logToConsole: ClockJobLog = ({ message, error }) => {
  if (error === undefined) console.error(message)
  else console.error(message, error)
}

/** Makes a log that never throws. If `log` throws or rejects, a warning of the process has the entry instead. */
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

/** The entry for a fire that is dropped because it is too late. @param next the next fire of the job, if there is one */
export function missed(id: string, scheduledFor: Date, next: Date | undefined): ClockJobLogEntry {
  const then = next === undefined ? 'it has no further fire' : `it goes on at ${next.toISOString()}`
  return { message: `Job "${id}" missed its time ${scheduledFor.toISOString()}: ${then}`, id, scheduledFor }
}

/** The text of a thrown value. */
export function describe(error: unknown): string {
  return error instanceof Error ? error.message || error.name : inspect(error)
}
