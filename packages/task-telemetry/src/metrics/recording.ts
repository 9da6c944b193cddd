/** Makes metrics of what this process does. */
import { taskChannels } from '@taskstream/task-api'
import type { HandlerCall, HeldTask, NodeReport, RepositoryCall } from '@taskstream/task-api'
import { errorType, messaging, own } from '../core/conventions.ts'
import { errorTypeOf, failureOf } from '../core/error-type.ts'
import { hear, hearCalls } from '../core/hearing.ts'
import type { Unsubscribe } from '../core/hearing.ts'
import type { Limits } from '../core/limits.ts'
import { processMetrics } from './definitions.ts'
import type { Instruments, Labels, Observation, Recorder } from './instruments.ts'

interface BatchEvent {
  readonly topic: string
  readonly tasks: readonly HeldTask[]
}

const ms = 1_000

/** Hears of calls and events, and records them. @returns what ends that */
export function recordProcess(instruments: Instruments, limits: Limits): Unsubscribe {
  const recording = new Recording(instruments, limits)
  const ends = [...recording.hearCalls(), ...recording.hearNodes(), recording.observe()]
  return () => ends.forEach((end) => end())
}

class Recording {
  readonly #instruments: Instruments
  readonly #limits: Limits
  readonly #startedMs = new WeakMap<object, number>()
  /** When the last heartbeat of each owner came through. */
  readonly #beatsMs = new Map<string, number>()
  /** How many batches each owner handles at a time, by topic. */
  readonly #slots = new Map<string, NodeReport['topics']>()

  constructor(instruments: Instruments, limits: Limits) {
    this.#instruments = instruments
    this.#limits = limits
  }

  hearCalls(): Unsubscribe[] {
    const { sent, consumed, process, slotsUsed } = processMetrics
    const record = {
      sent: this.#instruments.recorder(sent),
      consumed: this.#instruments.recorder(consumed),
      process: this.#instruments.recorder(process),
      used: this.#instruments.recorder(slotsUsed),
    }
    const operation = this.#instruments.recorder(processMetrics.operation)
    const begin = this.#beginTopic()
    return [
      this.#hear(taskChannels.push, operation, (call, labels) => record.sent(countOf(call.result ?? call.args[1]), labels)),
      this.#hear(taskChannels.poll, operation, ({ result }, labels) => {
        const count = countOf(result ?? [])
        if (count > 0) record.consumed(count, labels)
      }),
      this.#hear(taskChannels.complete, operation, () => {}),
      hearCalls<HandlerCall>(taskChannels.handle, {
        started: (call) => {
          this.#startedMs.set(call, performance.now())
          begin(call.topic)
          record.used(1, this.#of(call.topic))
        },
        ended: (call) => {
          const startedMs = this.#startedMs.get(call)
          if (startedMs === undefined) return
          record.used(-1, this.#of(call.topic))
          const labels = { ...this.#of(call.topic), [messaging.operationName]: 'process', ...this.#failure(failureOf(call)) }
          record.process((performance.now() - startedMs) / ms, labels)
        },
      }),
    ]
  }

  /** Counters of a topic begin with 0, as an increase from nothing is none for those who compute rates. */
  #beginTopic(): (topic: string) => void {
    const attempt = this.#instruments.recorder(processMetrics.attempts)
    const stuck = this.#instruments.recorder(processMetrics.stuck)
    const begun = new Set<string>()
    return (topic) => {
      const name = this.#limits.topic(topic)
      if (begun.has(name)) return
      begun.add(name)
      const labels = { [messaging.destination]: name }
      for (const outcome of ['success', 'failure', 'retry']) attempt(0, { ...labels, [own.outcome]: outcome })
      stuck(0, labels)
    }
  }

  hearNodes(): Unsubscribe[] {
    const { attempts, errors, leaseLost, stuck, blocked } = processMetrics
    const attempt = this.#instruments.recorder(attempts)
    const error = this.#instruments.recorder(errors)
    const lost = this.#instruments.recorder(leaseLost)
    const hanging = this.#instruments.recorder(stuck)
    lost(0, {})
    const standing = this.#instruments.recorder(blocked)
    const ended = (topic: string, outcome: string, count: number): void => {
      if (count > 0) attempt(count, { ...this.#of(topic), [own.outcome]: outcome })
    }
    return [
      hear<BatchEvent & { readonly outcomes: Readonly<Record<string, number>> }>(
        'taskstream:onComplete',
        ({ topic, outcomes }) => {
          for (const [outcome, count] of Object.entries(outcomes)) ended(topic, outcome, count)
        },
      ),
      hear<BatchEvent>('taskstream:onLost', ({ topic, tasks }) => ended(topic, 'lost', tasks.length)),
      hear<BatchEvent>('taskstream:onReturned', ({ topic, tasks }) => ended(topic, 'returned', tasks.length)),
      hear<BatchEvent>('taskstream:onStuck', ({ topic }) => hanging(1, this.#of(topic))),
      hear<{ readonly activity: string }>('taskstream:onError', ({ activity }) => error(1, { [own.activity]: activity })),
      hear('taskstream:onLeaseLost', () => lost(1, {})),
      hear<{ readonly blockedMs: number }>('taskstream:onBlocked', ({ blockedMs }) => standing(blockedMs / ms, {})),
      hearCalls<RepositoryCall>(taskChannels.heartbeat, {
        ended: (call) => {
          if (!('error' in call)) this.#beatsMs.set(call.owner, performance.now())
        },
      }),
      hearCalls<RepositoryCall>(taskChannels.report, {
        ended: ({ owner, args }) => this.#reported(owner, args[0] as NodeReport),
      }),
    ]
  }

  observe(): Unsubscribe {
    return this.#instruments.observe([processMetrics.slots, processMetrics.heartbeatAge], () => this.#observations())
  }

  *#observations(): Generator<Observation> {
    const slots = new Map<string, number>()
    for (const topics of this.#slots.values())
      for (const { topic, concurrency = 0 } of topics) {
        const name = this.#limits.topic(topic)
        slots.set(name, (slots.get(name) ?? 0) + concurrency)
      }
    for (const [topic, value] of slots)
      yield { definition: processMetrics.slots, value, labels: { [messaging.destination]: topic } }
    if (this.#beatsMs.size === 0) return
    const oldestMs = Math.min(...this.#beatsMs.values())
    yield { definition: processMetrics.heartbeatAge, value: (performance.now() - oldestMs) / ms, labels: {} }
  }

  /** A node that has stopped has no slots, and no heartbeat that could grow old. */
  #reported(owner: string, report: NodeReport): void {
    if (report.kind !== 'node') return
    if (report.stopped) {
      this.#slots.delete(owner)
      this.#beatsMs.delete(owner)
    } else this.#slots.set(owner, report.topics)
  }

  #hear(name: string, operation: Recorder, count: (call: RepositoryCall, labels: Labels) => void): Unsubscribe {
    return hearCalls<RepositoryCall>(name, {
      started: (call) => void this.#startedMs.set(call, performance.now()),
      ended: (call) => {
        const startedMs = this.#startedMs.get(call)
        if (startedMs === undefined || call.topic === undefined) return
        const failure = 'error' in call ? errorTypeOf(call.error) : undefined
        const labels = { ...this.#of(call.topic), [messaging.operationName]: call.verb, ...this.#failure(failure) }
        operation((performance.now() - startedMs) / ms, labels)
        count(call, labels)
      },
    })
  }

  #of(topic: string): Labels {
    return { [messaging.destination]: this.#limits.topic(topic) }
  }

  #failure(type: string | undefined): Labels {
    return type === undefined ? {} : { [errorType]: this.#limits.error(type) }
  }
}

function countOf(value: unknown): number {
  return Array.isArray(value) ? value.length : 1
}
