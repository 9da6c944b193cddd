/** Plays one schedule: nodes on a topic, with a database and a clock. Each step is checked against the ledger. */
import { isTaskError } from '@taskstream/task-api'
import type { PushedTask, TaskInfo } from '@taskstream/task-api'
import { bound, buffering, fixed, TaskNode } from '@taskstream/task-processor'
import type { StopReport, TaskListener, TaskManager } from '@taskstream/task-processor'
import { expect } from 'vitest'
import type { NodeFixture } from '../e2e/fixture.ts'
import type { AnyTransaction } from '../subject.ts'
import { nodeClock } from './node-clock.ts'
import type { NodeClock } from './node-clock.ts'
import { leaseMs, NodeDatabase } from './node-database.ts'
import { NodeHandlers } from './node-handlers.ts'
import { Ledger } from './node-ledger.ts'
import type { NodeBatch, Party } from './node-ledger.ts'
import { AtRest } from './node-rest.ts'
import { NodeRows } from './node-rows.ts'
import type { NodeEvent, NodeSetting } from './node-schedule.ts'
import { checkReport, stopping } from './node-stops.ts'
import type { Stopping } from './node-stops.ts'

interface Member {
  readonly party: Party
  readonly node: TaskNode<AnyTransaction>
  readonly manager: TaskManager<AnyTransaction>
}

/** How long the nodes may take for everything that is left, once nothing fails and every handler succeeds. */
const longestEndMs = 300_000

const standsStillMs = leaseMs + 5_000

const soon = { graceMs: 1_000, abortMs: 1_000, leaveMs: 8_000 }

export class NodeWorld {
  readonly #fixture: NodeFixture
  readonly #setting: NodeSetting
  readonly #clock: NodeClock = nodeClock(new Date(Date.UTC(2026, 0, 1)))
  readonly #ledger: Ledger
  readonly #database: NodeDatabase
  readonly #handlers: NodeHandlers
  readonly #rest: AtRest
  readonly #members: Member[] = []
  /** Stops that were asked for, and have not ended. */
  readonly #stopping: Set<Stopping> = new Set()

  /** The topic of the fixture must have the order and the condition of the setting. */
  constructor(fixture: NodeFixture, setting: NodeSetting) {
    const { order, condition } = setting
    this.#fixture = fixture
    this.#setting = setting
    this.#ledger = new Ledger(new NodeRows({ order, condition }), setting, this.#clock)
    this.#database = new NodeDatabase(fixture.subject, fixture.topic, this.#ledger)
    this.#handlers = new NodeHandlers(this.#ledger)
    this.#rest = new AtRest(this.#ledger, this.#database)
  }

  async play(events: readonly NodeEvent[]): Promise<void> {
    try {
      while (this.#members.length < this.#setting.nodes) await this.#join()
      await this.#look()
      for (const event of events) {
        await this.#do(event)
        await this.#look()
      }
      await this.#end()
    } finally {
      await this.#clear()
    }
  }

  async #join(): Promise<void> {
    const { subject, topic } = this.#fixture
    const { mode, size, concurrency, slots, order, condition, named, retry, timeoutMs, abortMs, idleMs } = this.#setting
    const own = subject.tasks({ clock: this.#clock.now })
    const party: Party = {
      index: this.#members.length,
      owner: own.owner,
      state: 'running',
      polls: true,
      isOpen: true,
      hasStopped: false,
      changes: 0,
      stops: [],
      sentMs: this.#clock.monotonicMs(),
      beatMs: this.#clock.monotonicMs(),
      answeredMs: -Infinity,
      earlierMs: -Infinity,
      losses: 0,
      troubles: 0,
      troubleMs: -Infinity,
    }
    const node = new TaskNode<AnyTransaction>({
      repository: this.#database.repository(own),
      transactions: this.#database.transactions(party),
      clock: this.#clock,
      heartbeatIntervalMs: 20_000,
      leaseMs,
      maintenanceIntervalMs: 10_000,
      listener: this.#listener(party),
      ...(slots && { limiter: bound(slots) }),
    })
    const { buffer } = this.#setting
    const handler = this.#handlers.handle
    const manager = node.process(topic, {
      mode,
      size,
      abortMs,
      idleMs,
      handler: buffer ? buffering({ ...buffer, handler }) : handler,
      ...(concurrency && { concurrency }),
      ...(timeoutMs && { timeoutMs }),
      ...(retry && { retry: fixed({ ...retry, jitter: 0 }) }),
      ...(named && { order, condition }),
    })
    this.#members.push({ party, node, manager })
    await node.start()
  }

  #listener(party: Party): TaskListener {
    const ledger = this.#ledger
    return {
      onStart: ({ tasks }) => ledger.begin(party, tasks),
      onStuck: ({ trace }) => void ((trace as NodeBatch).isStuck = true),
      onLeaseLost: () => {
        const now = this.#clock.monotonicMs()
        const silentMs = now - (party.answeredMs === now ? party.earlierMs : party.beatMs)
        ledger.check(silentMs > leaseMs, () => `a lease is lost after ${silentMs} ms`)
        party.losses++
      },
      onFatal: ({ error }) => ledger.check(false, () => `the topic has ended: ${String(error)}`),
    }
  }

  async #do(event: NodeEvent): Promise<void> {
    const member = 'node' in event ? this.#members[event.node % this.#members.length]! : this.#members[0]!
    switch (event.kind) {
      case 'push':
        return this.#push(event.creations)
      case 'pass':
        return this.#pass(event.ms)
      case 'let go':
        return this.#handlers.letGo(event.pick, event.manner)
      case 'fault':
        return this.#database.break(event.verb, event.fault, event.count)
      case 'wake':
        return member.node.wake(this.#fixture.topic)
      case 'stand still':
        this.#clock.advance(standsStillMs)
        for (const stop of this.#stopping) stop.endMs += standsStillMs
        return this.#rest.forget()
      case 'start topic':
        return void this.#start(member)
      case 'stop topic':
      case 'stop node':
        return this.#stop(member, event, event.kind === 'stop node')
    }
  }

  #push(creations: Extract<NodeEvent, { kind: 'push' }>['creations']): void {
    const { tasks, topic } = this.#fixture
    const timed = this.#fixture.subject.tasks({ clock: this.#clock.now, owner: tasks.owner })
    let nowMs = 0
    void this.#database.do<PushedTask[]>(
      (transaction) => {
        nowMs = this.#clock.now().getTime()
        return timed.push(transaction, topic, creations)
      },
      (pushed) => this.#ledger.rows.push(pushed, creations, nowMs),
    )
  }

  /** Moves the clock from timer to timer. The work that a timer begins ends before the next timer rings. */
  async #pass(ms: number): Promise<void> {
    const endMs = this.#clock.monotonicMs() + ms
    await this.#look()
    while (this.#clock.monotonicMs() < endMs) {
      this.#clock.advance(Math.ceil(Math.min(this.#clock.untilNextMs(), endMs - this.#clock.monotonicMs())))
      await this.#look()
    }
  }

  async #look(): Promise<void> {
    await this.#database.rest()
    this.#ledger.forget()
    this.#rest.look(this.#members.map(({ party }) => party))
    for (const { party, endMs } of this.#stopping)
      this.#ledger.check(this.#clock.monotonicMs() <= endMs + 1, () => `the stop of node ${party.index} does not end`)
    expect(this.#ledger.wrong).toEqual([])
  }

  async #start({ party, manager }: Member): Promise<void> {
    if (party.state !== 'running' || party.isOpen) return
    const count = ++party.changes
    party.polls = true
    try {
      await manager.start()
      if (count !== party.changes) return
      this.#ledger.reopen(party)
      party.stops = []
      party.isOpen = true
    } catch (error) {
      this.#ledger.check(isTaskError(error), () => `the topic is not started: ${String(error)}`)
      if (count === party.changes) party.polls = false
    }
  }

  #stop({ party, node, manager }: Member, options: typeof soon, whole: boolean): void {
    const { graceMs, abortMs, leaveMs } = options
    const isFirst = party.isOpen
    const stop = stopping(this.#ledger, party, options, whole)
    // A second stop may shorten the first. The stop of a topic does not shorten the stop of its node.
    for (const other of this.#stopping)
      if (other.party === party && (whole || !other.whole)) other.endMs = Math.min(other.endMs, stop.endMs)
    if (isFirst) this.#stopping.add(stop)
    if (whole) party.state = 'stopped'
    const isWell = this.#database.isWell && this.#members.length === 1
    const ended = (report: StopReport): void => {
      this.#stopping.delete(stop)
      if (isFirst) checkReport(this.#ledger, stop, report, isWell && this.#database.isWell)
      this.#ledger.reopen(party)
    }
    void (whole ? node.stop({ graceMs, abortMs, leaveMs }) : manager.stop({ graceMs, abortMs, leaveMs })).then(ended)
  }

  /** Expects that the nodes do all tasks and then hold nothing, once nothing fails and every handler succeeds. */
  async #end(): Promise<void> {
    this.#database.mend()
    this.#handlers.letAllGo()
    await this.#pass(1)
    while (this.#stopping.size > 0) await this.#pass(1_000)
    if (this.#members.every(({ party }) => party.state !== 'running')) await this.#join()
    for (const member of this.#members) await this.#start(member)
    const { rows } = this.#ledger
    const lastMs = this.#clock.monotonicMs() + longestEndMs
    while (!rows.areDone) {
      await this.#pass(1_000)
      if (this.#clock.monotonicMs() > lastMs) throw new Error(`these are not handled: ${JSON.stringify(rows.all)}`)
    }
    for (const member of this.#members) if (member.party.state === 'running') this.#stop(member, soon, true)
    while (this.#stopping.size > 0) await this.#pass(100)
    await this.#look()
    const infos = await this.#fixture.subject.transactions<TaskInfo[]>((transaction) =>
      this.#fixture.tasks.page(transaction, this.#fixture.topic, { size: 1_000 }),
    )
    const seen = infos.map(({ sequence, state, reason, due, attempt, tries }) => ({
      sequence,
      state,
      reason,
      dueMs: due?.getTime(),
      attempt,
      tries,
    }))
    const known = rows.all.map(({ sequence, state, reason, dueMs, attempt, tries }) => ({
      sequence,
      state,
      reason,
      dueMs,
      attempt,
      tries,
    }))
    expect(seen).toEqual(known.toSorted((left, right) => left.sequence - right.sequence))
  }

  /** Stops all nodes, also after a failure, so that the next schedule finds nobody at work. */
  async #clear(): Promise<void> {
    this.#database.mend()
    this.#handlers.letAllGo()
    let isOver = false
    void Promise.all(this.#members.map(({ node }) => node.stop(soon))).then(() => (isOver = true))
    const isUnderWay = (): boolean => !isOver
    for (let count = 0; isUnderWay() && count < 1_000; count++) {
      this.#clock.advance(100)
      await this.#database.rest()
    }
  }
}
