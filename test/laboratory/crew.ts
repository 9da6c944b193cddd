/** The processes of a run: whoever ends is followed by another of the same role. */
import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Subject } from '../subject.ts'
import type { HistoryFile } from './history-file.ts'
import { openProxy } from './proxy.ts'
import type { Proxy } from './proxy.ts'
import type { Message, Orders, Role } from './setting.ts'

export interface Member {
  readonly name: string
  readonly role: Role
  readonly process: ChildProcess
  /** Between the process and its server; undefined if there is no server. */
  readonly proxy: Proxy | undefined
  /** Whether the process has begun its work. */
  isReady: boolean
  /** Whether somebody has stopped or killed it. */
  isAsked: boolean
  /** Whether it stands still. */
  isStill: boolean
  owner: string | undefined
  /** Whether nobody kills or stops it before the end, so that it can be seen whether it grows. */
  readonly isLasting: boolean
  readonly ended: Promise<unknown>
}

interface CrewOptions {
  readonly location: Subject['location']
  readonly folder: string
  readonly history: HistoryFile
  readonly random: () => number
  readonly rate: number
  readonly without?: string
  /** A checkout of another release: every second process uses its packages. */
  readonly beside?: string
}

const before = (program: string): string[] => ['--import', new URL(program, import.meta.url).href]

/** A stopped process that has not ended by itself after this time keeps something open. */
const exitMs = 30_000

export class Crew implements AsyncDisposable {
  readonly members: Set<Member> = new Set()
  /** Processes that did not end by themselves when they were stopped. */
  leaks = 0
  /** Processes that used the packages of another release. */
  others = 0
  /** Owners that have ended. */
  readonly gone: Set<string> = new Set()
  /** How many have ended before they said who they are. */
  nameless = 0
  /** Where the server listens. */
  #target: string
  readonly #options: CrewOptions
  #born = 0
  #rate: number

  constructor(options: CrewOptions) {
    this.#options = options
    this.#target = options.location.at
    this.#rate = options.rate
  }

  /** Leads all proxies to another server. Connections that are open stay where they are. */
  set target(url: string) {
    this.#target = url
    for (const { proxy } of this.members) if (proxy) proxy.target = url
  }

  /** Starts a process, and does not wait until it works. @param clockMs how far its clock is off */
  async start(role: Role, clockMs = 0, isLasting = false): Promise<Member> {
    const { location, folder, history, random, without, beside } = this.#options
    const name = `${role} ${++this.#born}`
    const isOther = beside !== undefined && random() < 0.5
    if (isOther) this.others++
    const proxy = /^\w+:\/\//.test(location.at) ? await openProxy(this.#target) : undefined
    const query = location.at.startsWith('mysql:') ? '?connectTimeout=2000' : ''
    const orders: Orders = {
      location: { ...location, ...(proxy && { at: `${proxy.url}${query}` }) },
      actor: name,
      seed: Math.floor(random() * 2 ** 31),
      historyFile: join(folder, `${name.replace(' ', '-')}.events.jsonl`),
      rate: this.#rate,
      ...(without !== undefined && { without }),
    }
    const child = fork(new URL(`actors/${role}.ts`, import.meta.url), [JSON.stringify(orders)], {
      execArgv: ['--expose-gc', '--conditions=@taskstream/source', ...['clock.ts', 'release.ts'].flatMap(before)],
      env: { ...process.env, LABORATORY_CLOCK_MS: String(clockMs), LABORATORY_RELEASE: isOther ? beside : '' },
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    })
    let errors = ''
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (errors = (errors + text).slice(-2_000)))
    const ended = once(child, 'close')
    const member: Member = {
      name,
      role,
      process: child,
      proxy,
      isReady: false,
      isAsked: false,
      isStill: false,
      owner: undefined,
      isLasting,
      ended,
    }
    this.members.add(member)
    child.once('message', ({ owner }: { readonly owner?: string }) => {
      member.isReady = true
      member.owner = owner
    })
    child.once('close', (code, signal) => {
      this.members.delete(member)
      if (member.owner !== undefined) this.gone.add(member.owner)
      if (!member.isReady) this.nameless++
      const how = signal ?? `code ${code}${code === 0 ? '' : `: ${errors}`}`
      history.say({ verb: 'end', asked: member.isAsked && (signal !== null || code === 0), how }, name)
      void proxy?.[Symbol.asyncDispose]()
    })
    return member
  }

  /** A working process that nobody has anything to do with, of some role or of any. */
  any(...roles: readonly Role[]): Member | undefined {
    return this.#pick(roles, () => true)
  }

  /** The same, if others may follow it. */
  anyToEnd(...roles: readonly Role[]): Member | undefined {
    return this.#pick(roles, ({ isLasting }) => !isLasting)
  }

  #pick(roles: readonly Role[], is: (member: Member) => boolean): Member | undefined {
    const free = [...this.members].filter(
      (member) =>
        member.isReady && !member.isAsked && !member.isStill && (roles.length === 0 || roles.includes(member.role)) && is(member),
    )
    return free[Math.floor(this.#options.random() * free.length)]
  }

  /** Kills a process without warning. */
  async kill(member: Member): Promise<void> {
    member.isAsked = true
    member.process.kill('SIGKILL')
    await member.ended
  }

  /** Stops a process as a deployment does. One that does not end by itself is counted as a leak, and killed. */
  async stop(member: Member): Promise<void> {
    member.isAsked = true
    tell(member, { tell: 'stop' })
    const late = new AbortController()
    const leaked = delay(exitMs, undefined, { signal: late.signal }).then(
      () => {
        this.leaks++
        member.process.kill('SIGKILL')
      },
      () => {},
    )
    await member.ended
    late.abort()
    await leaked
  }

  /** Waits until every process works, and has each write down what it uses. */
  async sample(): Promise<void> {
    await Promise.all(
      [...this.members].map(async (member) => {
        await this.#untilReady(member)
        await ask(member, 'sample')
      }),
    )
  }

  async #untilReady(member: Member): Promise<void> {
    while (!member.isReady && this.members.has(member)) await delay(50)
  }

  /** Tells processes to push no more, and waits until they do not. Those that start later push nothing. */
  async rest(role: Role): Promise<void> {
    this.#rate = 0
    const rest = async (member: Member): Promise<void> => {
      await this.#untilReady(member)
      await ask(member, 'rest')
    }
    await Promise.all([...this.members].filter((member) => member.role === role && !member.isAsked).map(rest))
  }

  async stopAll(...roles: readonly Role[]): Promise<void> {
    await Promise.all([...this.members].filter(({ role }) => roles.includes(role)).map((member) => this.stop(member)))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.members].map((member) => this.kill(member)))
  }
}

/** Tells a process something, and waits until it has done it or has ended. */
async function ask(member: Member, what: 'rest' | 'sample'): Promise<void> {
  const answered = new Promise<void>((resolve) => {
    const hear = (message: { readonly done?: string }): void => {
      if (message.done !== what) return
      member.process.off('message', hear)
      resolve()
    }
    member.process.on('message', hear)
  })
  tell(member, { tell: what })
  await Promise.race([answered, member.ended])
}

export function tell({ process: child }: Member, message: Message): void {
  // It may be gone, or may not read.
  if (child.connected) child.send(message, () => {})
}
