/** When a process tells of itself: regularly, soon after news, one report at a time, and last of all that it has stopped. */
import { setImmediate as turnOfEventLoop } from 'node:timers/promises'
import { TaskError } from '@taskstream/task-api'
import type { NodeReport } from '@taskstream/task-api'
import { describe, expect, test } from 'vitest'
import { Reporting } from '../../packages/task-processor/src/liveness/reporting.ts'
import type { Told } from '../../packages/task-processor/src/liveness/reporting.ts'
import { ringingClock } from './ringing-clock.ts'
import type { RingingClock } from './ringing-clock.ts'

const node: Told = { kind: 'node', leaseMs: 10_000, topics: [{ topic: 'mail' }] }

interface Made {
  readonly reporting: Reporting
  readonly clock: RingingClock
  /** When each report was sent, or that it was the last. */
  readonly sent: unknown[]
  readonly reports: NodeReport[]
  readonly limits: (number | undefined)[]
  readonly told: unknown[]
  answer: () => boolean | Promise<boolean>
  refusal: TaskError | undefined
  pass(ms: number): Promise<void>
}

function make(describeNode: () => Told = () => node): Made {
  const clock = ringingClock()
  const [sent, reports, limits, told]: [unknown[], NodeReport[], (number | undefined)[], unknown[]] = [[], [], [], []]
  const settled = async (): Promise<void> => {
    for (let turn = 0; turn < 5; turn++) await turnOfEventLoop()
  }
  const reporting = new Reporting({
    send: async (report, atMostMs) => {
      sent.push(report.stopped ? 'stopped' : clock.monotonicMs())
      reports.push(report)
      limits.push(atMostMs)
      return { quiet: await made.answer(), ...(made.refusal && { refusal: made.refusal }) }
    },
    clock,
    condition: { failed: (error) => void told.push(error), worked: () => void told.push('worked') },
    describe: describeNode,
    onTurn: () => void told.push('turn'),
    onQuiet: (quiet) => void told.push(quiet ? 'quiet' : 'loud'),
  })
  const pass = async (ms: number): Promise<void> => {
    await settled()
    clock.pass(ms)
    await settled()
  }
  const made: Made = { reporting, clock, sent, reports, limits, told, answer: () => false, refusal: undefined, pass }
  return made
}

describe('a process', () => {
  test('gives its last report whole milliseconds, as a database takes no others', async () => {
    const { reporting, limits, clock, pass } = make()
    reporting.begin()
    await pass(1)
    const passed = clock.monotonicMs.bind(clock)
    let asked = 0
    Object.assign(clock, { monotonicMs: () => passed() + ++asked / 400 })
    await reporting.stop()
    expect(limits).toEqual([undefined, 4_999])
  })

  test('tells of itself at its start, then every half a minute, and at its stop that it has stopped', async () => {
    const { reporting, sent, reports, limits, pass, clock } = make()
    reporting.begin()
    expect(sent).toEqual([0])
    await pass(29_999)
    expect(sent).toEqual([0])
    await pass(1)
    await pass(30_000)
    expect(sent).toEqual([0, 30_000, 60_000])
    await reporting.stop()
    await pass(120_000)
    expect(sent).toEqual([0, 30_000, 60_000, 'stopped'])
    expect(reports[0]).toEqual({ ...node, host: expect.any(String), pid: process.pid })
    expect(reports[3]).toEqual({ ...reports[0], stopped: true })
    expect(limits).toEqual([undefined, undefined, undefined, 5_000])
    expect(clock.monotonicMs()).toBe(180_000)
  })

  test('tells news at once, but not within two seconds after another report, and several together', async () => {
    const { reporting, sent, pass } = make()
    reporting.begin()
    await pass(5_000)
    reporting.changed()
    reporting.changed()
    await pass(0)
    expect(sent).toEqual([0, 5_000])
    await pass(500)
    reporting.changed()
    await pass(1_499)
    reporting.changed()
    expect(sent).toEqual([0, 5_000])
    await pass(1)
    expect(sent).toEqual([0, 5_000, 7_000])
    // What is regular stays so.
    await pass(23_000)
    expect(sent).toEqual([0, 5_000, 7_000, 30_000])
  })

  test('has one report written at a time, and news that come meanwhile are in the next', async () => {
    const made = make()
    const gate = Promise.withResolvers<boolean>()
    made.answer = () => gate.promise
    made.reporting.begin()
    made.reporting.changed()
    await made.pass(65_000)
    expect(made.sent).toEqual([0])
    gate.resolve(false)
    await made.pass(0)
    expect(made.sent).toEqual([0, 65_000])
    await made.pass(20_000)
    expect(made.sent).toEqual([0, 65_000])
    await made.pass(5_000)
    expect(made.sent).toEqual([0, 65_000, 90_000])
  })

  test('that stops waits for a report under way, so that the last one is the last', async () => {
    const made = make()
    const gate = Promise.withResolvers<boolean>()
    made.answer = () => gate.promise
    made.reporting.begin()
    const stopped = made.reporting.stop()
    await made.pass(2_000)
    expect(made.sent).toEqual([0])
    gate.resolve(false)
    await stopped
    expect([made.sent, made.limits]).toEqual([
      [0, 'stopped'],
      [undefined, 3_000],
    ])
  })

  test('that stops waits no more than five seconds, and then tells nothing', async () => {
    const made = make()
    made.answer = () => new Promise<boolean>(() => {})
    made.reporting.begin()
    let isStopped = false
    void made.reporting.stop().then(() => (isStopped = true))
    await made.pass(4_999)
    expect(isStopped).toBe(false)
    await made.pass(1)
    expect([isStopped, made.sent]).toEqual([true, [0]])
  })

  test('goes on after a report that failed, whatever has thrown, and stays as quiet as it was', async () => {
    const broken = new Error('of a manager')
    let isBroken = false
    const made = make(() => {
      if (isBroken) throw broken
      return node
    })
    made.answer = () => true
    made.reporting.begin()
    await made.pass(0)
    expect([made.reporting.isQuiet, made.told]).toEqual([true, ['worked', 'quiet']])
    const gone = new Error('gone')
    made.answer = () => Promise.reject(gone)
    await made.pass(30_000)
    isBroken = true
    await made.pass(30_000)
    expect([made.reporting.isQuiet, made.told.slice(2)]).toEqual([true, ['turn', gone, broken, 'turn']])
    isBroken = false
    made.answer = () => false
    await made.pass(30_000)
    expect([made.reporting.isQuiet, made.told.slice(6)]).toEqual([false, ['turn', 'worked', 'loud']])
    made.answer = () => Promise.reject(gone)
    await made.reporting.stop()
    expect(made.sent).toEqual([0, 30_000, 90_000, 'stopped'])
  })

  test('says once that it is asked to be quiet, and counts anew after each regular report alone', async () => {
    const made = make()
    made.answer = () => true
    made.reporting.begin()
    await made.pass(10_000)
    made.reporting.changed()
    await made.pass(0)
    await made.pass(20_000)
    expect(made.told).toEqual(['worked', 'quiet', 'worked', 'turn', 'worked'])
    // One that stops has nothing more to say.
    made.answer = () => false
    await made.reporting.stop()
    expect(made.told.slice(5)).toEqual(['worked'])
  })

  test('takes nothing once the tables are too new for it, tells so at once, and goes on when they fit again', async () => {
    const made = make()
    const { reporting, reports, told, pass } = made
    reporting.begin()
    await pass(30_000)
    expect([reporting.takesNothing, reporting.isRefused]).toEqual([false, false])
    made.refusal = new TaskError('SCHEMA_NEWER', 'too new')
    await pass(30_000)
    expect([reporting.takesNothing, reporting.isRefused, reporting.isQuiet]).toEqual([true, true, false])
    expect(told.at(-1)).toBe(made.refusal)
    expect(reports.at(-1)).not.toHaveProperty('error')
    await pass(2_000)
    expect(reports.at(-1)).toMatchObject({ error: { activity: 'report', code: 'SCHEMA_NEWER', message: 'too new' } })
    // It asks again every two seconds, so that it stands still no longer than it must.
    const before = reports.length
    for (let times = 0; times < 3; times++) await pass(2_000)
    expect(reports.length - before).toBe(3)
    expect(reporting.takesNothing).toBe(true)
    made.refusal = undefined
    await pass(2_000)
    expect([reporting.takesNothing, told.at(-1)]).toEqual([false, 'worked'])
    await pass(2_000)
    expect(reports.at(-1)).not.toHaveProperty('error')
    const after = reports.length
    await pass(10_000)
    expect(reports.length - after).toBeLessThanOrEqual(1)
    await reporting.stop()
  })

  test('that never began, has stopped, or has nobody to tell, tells nothing', async () => {
    const made = make()
    made.reporting.changed()
    await made.reporting.stop()
    await made.pass(30_000)
    expect(made.sent).toEqual([])
    made.reporting.begin()
    made.reporting.changed()
    await made.reporting.stop()
    made.reporting.changed()
    await made.reporting.stop()
    await made.pass(60_000)
    expect(made.sent).toEqual([30_000, 'stopped'])
    const clock = ringingClock()
    const mute = new Reporting({
      send: undefined,
      clock,
      condition: { failed: () => expect.unreachable(), worked: () => {} },
      describe: () => expect.unreachable(),
      onQuiet: () => {},
    })
    mute.begin()
    mute.changed()
    await mute.stop()
    expect(clock.pauses).toEqual([])
  })
})
