/** Writes what a process does into its file, line by line, before it goes on: a process that is killed has said all that it did. */
import { openSync, writeSync } from 'node:fs'
import type { Event } from './checker/history.ts'

type Without<Member, Name extends PropertyKey> = Member extends unknown ? Omit<Member, Name> : never
export type Said = Without<Event, 'at' | 'actor'>

/** Epoch milliseconds by the system's clock. Faults set a process's `Date`, and not this. */
export function nowMs(): number {
  return performance.timeOrigin + performance.now()
}

export class HistoryFile {
  readonly #file: number
  readonly #actor: string
  #unwritten = ''
  #calls = 0

  constructor(path: string, actor: string) {
    this.#file = openSync(path, 'a')
    this.#actor = actor
  }

  /** A number for a call, which its answer has too. */
  next(): number {
    return this.#calls++
  }

  say(said: Said, actor: string = this.#actor): void {
    this.#unwritten += `${JSON.stringify({ at: nowMs(), actor, ...said })}\n`
    try {
      this.#unwritten = this.#unwritten.slice(writeSync(this.#file, this.#unwritten))
    } catch {
      // While files may not grow the lines wait for the next.
    }
  }
}
