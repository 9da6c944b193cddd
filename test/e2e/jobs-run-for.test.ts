/** A stream that runs for a while: it handles what there is, stops early if nothing is left, and says if something may be. */
import { setTimeout } from 'node:timers/promises'
import { codeOf } from '@taskstream/task-testing/suite'
import { sql } from '@taskstream/task-sql'
import { defineJob, fixed, json, TaskDecision } from 'taskstream'
import type { Job } from 'taskstream'
import { describe, expect, test } from 'vitest'
import { canRun } from '../subject.ts'
import { useJobFixture } from './job-fixture.ts'

/** Longer than any of these tests takes: whoever says `done` has not waited for it. */
const budgetMs = 60_000

describe.skipIf(!canRun)('a run for a while', () => {
  const fixture = useJobFixture()

  test('handles what there is, with its next steps, its retries and what waits for others, and then stops', async () => {
    const last = defineJob('run-last', { output: json<number>() })
    const first = defineJob('run-first', { next: [last], output: json<number>(), retry: fixed({ tries: 2, afterMs: 200 }) })
    const sum = defineJob('run-sum', { needs: { first }, output: json<number>() })
    const stream = fixture.streamOf()
    stream.handle(first, ({ tries, next }) => {
      if (tries === 1) throw new Error('again')
      return next(last)
    })
    stream.handle(last, () => 7)
    stream.handle(sum, ({ needs }) => needs.first + 1)
    await stream.prepare(sum)
    await stream.transaction(async (transaction) => {
      const needed = await stream.push(transaction, first)
      await stream.push(transaction, sum, undefined, { needs: { first: needed } })
    })
    expect(await stream.runFor(budgetMs)).toBe('done')
    expect([await fixture.states(first), await fixture.states(last), await fixture.states(sum)]).toEqual([
      { succeeded: 1 },
      { succeeded: 1 },
      { succeeded: 1 },
    ])
    expect(await codeOf(() => stream.runFor(budgetMs))).toBe('LIFECYCLE')
  })

  test('follows a long chain of jobs that go on as each other to its end', async () => {
    const ping: Job<'run-ping', number, number, 'run-pong'> = defineJob('run-ping', { input: json<number>(), next: () => [pong] })
    const pong: Job<'run-pong', number, number, 'run-ping'> = defineJob('run-pong', { input: json<number>(), next: () => [ping] })
    const stream = fixture.streamOf()
    stream.handle(ping, ({ input, next }) => next(pong, input + 1))
    stream.handle(pong, ({ input, next }) => (input < 60 ? next(ping, input + 1) : TaskDecision.success()))
    await stream.prepare(ping)
    await stream.transaction((transaction) => stream.push(transaction, ping, 1))
    expect(await stream.runFor(budgetMs)).toBe('done')
    expect([await fixture.states(ping), await fixture.states(pong)]).toEqual([{ succeeded: 30 }, { succeeded: 30 }])
  })

  test('leaves what gets due after it', async () => {
    const later = defineJob('run-later')
    const stream = fixture.streamOf()
    stream.handle(later, () => {})
    await stream.prepare(later)
    await stream.transaction((transaction) => stream.push(transaction, later, undefined, { delayMs: 10 * budgetMs }))
    expect(await stream.runFor(budgetMs)).toBe('done')
    expect(await fixture.states(later)).toEqual({ delayed: 1 })
  })

  test('handles a job whose timer has elapsed while nothing ran', async () => {
    const timed = defineJob('run-timed', { timer: '*-01-01 00:00 UTC' })
    const streams = [fixture.streamOf(), fixture.streamOf()]
    for (const stream of streams) stream.handle(timed, () => {})
    expect(await streams[0]!.runFor(budgetMs)).toBe('done')
    const elapse = fixture.subject.tasks().verb(function* ({ dialect }) {
      const instant = dialect.expr.instant(sql`${Date.now() - 60_000}`)
      yield sql`update ${dialect.tables.periodic} set occurrence = ${instant}, due = ${instant} where id = ${timed.name}`
    })
    await fixture.commit(async (transaction) => elapse(transaction))
    expect(await streams[1]!.runFor(budgetMs)).toBe('done')
    expect(await fixture.states(timed)).toEqual({ succeeded: 1 })
  })

  test('hands back what is not done in time, and says that there is more', async () => {
    const long = defineJob('run-long')
    const stream = fixture.streamOf()
    stream.handle(long, ({ signal }) => setTimeout(budgetMs, undefined, { signal }))
    await stream.prepare(long)
    await stream.transaction((transaction) => stream.push(transaction, long))
    expect(await stream.runFor(300, { graceMs: 1, abortMs: 1_000, leaveMs: 1_000 })).toBe('more')
    expect(await fixture.states(long)).toEqual({ ready: 1 })
    const [task] = await fixture.page(long)
    expect(task!.tries).toBe(0)
  })

  test('is refused a budget that is none, and options that a stop does not have', async () => {
    const stream = fixture.streamOf()
    for (const wrong of [0, -1, 1.5, Number.NaN, 86_400_001])
      expect(await codeOf(() => stream.runFor(wrong))).toBe('ARGUMENT_INVALID')
    expect(await codeOf(() => stream.runFor(1, { grace: 1 } as never))).toBe('ARGUMENT_INVALID')
    // Nothing was begun.
    expect(stream.troubles).toEqual(['starting'])
  })
})
