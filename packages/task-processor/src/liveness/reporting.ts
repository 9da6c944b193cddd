import { hostname } from 'node:os'
import type { Execution, NodeReport, NodeTrouble, ReportAnswer, TaskNodes } from '@taskstream/task-api'
import { every, within } from '../core/clock.ts'
import type { Clock } from '../core/clock.ts'
import type { Condition } from '../core/listener.ts'
import { toTrouble } from './trouble.ts'

const everyMs = 30_000

/** After a report, news wait at least so long: what fails and works again in turns must not write all the time. */
const newsAfterMs = 2_000

/** How long the last report may take, as a stop has more to do in its time. */
const lastMs = 5_000

/** Whether a repository keeps reports. One of a test, or of an adapter of one's own, may keep none. */
export function keepsReports<Transaction, E extends Execution>(repository: Partial<TaskNodes<Transaction, E>>): boolean {
  return typeof repository.report === 'function'
}

/** What a process says of itself. The rest of a report is the same for every process. */
export type Told = Omit<NodeReport, 'host' | 'pid' | 'stopped'>

export interface ReportingOptions {
  /**
   * Writes a report, in a transaction of its own. Undefined if the repository keeps none: then nothing is told.
   *
   * @param atMostMs how long the database may take, unless it usually may take less
   */
  readonly send: ((report: NodeReport, atMostMs?: number) => Promise<ReportAnswer>) | undefined
  readonly clock: Clock
  /** How long before half a minute is over the second report is made, in milliseconds. Default 0. */
  readonly aheadMs?: number
  readonly condition: Pick<Condition, 'failed' | 'worked'>
  /** Says what is told now. */
  readonly describe: () => Told
  /** Called every half a minute, after what was counted until then was told. */
  readonly onTurn?: () => void
  /** Called when somebody has asked the process to take no more tasks, or to take tasks again. */
  readonly onQuiet: (quiet: boolean) => void
}

/**
 * Tells the database what a process is and how it fares, for those who look at it: at its start, every half a minute, soon after something begins to
 * fail or works again, and at its stop. Nobody waits for a report but the stop. One that fails disturbs nothing, as the next one says it all again.
 */
export class Reporting {
  readonly #options: ReportingOptions
  #isQuiet = false
  /** The names that were told last. By the last report, whoever looks for the last process of a topic finds this one. */
  #topics: NodeReport['topics'] = []
  #refusal: NodeTrouble | undefined
  #toldMs = -Infinity
  /** The report that is being written. Never rejects. */
  #telling: Promise<void> | undefined
  /** Whether there are news that the report that is being written does not have. */
  #isNews = false
  #end: (() => void) | undefined
  #cancelNews: (() => void) | undefined

  constructor(options: ReportingOptions) {
    this.#options = options
  }

  /** Whether somebody has asked the process to take no more tasks. An error leaves this as it was. */
  get isQuiet(): boolean {
    return this.#isQuiet
  }

  /** Whether somebody has changed the tables so that this release does not work on them. */
  get isRefused(): boolean {
    return this.#refusal !== undefined
  }

  /** Whether the process must take nothing. */
  get takesNothing(): boolean {
    return this.#isQuiet || this.isRefused
  }

  /** Begins to tell. */
  begin(): void {
    const { send, clock, aheadMs = 0, onTurn } = this.#options
    if (!send) return
    const again = (): void => {
      this.#tell()
      onTurn?.()
    }
    this.#end = every(clock, everyMs, again, Math.max(everyMs / 2, everyMs - aheadMs))
    this.#tell()
  }

  /** Something has begun to fail, or works again. A call costs a timer at most. */
  changed(): void {
    if (!this.#end || this.#cancelNews) return
    const { clock } = this.#options
    this.#cancelNews = clock.after(Math.max(0, this.#toldMs + newsAfterMs - clock.monotonicMs()), () => {
      this.#cancelNews = undefined
      this.#tell()
    })
  }

  /** Says that the process has stopped, unless it has told nothing. Never rejects. */
  async stop(): Promise<void> {
    if (!this.#end) return
    const { clock, describe } = this.#options
    const endMs = clock.monotonicMs() + lastMs
    this.#end()
    this.#cancelNews?.()
    this.#end = undefined
    if (this.#telling) await within(clock, lastMs, this.#telling)
    // A report that is written after the last one would bring the process back to life.
    if (this.#telling) return
    const atMostMs = Math.max(1, Math.floor(endMs - clock.monotonicMs()))
    await within(
      clock,
      atMostMs,
      this.#send(() => ({ ...describe(), topics: this.#topics, stopped: true }), atMostMs),
    )
  }

  #tell(): void {
    this.#isNews = this.#telling !== undefined
    if (this.#telling) return
    this.#toldMs = this.#options.clock.monotonicMs()
    this.#telling = this.#send(this.#options.describe).finally(() => {
      this.#telling = undefined
      if (this.#isNews) this.changed()
    })
  }

  /** Never rejects. */
  async #send(describe: () => Told & Pick<NodeReport, 'stopped'>, atMostMs?: number): Promise<void> {
    const { send, condition, onQuiet } = this.#options
    try {
      const trouble = this.#refusal && { error: this.#refusal }
      const told = describe()
      if (!told.stopped) this.#topics = told.topics.map(({ topic }) => ({ topic }))
      const report = { ...told, ...trouble, host: hostname().slice(0, 250) || 'unknown', pid: process.pid }
      const { quiet, refusal } = await send!(report, atMostMs)
      if (refusal) condition.failed(refusal)
      else condition.worked()
      // Tables that are being restored are soon right again, so a process that is refused asks again soon.
      if (refusal || this.isRefused) this.#isNews = true
      if ((refusal !== undefined) !== this.isRefused) this.#refusal = refusal && toTrouble('report', refusal)
      // Whoever has stopped takes no tasks in any case.
      if (quiet === this.#isQuiet || !this.#end) return
      this.#isQuiet = quiet
      onQuiet(quiet)
    } catch (error) {
      condition.failed(error)
    }
  }
}
