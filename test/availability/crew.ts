/** The processes of a run, and all that they have told. */
import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import type { Orders, Tell, Told } from './orders.ts'

interface Member {
  readonly child: ChildProcess
  readonly ended: Promise<unknown>
}

export interface Push {
  readonly key: string
  readonly begunMs: number
  readonly committedMs: number
}

export interface Seen {
  readonly who: 'producer' | 'node'
  readonly activity: string
  readonly code: string
  readonly atMs: number
}

export class Crew implements AsyncDisposable {
  /** Pushes that were confirmed, in the order in which that was heard. */
  readonly pushes: Push[] = []
  /** When each task was first known to be completed. */
  readonly completed: Map<string, number> = new Map()
  readonly completedMs: number[] = []
  readonly asked: Set<string> = new Set()
  readonly errors: Seen[] = []
  /** Errors without a code. */
  readonly unnamed: Set<string> = new Set()
  /** What processes said that ended by themselves. */
  readonly exits: string[] = []
  /** How often a handler was given a task. */
  handled = 0
  readonly #members: Member[] = []
  readonly #orders: Orders
  #isEnding = false

  constructor(orders: Orders) {
    this.#orders = orders
  }

  async start(role: 'producer' | 'node'): Promise<void> {
    const child = fork(new URL(`actors/${role}.ts`, import.meta.url), [JSON.stringify(this.#orders)], {
      execArgv: ['--no-warnings', '--conditions=@taskstream/source'],
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    })
    let errors = ''
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (errors = (errors + text).slice(-2_000)))
    const ready = Promise.withResolvers<void>()
    child.on('message', (told: Told) => (told.tells === 'ready' ? ready.resolve() : this.#hear(role, told)))
    const ended = once(child, 'close').then(([code, signal]) => {
      if (!this.#isEnding) this.exits.push(`${role} ended with ${signal ?? code}: ${errors}`)
      ready.reject(new Error(`The ${role} ended with ${signal ?? code} while starting: ${errors}`))
    })
    ready.promise.catch(() => {})
    this.#members.push({ child, ended })
    await ready.promise
  }

  #hear(who: Seen['who'], told: Exclude<Told, { tells: 'ready' }>): void {
    switch (told.tells) {
      case 'pushing':
        this.asked.add(told.key)
        break
      case 'pushed':
        this.pushes.push({ key: told.key, begunMs: told.begun, committedMs: told.at })
        break
      case 'handling':
        this.handled += told.keys.length
        break
      case 'completed':
        for (const key of told.keys) {
          this.complete(key, told.at)
          this.completedMs.push(told.at)
        }
        break
      case 'error':
        this.errors.push({ who, activity: told.activity, code: told.code, atMs: told.at })
        if (!told.isNamed) this.unnamed.add(`${told.activity}: ${told.code}`)
    }
  }

  complete(key: string, atMs: number): void {
    if (!this.completed.has(key)) this.completed.set(key, atMs)
  }

  /** Tasks whose push was confirmed before, and that are not known to be done. */
  undone(beforeMs: number): readonly string[] {
    const pushed = this.pushes.filter(({ committedMs }) => committedMs < beforeMs)
    return pushed.map(({ key }) => key).filter((key) => !this.completed.has(key))
  }

  /** Has the producers push no more, and waits until all their pushes are confirmed. */
  async rest(): Promise<void> {
    await Promise.all(
      this.#members.map(async ({ child, ended }) => {
        const answered = new Promise<void>((resolve) => {
          child.on('message', (told: Told) => void (told.tells === 'ready' && resolve()))
        })
        child.send('rest' satisfies Tell)
        await Promise.race([answered, ended])
      }),
    )
  }

  async stop(): Promise<void> {
    this.#isEnding = true
    for (const { child } of this.#members) if (child.connected) child.send('stop' satisfies Tell, () => {})
    await Promise.all(this.#members.map(({ ended }) => ended))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isEnding = true
    for (const { child } of this.#members) child.kill('SIGKILL')
    await Promise.all(this.#members.map(({ ended }) => ended))
  }
}
