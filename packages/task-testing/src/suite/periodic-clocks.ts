/** Timers keep to their time when clocks change: local clocks by law, and the server's clock by hand. */
import { occurrenceOf } from '@taskstream/task-scheduler'
import { expect, test } from 'vitest'
import { minute, usePeriodicFixture } from './periodic-fixture.ts'
import { part } from './engine.ts'
import type { Part } from './engine.ts'

const hour = 60 * minute

export const periodicClocks: Part = part('timers while clocks change', (engine) => {
  const fixture = usePeriodicFixture(engine)

  /** Lets time pass in steps, and returns the instants (UTC) at which tasks were submitted. */
  const passes = async (from: string, to: string, stepMs: number): Promise<string[]> => {
    for (let now = Date.parse(from); now <= Date.parse(to); now += stepMs) {
      fixture.at(new Date(now).toISOString())
      await fixture.fireAll()
    }
    return (await fixture.fixture.page()).map((task) => occurrenceOf(task)!.at.toISOString().slice(0, 16))
  }

  test('a time that is shown again does not fire again after a pause, or after another wording', async () => {
    fixture.at('2024-10-27T00:00:00Z')
    await fixture.schedule({ timer: '02:30 Europe/Oslo', whileUnfinished: 'push' })
    fixture.at('2024-10-27T00:30:00Z')
    expect(await fixture.fireAll()).toEqual(['submitted 00:30'])
    fixture.at('2024-10-27T01:10:00Z')
    const monday = new Date('2024-10-28T01:30:00Z')
    for (const verb of ['pause', 'resume'] as const)
      await fixture.fixture.commit<unknown>((transaction) => fixture.timers[verb](transaction, 'report'))
    expect((await fixture.info()).next).toEqual(monday)
    await fixture.schedule({ timer: '02:30:00 Europe/Oslo', whileUnfinished: 'push' })
    expect((await fixture.info()).next).toEqual(monday)
  })

  test('what has fired does not fire again after a pause, or after another wording, although the clock was set back', async () => {
    fixture.at('2026-01-05T09:00:00Z')
    await fixture.schedule({ timer: '*:*', whileUnfinished: 'push' })
    fixture.at('2026-01-05T09:01:00Z')
    expect(await fixture.fireAll()).toEqual(['submitted 09:01'])
    fixture.at('2026-01-05T09:00:30Z')
    await fixture.schedule({ timer: '*:*:00', whileUnfinished: 'push' })
    expect((await fixture.info()).next).toEqual(new Date('2026-01-05T09:02:00Z'))
    for (const verb of ['pause', 'resume'] as const)
      await fixture.fixture.commit<unknown>((transaction) => fixture.timers[verb](transaction, 'report'))
    expect((await fixture.info()).next).toEqual(new Date('2026-01-05T09:02:00Z'))
  })

  test('a timer that has fired while the clock was a day ahead begins again with the time, once it is paused and resumed', async () => {
    fixture.at('2026-01-06T09:00:00Z')
    await fixture.schedule({ timer: '*:*', whileUnfinished: 'push' })
    fixture.at('2026-01-06T09:01:00Z')
    expect(await fixture.fireAll()).toEqual(['submitted 09:01'])
    fixture.at('2026-01-05T09:01:30Z')
    for (const verb of ['pause', 'resume'] as const)
      await fixture.fixture.commit<unknown>((transaction) => fixture.timers[verb](transaction, 'report'))
    expect((await fixture.info()).next).toEqual(new Date('2026-01-05T09:02:00Z'))
  })

  test.each([
    // 02:30 does not occur on the day that clocks go forward. It occurs twice on the day that they go back, and the first counts.
    ['02:30 Europe/Oslo', '2024-03-30T00:00:00Z', '2024-04-01T12:00:00Z', ['2024-03-30T01:30', '2024-04-01T00:30']],
    [
      '02:30 Europe/Oslo',
      '2024-10-26T00:00:00Z',
      '2024-10-28T12:00:00Z',
      ['2024-10-26T00:30', '2024-10-27T00:30', '2024-10-28T01:30'],
    ],
    // There was no midnight on 4 November 2018 in São Paulo.
    ['00:00 America/Sao_Paulo', '2018-11-02T12:00:00Z', '2018-11-05T12:00:00Z', ['2018-11-03T03:00', '2018-11-05T02:00']],
    // 23:30 occurred twice on 17 February 2018, as clocks went back from midnight to 23:00. The first counts.
    [
      '23:30 America/Sao_Paulo',
      '2018-02-17T00:00:00Z',
      '2018-02-19T06:00:00Z',
      ['2018-02-17T01:30', '2018-02-18T01:30', '2018-02-19T02:30'],
    ],
    // On Lord Howe Island clocks change by half an hour.
    ['02:15 Australia/Lord_Howe', '2024-10-04T00:00:00Z', '2024-10-07T00:00:00Z', ['2024-10-04T15:45', '2024-10-06T15:15']],
    [
      '01:45 Australia/Lord_Howe',
      '2024-04-05T00:00:00Z',
      '2024-04-08T00:00:00Z',
      ['2024-04-05T14:45', '2024-04-06T14:45', '2024-04-07T15:15'],
    ],
  ])('%s from %s', async (timer, from, to, expected) => {
    for (const stepMs of [10 * minute, 50 * minute]) {
      await fixture.reset()
      fixture.at(from)
      await fixture.schedule({ timer, whileUnfinished: 'push' })
      expect([stepMs, await passes(from, to, stepMs)]).toEqual([stepMs, expected])
    }
  })

  test('an hour that the server skips is made up for as the timer says', async () => {
    await fixture.schedule({ id: 'once', timer: '*:0/20', whileUnfinished: 'push' })
    await fixture.schedule({ id: 'skip', timer: '*:0/20', whileUnfinished: 'push', misfire: 'skip' })
    await fixture.schedule({ id: 'catch-up', timer: '*:0/20', misfire: 'catch-up' })
    fixture.at('2026-01-05T09:00:00.000Z')
    await fixture.fireAll()
    fixture.at('2026-01-05T10:10:00.000Z')
    await fixture.fireAll()
    const byTimer = Map.groupBy(await fixture.fixture.page(), (task) => occurrenceOf(task)!.id)
    const times = (id: string): string[] => byTimer.get(id)!.map((task) => occurrenceOf(task)!.at.toISOString().slice(11, 16))
    expect(times('once')).toEqual(['09:00', '09:20'])
    expect(times('skip')).toEqual(['09:00'])
    expect(times('catch-up')).toEqual(['09:00', '09:20', '09:40', '10:00'])
  })

  test('an hour that the server shows again is not fired again', async () => {
    await fixture.schedule({ timer: '*:0/20', misfire: 'catch-up' })
    const first = await passes('2026-01-05T09:00:00Z', '2026-01-05T10:00:00Z', minute)
    expect(first).toHaveLength(4)
    // The clock was set back by an hour. Nothing is submitted until it shows its earlier time again.
    expect(await passes('2026-01-05T09:00:00Z', '2026-01-05T10:19:00Z', minute)).toEqual(first)
    expect(await passes('2026-01-05T10:20:00Z', '2026-01-05T10:20:00Z', hour)).toEqual([...first, '2026-01-05T10:20'])
  })
})
