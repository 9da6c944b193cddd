/** What a trace shows of a task: who pushed it, who handled it, and what has become of it. */
import { SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import { AlwaysOffSampler } from '@opentelemetry/sdk-trace-base'
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base'
import { TaskDecision } from '@taskstream/task-api'
import type { TaskAttempt } from '@taskstream/task-api'
import { composite, eachTask, fixed } from '@taskstream/task-processor'
import type { ProcessOptions } from '@taskstream/task-processor'
import { describe, expect, test } from 'vitest'
import { canRun, engine } from '../subject.ts'
import type { AnyTransaction } from '../subject.ts'
import { traced } from '../telemetry.ts'
import type { Traced } from '../telemetry.ts'
import { useNodeFixture } from './fixture.ts'

const systems = { postgres: ['postgresql'], sqlite: ['sqlite'], mysql: ['mariadb', 'mysql'], oracle: ['oracle.db'] }

const caller = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'

const parentOf = (span: ReadableSpan | undefined): string | undefined => span?.parentSpanContext?.spanId
const idOf = (span: ReadableSpan | undefined): string | undefined => span?.spanContext().spanId
const linked = (span: ReadableSpan | undefined): (string | undefined)[] => span?.links.map(({ context }) => context.spanId) ?? []

describe.skipIf(!canRun)('a trace', () => {
  const fixture = useNodeFixture('telemetry-spans', { keyed: true })

  /** Handles tasks until so many are over. */
  async function handle(options: Partial<ProcessOptions<AnyTransaction>>, count: number): Promise<void> {
    const done = Promise.withResolvers<void>()
    let over = 0
    const told = ({ tasks }: { readonly tasks: readonly unknown[] }): void => {
      if ((over += tasks.length) >= count) done.resolve()
    }
    await using node = fixture.nodeOf({ listener: { onComplete: told, onReturned: told } })
    node.process(fixture.topic, { idleMs: 20, handler: eachTask(() => {}), concurrency: 1, ...options })
    await node.start()
    await done.promise
    await node.stop()
  }

  const named = (traces: Traced, operation: string): ReadableSpan[] =>
    traces.all().filter(({ name }) => name === `${operation} ${fixture.topic}`)

  test('goes from the caller through the push to the handler, to what it does, and to its completion', async () => {
    using traces = traced()
    const tracer = traces.provider.getTracer('test')
    await tracer.startActiveSpan('request', async (request) => {
      await fixture.push('a')
      request.end()
    })
    const work = eachTask<AnyTransaction>(async () => tracer.startActiveSpan('work', (span) => span.end()))
    await handle({ handler: work, size: 1 }, 1)
    const [request, own] = ['request', 'work'].map((name) => traces.all().find((span) => span.name === name))
    const [push, process, complete] = ['push', 'process', 'complete'].map((operation) => named(traces, operation)[0])
    expect(parentOf(push)).toBe(idOf(request))
    expect(parentOf(process)).toBe(idOf(push))
    expect(linked(process)).toEqual([idOf(push)])
    expect(parentOf(own)).toBe(idOf(process))
    expect(parentOf(complete)).toBe(idOf(process))
    expect([push, process, complete].map((span) => span?.kind)).toEqual([SpanKind.PRODUCER, SpanKind.CONSUMER, SpanKind.CLIENT])
    const [task] = await fixture.page()
    const id = `${fixture.topic}@${task?.sequence}`
    expect(push?.attributes).toMatchObject({ 'messaging.operation.type': 'send', 'messaging.message.id': id })
    expect(process?.attributes).toMatchObject({
      'messaging.system.name': 'taskstream',
      'messaging.operation.name': 'process',
      'messaging.operation.type': 'process',
      'messaging.message.id': id,
      'taskstream.task.attempt': 1,
      'taskstream.task.outcome': 'success',
    })
    expect(process?.attributes).not.toHaveProperty('taskstream.task.identifier')
    expect(complete?.attributes).toMatchObject({ 'messaging.operation.type': 'settle', 'taskstream.batch.success': 1 })
    expect(process?.status.code).toBe(SpanStatusCode.UNSET)
  })

  test('says in which database tasks are, as the repository knows, or as an option says', async () => {
    const of = (span: ReadableSpan | undefined): unknown[] =>
      ['db.system.name', 'server.address', 'server.port'].map((name) => span?.attributes[name])
    {
      using traces = traced()
      await fixture.push('a')
      await handle({ size: 1 }, 1)
      const [system] = of(named(traces, 'push')[0])
      expect(systems[engine.family]).toContain(system)
      expect(of(named(traces, 'complete')[0])[0]).toBe(system)
    }
    using traces = traced({ database: { system: 'mysql', address: 'db-1.example', port: 3307 } })
    await fixture.push('b')
    await handle({ size: 1 }, 1)
    for (const operation of ['push', 'process', 'complete'])
      expect(of(named(traces, operation)[0])).toEqual(['mysql', 'db-1.example', 3307])
  })

  test('of a batch begins anew, and links to the push of each of its tasks', async () => {
    using traces = traced()
    await fixture.push('a', 'b')
    await fixture.push('c')
    await handle({ size: 3 }, 3)
    const pushes = named(traces, 'push')
    const processes = named(traces, 'process')
    for (const process of processes)
      if (process.attributes['messaging.batch.message_count']) expect(parentOf(process)).toBeUndefined()
    const all = processes.flatMap(linked)
    expect(all.toSorted()).toEqual([idOf(pushes[0]), idOf(pushes[0]), idOf(pushes[1])].toSorted())
    expect(processes[0]?.links[0]?.attributes).toMatchObject({ 'taskstream.task.attempt': 1 })
    expect(pushes[0]?.attributes['messaging.batch.message_count']).toBe(2)
  })

  test('of a retry begins anew, and the attempt before has no error but an event', async () => {
    using traces = traced()
    await fixture.push('a')
    let tries = 0
    const failing = eachTask<AnyTransaction>(() => {
      if (++tries === 1) throw new RangeError('not yet')
    })
    await handle({ handler: failing, size: 1, retry: fixed({ tries: 2, afterMs: 0 }) }, 2)
    const [push] = named(traces, 'push')
    const [first, second] = named(traces, 'process')
    expect(first?.status.code).toBe(SpanStatusCode.UNSET)
    expect(first?.attributes['taskstream.task.outcome']).toBe('retry')
    expect(first?.events).toMatchObject([{ name: 'taskstream.retry', attributes: { 'error.type': 'RangeError' } }])
    expect(parentOf(second)).toBeUndefined()
    expect(second?.spanContext().traceId).not.toBe(first?.spanContext().traceId)
    expect(linked(second)).toEqual([idOf(push)])
    expect(second?.attributes).toMatchObject({ 'taskstream.task.attempt': 2, 'taskstream.task.outcome': 'success' })
  })

  test('is kept with each attempt that did not succeed, and with no other', async () => {
    using traces = traced()
    await fixture.push('a', 'b')
    const failing = eachTask<AnyTransaction>(({ identifier }) => {
      if (identifier === 'a') throw new RangeError('no')
    })
    await handle({ handler: failing, size: 1, retry: fixed({ tries: 2, afterMs: 0 }) }, 3)
    const [a] = await fixture.page()
    const kept = await fixture.commit<readonly TaskAttempt[]>((tx) => fixture.tasks.attempts(tx, fixture.topic, a!.sequence))
    const ofA = named(traces, 'process').filter(
      (span) => span.attributes['messaging.message.id'] === `${fixture.topic}@${a?.sequence}`,
    )
    expect(kept.map(({ trace: id }) => id)).toEqual(ofA.map((span) => span.spanContext().traceId))
    expect(new Set(kept.map(({ trace: id }) => id)).size).toBe(2)
  })

  test('has the error of a task that fails, once, and its type', async () => {
    using traces = traced()
    await fixture.push('a')
    await handle({ handler: eachTask(() => Promise.reject(new RangeError('no'))), size: 1 }, 1)
    const [process] = named(traces, 'process')
    expect(process?.status).toEqual({ code: SpanStatusCode.ERROR, message: 'no' })
    expect(process?.attributes).toMatchObject({ 'error.type': 'RangeError', 'taskstream.task.outcome': 'failure' })
    expect(process?.events.map(({ name }) => name)).toEqual(['exception'])
  })

  test('says that a task was lost while it was handled', async () => {
    using traces = traced()
    const [task] = await fixture.push('a')
    const lost = Promise.withResolvers<void>()
    await using node = fixture.nodeOf({ listener: { onLost: () => lost.resolve() } })
    const cancelled = eachTask<AnyTransaction>(async () => {
      await fixture.commit((tx) => fixture.tasks.cancel(tx, fixture.topic, [task!.sequence]))
    })
    node.process(fixture.topic, { handler: cancelled, size: 1, idleMs: 20 })
    await node.start()
    await lost.promise
    await node.stop()
    const [process] = named(traces, 'process')
    expect(process?.attributes).toMatchObject({ 'error.type': 'TASK_LOST', 'taskstream.task.outcome': 'lost' })
    expect(process?.status.code).toBe(SpanStatusCode.ERROR)
    expect(named(traces, 'cancel')[0]).toMatchObject({ kind: SpanKind.INTERNAL, attributes: { 'taskstream.action.count': 1 } })
  })

  test('says that a handler took too long', async () => {
    using traces = traced()
    await fixture.push('a')
    const waits = eachTask<AnyTransaction>(
      (_, { signal }) => new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    )
    await handle({ handler: waits, size: 1, timeoutMs: 20 }, 1)
    const [process] = named(traces, 'process')
    expect(process?.attributes).toMatchObject({ 'error.type': 'TASK_TIMEOUT', 'taskstream.task.outcome': 'failure' })
  })

  test('of a transactional batch has its completion in it, and the error of a transaction that was rolled back', async () => {
    using traces = traced()
    await fixture.push('a')
    // The first poll after a start is leased.
    await handle({ mode: 'transactional', size: 1 }, 1)
    let calls = 0
    const failing = (tasks: readonly never[]): Map<never, TaskDecision> => {
      if (++calls === 2) throw new RangeError('rolled back')
      return new Map(tasks.map((task) => [task, TaskDecision.success()]))
    }
    await fixture.push('b', 'c')
    const done = Promise.withResolvers<void>()
    let completed = 0
    await using node = fixture.nodeOf({ listener: { onComplete: () => void (++completed === 2 && done.resolve()) } })
    node.process(fixture.topic, { handler: failing as never, mode: 'transactional', size: 1, concurrency: 1, idleMs: 20 })
    await node.start()
    await done.promise
    await node.stop()
    const processes = named(traces, 'process')
    const rolledBack = processes.filter(({ attributes }) => attributes['error.type'] === 'RangeError')
    expect(rolledBack).toMatchObject([{ attributes: { 'taskstream.task.outcome': 'returned' } }])
    const succeeded = processes.filter(({ attributes }) => attributes['taskstream.task.outcome'] === 'success')
    expect(succeeded).toHaveLength(3)
    const parents = named(traces, 'complete').map(parentOf)
    for (const process of succeeded) expect(parents).toContain(idOf(process))
  })

  test('has the steps of a pipeline within the handler', async () => {
    using traces = traced()
    const tracer = traces.provider.getTracer('test')
    await fixture.push('a')
    const steps = composite<AnyTransaction>()
      .each('load', () => tracer.startSpan('query').end())
      .each('send', () => TaskDecision.failure(new RangeError('refused')), { after: ['load'] })
    await handle({ handler: steps, size: 1 }, 1)
    const [process] = named(traces, 'process')
    const [load, send, query] = ['step load', 'step send', 'query'].map((name) => traces.all().find((span) => span.name === name))
    expect([load, send].map(parentOf)).toEqual([idOf(process), idOf(process)])
    expect(parentOf(query)).toBe(idOf(load))
    expect(send?.attributes).toMatchObject({ 'taskstream.step': 'send', 'error.type': 'RangeError' })
    expect(load?.status.code).toBe(SpanStatusCode.UNSET)
  })

  test('keeps the context that a task brings along', async () => {
    using traces = traced()
    await fixture.push({ identifier: 'a', headers: { traceparent: caller, other: 1 } }, { identifier: 'b' })
    const [push] = named(traces, 'push')
    expect(linked(push)).toEqual(['b7ad6b7169203331'])
    const [a, b] = await fixture.page()
    expect(a?.headers).toEqual({ traceparent: caller, other: 1 })
    expect(b?.headers?.['traceparent']).toBe(`00-${push?.spanContext().traceId}-${idOf(push)}-01`)
  })

  test('goes on where several callers submit at once, as each of them has a context', async () => {
    using traces = traced()
    const tracer = traces.provider.getTracer('test')
    await using node = fixture.nodeOf()
    await node.start()
    const submit = (name: string): Promise<void> =>
      tracer.startActiveSpan(name, async (span) => {
        await node.submit(fixture.topic, { identifier: name })
        span.end()
      })
    await Promise.all([submit('one'), submit('two')])
    const pages = await fixture.page()
    for (const { identifier, headers } of pages)
      expect(headers?.['traceparent']).toContain(idOf(traces.all().find(({ name }) => name === identifier)))
    expect(pages).toHaveLength(2)
  })

  test('that is not sampled writes nothing, and has no spans', async () => {
    using traces = traced({}, new AlwaysOffSampler())
    await fixture.push('a', { identifier: 'b', headers: { n: 1 } })
    const seen: unknown[] = []
    await handle({ handler: eachTask(() => void seen.push(trace.getActiveSpan()?.isRecording())), size: 2 }, 2)
    expect((await fixture.page()).map(({ headers }) => headers)).toEqual([undefined, { n: 1 }])
    expect(traces.all()).toEqual([])
    expect(seen).toEqual([false, false])
  })

  test('has polls and creations where they are asked for', async () => {
    using traces = traced({ receiveSpans: true, createSpans: true, identifiers: true, relation: 'link' })
    await fixture.push('a', 'b')
    await handle({ size: 1 }, 2)
    const creates = named(traces, 'create')
    const [push] = named(traces, 'push')
    expect(creates.map(parentOf)).toEqual([idOf(push), idOf(push)])
    expect(push?.kind).toBe(SpanKind.CLIENT)
    const processes = named(traces, 'process')
    expect(processes.map((process) => [parentOf(process), process.attributes['taskstream.task.identifier']])).toEqual([
      [undefined, 'a'],
      [undefined, 'b'],
    ])
    expect(processes.flatMap(linked)).toEqual(creates.map(idOf))
    const polls = named(traces, 'poll')
    expect(polls.flatMap(linked)).toEqual(creates.map(idOf))
  })
})
