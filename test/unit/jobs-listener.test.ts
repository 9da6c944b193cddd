/** Listeners of jobs are told of each run and of its end, and cannot disturb it. */
import { every, JobListener } from '@taskstream/task-scheduler'
import type { ClockJobContext, JobListenerOptions } from '@taskstream/task-scheduler'
import { describe, expect, test } from 'vitest'
import { at, epochMs, jobTestClock } from '../jobs.ts'

/** A listener, and services that are seen: who was called, for which time. */
function fixture(trigger: Partial<JobListenerOptions['trigger']> = {}) {
  const clock = jobTestClock()
  const log: string[] = []
  const listener = new JobListener({
    clock,
    trigger: { intervalMs: 1_000, ...trigger } as JobListenerOptions['trigger'],
    onLog: ({ message }) => log.push(message),
  })
  const calls: string[] = []
  const service = (work: (context: ClockJobContext) => unknown = () => {}) => ({
    execute: (context: ClockJobContext) => {
      calls.push(`${context.id}@${context.scheduledFor.getTime() - epochMs}`)
      return work(context)
    },
  })
  return { clock, log, listener, calls, service }
}

const code = (code: string): unknown => expect.objectContaining({ code })

describe('a listener', () => {
  test('runs what is attached once it is started, each by the trigger and with a count of its own', async () => {
    const { listener, clock, calls, service } = fixture({ maxCount: 2 })
    expect(listener.attach(service(), 'a')).toBe('a')
    listener.attach(service(), 'b')
    await clock.pass(5_000)
    expect(calls).toEqual([])
    listener.start()
    await clock.pass(10_000)
    expect(calls).toEqual(['a@5000', 'b@5000', 'a@6000', 'b@6000'])
  })

  test('calls the method on its service, or a function, with the context', async () => {
    const { listener, clock } = fixture({ maxCount: 1 })
    class Counter {
      #count = 0
      execute({ id }: ClockJobContext): void {
        this.#count += id.length
      }
      get count(): number {
        return this.#count
      }
    }
    const counter = new Counter()
    const told: unknown[] = []
    listener.attach(counter, 'four')
    listener.attach((context) => told.push(context), 'function')
    listener.start()
    await clock.pass(0)
    expect(counter.count).toBe(4)
    expect(told).toMatchObject([{ id: 'function', count: 1, scheduledFor: at(0) }])
  })

  test('names a service that has no name', () => {
    const { listener, service } = fixture()
    expect(listener.attach(service())).toMatch(/^[0-9a-f-]{36}$/)
    expect(listener.attach(service())).not.toBe(listener.attach(service()))
  })

  test('schedules at once what is attached after the start', async () => {
    const { listener, clock, calls, service } = fixture()
    listener.start()
    await clock.pass(300)
    listener.attach(service(), 'late')
    await clock.pass(1_000)
    expect(calls).toEqual(['late@300', 'late@1300'])
  })

  test.each([
    ['an interval', { intervalMs: 1_000, start: at(500) }],
    ['a timer', { timer: every(1_000, { from: at(500) }), intervalMs: undefined, start: at(500) }],
  ])('whose trigger is %s has late services go on with its grid', async (_, trigger) => {
    const { listener, clock, calls, service } = fixture(trigger as Partial<JobListenerOptions['trigger']>)
    listener.attach(service(), 'a')
    listener.start()
    await clock.pass(2_000)
    listener.attach(service(), 'late')
    await clock.pass(500)
    expect(calls).toEqual(['a@500', 'a@1500', 'a@2500', 'late@2500'])
  })

  test('applies the policies of its trigger to each service by itself, also to one that throws at once', async () => {
    const { listener, clock, calls, service, log } = fixture()
    listener.attach(
      service(() => {
        throw new Error('no')
      }),
      'bad',
    )
    listener.attach(service(), 'good')
    listener.start()
    await clock.pass(1_000)
    expect(calls).toEqual(['bad@0', 'good@0', 'good@1000'])
    expect(log).toEqual(['Job "bad" failed and is unscheduled: no'])
  })

  test('refuses a name that is taken, and replaces a service where that is said', async () => {
    const { listener, clock, calls, service } = fixture()
    const [first, second] = [service(), service(() => calls.push('second'))]
    listener.attach(first, 'a')
    expect(() => listener.attach(second, 'a')).toThrow(code('JOB_DUPLICATE'))
    listener.start()
    await clock.pass(0)
    listener.attach(second, 'a', { replace: true })
    await clock.pass(1_000)
    expect(calls).toEqual(['a@0', 'a@0', 'second', 'a@1000', 'second'])
    expect(() => listener.detach(first)).toThrow(code('JOB_UNKNOWN'))
    listener.detach(second)
  })

  test('unschedules what is detached, under each of its names, and leaves the others running', async () => {
    const { listener, clock, calls, service } = fixture()
    const [first, second] = [service(), service()]
    listener.attach(first, 'a')
    listener.attach(first, 'b')
    listener.attach(second, 'c')
    listener.start()
    await clock.pass(0)
    listener.detach(first)
    await clock.pass(1_000)
    expect(calls).toEqual(['a@0', 'b@0', 'c@0', 'c@1000'])
    expect(() => listener.detach(first)).toThrow(code('JOB_UNKNOWN'))
    listener.detach(second)
    await clock.quiet()
    expect(clock.waiting.size).toBe(0)
    listener.attach(first, 'a')
    await clock.pass(0)
    expect(calls.at(-1)).toBe('a@1000')
  })

  test('detaches and replaces what is over', async () => {
    const { listener, clock, calls, service } = fixture({ maxCount: 1 })
    const over = service()
    listener.attach(over, 'a')
    listener.attach(over, 'b')
    listener.start()
    await clock.pass(0)
    expect(calls).toEqual(['a@0', 'b@0'])
    expect(listener.scheduler.running()).toEqual([])
    const replacement = service(() => calls.push('replacement'))
    listener.attach(replacement, 'b', { replace: true })
    await clock.pass(0)
    expect(calls).toEqual(['a@0', 'b@0', 'b@0', 'replacement'])
    listener.detach(over)
    expect(() => listener.detach(over)).toThrow(code('JOB_UNKNOWN'))
    listener.detach(replacement)
    expect(() => listener.detach(replacement)).toThrow(code('JOB_UNKNOWN'))
  })

  test('has a scheduler, by which a service is paused and the workers are changed', async () => {
    const { listener, clock, calls, service } = fixture()
    listener.attach(service(), 'a')
    listener.attach(service(), 'b')
    listener.start()
    await clock.pass(0)
    listener.scheduler.pause('a')
    listener.scheduler.configure({ workers: 1 })
    await clock.pass(1_000)
    expect(calls).toEqual(['a@0', 'b@0', 'b@1000'])
  })

  test('refuses what is no service, and a trigger that is none', () => {
    const { listener, clock } = fixture()
    for (const service of [undefined, {}, 'a', { execute: 1 }])
      expect(() => listener.attach(service as never)).toThrow(code('ARGUMENT_INVALID'))
    expect(() => listener.attach(() => {}, '')).toThrow(code('ARGUMENT_INVALID'))
    expect(() => new JobListener({ clock, trigger: { intervalMs: 0 } })).toThrow(code('ARGUMENT_INVALID'))
    expect(() => new JobListener({ clock, trigger: { intervalMs: 1 }, workers: 0 })).toThrow(code('ARGUMENT_INVALID'))
  })

  test('is started once, before its times have passed', async () => {
    const { listener, clock } = fixture({ start: at(1_000) })
    await clock.pass(1_001)
    expect(() => listener.start()).toThrow(code('ARGUMENT_INVALID'))
    const other = fixture()
    other.listener.start()
    expect(() => other.listener.start()).toThrow(code('LIFECYCLE'))
  })
})

describe('a stop of a listener', () => {
  /** A service that is stopped 100 ms after it began. */
  const running = async () => {
    const all = fixture()
    const { clock, listener, service } = all
    const ends: string[] = []
    const work = ({ signal }: ClockJobContext): Promise<void> =>
      new Promise((resolve) => {
        const cancel = clock.after(60_000, () => {
          ends.push('ended')
          resolve()
        })
        signal.addEventListener('abort', () => {
          cancel()
          ends.push('aborted')
          resolve()
        })
      })
    listener.attach(service(work), 'a')
    listener.start()
    await clock.pass(100)
    return { ...all, ends }
  }

  test('that is graceful begins nothing more, and waits for what runs however long', async () => {
    const { listener, clock, calls, ends } = await running()
    const report = listener.gracefulStop()
    await clock.pass(59_899)
    expect(ends).toEqual([])
    await clock.pass(1)
    expect(await report).toMatchObject({ finished: [{ id: 'a', count: 1 }], aborted: [], abandoned: [] })
    expect(ends).toEqual(['ended'])
    expect(calls).toEqual(['a@0'])
    expect(clock.waiting.size).toBe(0)
  })

  test('by disposing ends a graceful one after ten seconds', async () => {
    const { listener, clock, ends } = await running()
    void listener.gracefulStop()
    const disposed = listener[Symbol.asyncDispose]()
    await clock.pass(9_999)
    expect(ends).toEqual([])
    await clock.pass(1)
    expect(ends).toEqual(['aborted'])
    await disposed
  })

  test('that is immediate aborts what runs, also while a graceful one waits', async () => {
    for (const graceful of [false, true]) {
      const { listener, clock, ends } = await running()
      if (graceful) void listener.gracefulStop()
      await clock.pass(100)
      expect(await listener.immediateStop()).toMatchObject({ finished: [], aborted: [{ id: 'a' }], abandoned: [] })
      expect(ends).toEqual(['aborted'])
      await clock.quiet()
      expect(clock.waiting.size).toBe(0)
    }
  })

  test('is for good, and what was attached is detached', async () => {
    const { listener, service } = fixture()
    const one = service()
    listener.attach(one, 'a')
    await listener.gracefulStop()
    expect(() => listener.start()).toThrow(code('LIFECYCLE'))
    expect(() => listener.attach(one, 'b')).toThrow(code('LIFECYCLE'))
    expect(() => listener.detach(one)).toThrow(code('JOB_UNKNOWN'))
  })

  test('is what disposing does: with ten seconds of grace', async () => {
    const { listener, clock, ends } = await running()
    const disposed = listener[Symbol.asyncDispose]()
    await clock.pass(9_999)
    expect(ends).toEqual([])
    await clock.pass(1)
    await disposed
    expect(ends).toEqual(['aborted'])
  })
})
