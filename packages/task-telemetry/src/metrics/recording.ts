/** Makes metrics of what this process does. */
import { taskChannels } from '@taskstream/task-api'
import type { HandlerCall, HeldTask, NodeReport, RepositoryCall } from '@taskstream/task-api'
import { errorType, messaging, own } from '../core/conventions.ts'
import { errorTypeOf, failureOf } from '../core/error-type.ts'
import { Beside, hear, hearCalls } from '../core/hearing.ts'
import type { Unsubscribe } from '../core/hearing.ts'
import type { Limits } from '../core/limits.ts'
import { processMetrics } from './definitions.ts'
import type { MetricDefinition } from './definitions.ts'
import type { Instruments, Observation } from './instruments.ts'
import { Series } from './series.ts'

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
  readonly #attempts: Series
  readonly #stuck: Series
  /** When the last heartbeat of each owner came through. */
  readonly #beatsMs = new Map<string, number>()
  /** How many batches each owner handles at a time, by topic. */
  readonly #slots = new Map<string, NodeReport['topics']>()

  constructor(instruments: Instruments, limits: Limits) {
    this.#instruments = instruments
    this.#limits = limits
    this.#stuck = this.#byTopic(processMetrics.stuck)
    this.#attempts = new Series((topic, outcome) =>
      instruments.recorder(processMetrics.attempts, { [messaging.destination]: topic, [own.outcome]: outcome }),
    )
  }

  hearCalls(): Unsubscribe[] {
    const { sent, consumed } = processMetrics
    const pushed = this.#byFailure(sent, 'push')
    const polled = this.#byFailure(consumed, 'poll')
    return [
      this.#hear(taskChannels.push, 'push', ({ result, args }, topic, failure) =>
        pushed.of(topic, failure)(countOf(result ?? args[1])),
      ),
      this.#hear(taskChannels.poll, 'poll', ({ result }, topic, failure) => {
        const count = countOf(result ?? [])
        if (count > 0) polled.of(topic, failure)(count)
      }),
      this.#hear(taskChannels.complete, 'complete', () => {}),
      this.#hearHandlers(),
    ]
  }

  #hearHandlers(): Unsubscribe {
    const begun = new Beside<HandlerCall, { readonly topic: string; readonly atMs: number }>()
    const begin = this.#beginTopic()
    const used = this.#byTopic(processMetrics.slotsUsed)
    const process = this.#byFailure(processMetrics.process, 'process')
    return hearCalls<HandlerCall>(taskChannels.handle, {
      started: (call) => {
        const topic = this.#limits.topic(call.topic)
        begun.set(call, { topic, atMs: performance.now() })
        begin(topic)
        used.of(topic)(1)
      },
      ended: (call) => {
        const started = begun.get(call)
        if (!started) return
        const { topic, atMs } = started
        used.of(topic)(-1)
        process.of(topic, this.#failure(failureOf(call)))((performance.now() - atMs) / ms)
      },
    })
  }

  /** Counters of a topic begin with 0, as an increase from nothing is none for those who compute rates. */
  #beginTopic(): (topic: string) => void {
    const begun = new Set<string>()
    return (topic) => {
      if (begun.has(topic)) return
      begun.add(topic)
      for (const outcome of ['success', 'failure', 'retry']) this.#attempts.of(topic, outcome)(0)
      this.#stuck.of(topic)(0)
    }
  }

  hearNodes(): Unsubscribe[] {
    const { errors, leaseLost, blocked } = processMetrics
    const failed = new Series((activity) => this.#instruments.recorder(errors, { [own.activity]: activity }))
    const lost = this.#instruments.recorder(leaseLost, {})
    lost(0)
    const standing = this.#instruments.recorder(blocked, {})
    const ended = (topic: string, outcome: string, count: number): void => {
      if (count > 0) this.#attempts.of(this.#limits.topic(topic), outcome)(count)
    }
    return [
      hear<BatchEvent & { readonly outcomes: Readonly<Record<string, number>> }>(
        'taskstream:onComplete',
        ({ topic, outcomes }) => {
          for (const outcome in outcomes) ended(topic, outcome, outcomes[outcome] ?? 0)
        },
      ),
      hear<BatchEvent>('taskstream:onLost', ({ topic, tasks }) => ended(topic, 'lost', tasks.length)),
      hear<BatchEvent>('taskstream:onReturned', ({ topic, tasks }) => ended(topic, 'returned', tasks.length)),
      hear<BatchEvent>('taskstream:onStuck', ({ topic }) => this.#stuck.of(this.#limits.topic(topic))(1)),
      hear<{ readonly activity: string }>('taskstream:onError', ({ activity }) => failed.of(activity)(1)),
      hear('taskstream:onLeaseLost', () => lost(1)),
      hear<{ readonly blockedMs: number }>('taskstream:onBlocked', ({ blockedMs }) => standing(blockedMs / ms)),
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

  #hear(
    channel: string,
    verb: string,
    count: (call: RepositoryCall, topic: string, failure: string | undefined) => void,
  ): Unsubscribe {
    const startedMs = new Beside<RepositoryCall, number>()
    const operation = this.#byFailure(processMetrics.operation, verb)
    return hearCalls<RepositoryCall>(channel, {
      started: (call) => startedMs.set(call, performance.now()),
      ended: (call) => {
        const started = startedMs.get(call)
        if (started === undefined || call.topic === undefined) return
        const topic = this.#limits.topic(call.topic)
        const failure = 'error' in call ? this.#failure(errorTypeOf(call.error)) : undefined
        operation.of(topic, failure)((performance.now() - started) / ms)
        count(call, topic, failure)
      },
    })
  }

  #byTopic(definition: MetricDefinition): Series {
    return new Series((topic) => this.#instruments.recorder(definition, { [messaging.destination]: topic }))
  }

  #byFailure(definition: MetricDefinition, operation: string): Series {
    return new Series((topic, failure) =>
      this.#instruments.recorder(definition, {
        [messaging.destination]: topic,
        [messaging.operationName]: operation,
        ...(failure !== '' && { [errorType]: failure }),
      }),
    )
  }

  #failure(type: string | undefined): string | undefined {
    return type === undefined ? undefined : this.#limits.error(type)
  }
}

function countOf(value: unknown): number {
  return Array.isArray(value) ? value.length : 1
}
