/** The pure parts of the benchmark: what its rounds say together, and when there were enough of them. */
import { describe, expect, test } from 'vitest'
import { addCosts, costOf, Rate } from '../../benchmarks/speed/cost.ts'
import { parseStat, treeCpuUs } from '../../benchmarks/speed/processes.ts'
import { judgedRatios, rowsOf } from '../../benchmarks/speed/rows.ts'
import type { Scenario } from '../../benchmarks/speed/scenario.ts'
import { median, quantile, spread } from '../../benchmarks/speed/statistics.ts'
import { nextShareMs, verdictOn } from '../../benchmarks/speed/stopping.ts'
import type { Course } from '../../benchmarks/speed/stopping.ts'

describe('statistics', () => {
  test('a quantile lies between its neighbours in proportion, whatever the order of the values', () => {
    expect(quantile([40, 10, 30, 20], 0.25)).toBe(17.5)
    expect(quantile([40, 10, 30, 20], 1)).toBe(40)
    expect(quantile([], 0.5)).toBeNaN()
  })

  test('a median is the middle value, or the mean of the two', () => {
    expect(median([3, 1, 2])).toBe(2)
    expect(median([4, 1, 2, 3])).toBe(2.5)
  })

  test('a spread is the interquartile range relative to the median, so that one far value does not count', () => {
    expect(spread([90, 100, 100, 100, 110])).toBe(0)
    expect(spread([80, 90, 100, 110, 1_000_000])).toBeCloseTo(0.2)
    expect(spread([100])).toBeNull()
  })
})

describe('when a scenario ends', () => {
  const course: Course = { ratios: [2, 2, 2, 2, 2], spentMs: 1_000, longestRoundMs: 200, shareMs: 60_000, isOnce: false }

  test('its first round is always run, even without time', () => {
    expect(verdictOn({ ...course, ratios: [], shareMs: 0 })).toBe('go on')
  })

  test('it is steady if five rounds are within a tenth, and not before', () => {
    expect(verdictOn(course)).toBe('steady')
    expect(verdictOn({ ...course, ratios: [2, 2, 2, 2] })).toBe('go on')
    expect(verdictOn({ ...course, ratios: [1.8, 1.9, 2, 2.1, 2.2] })).toBe('go on')
    expect(verdictOn({ ...course, ratios: [1.9, 1.95, 2, 2.05, 2.2] })).toBe('steady')
  })

  test('it ends when a round as long as the longest would not fit', () => {
    const unsteady = { ...course, ratios: [1, 2, 3] }
    expect(verdictOn({ ...unsteady, shareMs: 1_200 })).toBe('go on')
    expect(verdictOn({ ...unsteady, shareMs: 1_199 })).toBe('out of time')
  })

  test('what is measured once has one round', () => {
    expect(verdictOn({ ...course, ratios: [2], isOnce: true })).toBe('measured once')
  })

  test('it gets its part of the rest of the time, and none once that is over', () => {
    expect(nextShareMs([2, 1, 1], 8_000)).toBe(4_000)
    expect(nextShareMs([1], 8_000)).toBe(8_000)
    expect(nextShareMs([1, 1], -5)).toBe(0)
  })
})

describe('costs', () => {
  const line = (pid: number, parent: number, ticks: readonly number[]): string =>
    `${pid} (a (b) c) S ${parent} 1 1 0 -1 4194560 1 2 3 4 ${ticks.join(' ')} 20 0 1 0 100`

  test('a process has its own time and that of its ended children, whatever its name', () => {
    expect(parseStat(line(7, 3, [1, 2, 3, 4]))).toEqual({ pid: 7, parent: 3, cpuUs: 100_000 })
    expect(() => parseStat('7 (x)')).toThrow('/proc/PID/stat')
  })

  test('a tree of processes has the time of all of them, and of no other', () => {
    const all = [line(1, 0, [1, 0, 0, 0]), line(2, 1, [2, 0, 0, 0]), line(3, 2, [4, 0, 0, 0]), line(4, 0, [8, 0, 0, 0])]
    expect(treeCpuUs(1, all.map(parseStat))).toBe(70_000)
  })

  test('what is not known stays unknown, divided or added', () => {
    const known = { processUs: 10, serverUs: 20, logBytes: 30 }
    expect(costOf(10, { ...known, serverUs: null })).toEqual({ processUs: 1, serverUs: null, logBytes: 3 })
    expect(addCosts(known, { ...known, logBytes: null })).toEqual({ processUs: 20, serverUs: 40, logBytes: null })
  })
})

describe('rows', () => {
  const scenario: Scenario = { name: 'drain', unit: 'tasks/s', better: 'higher', engine: 'PostgreSQL 18', subjects: {} }
  const rate = (perSecond: number): Rate => new Rate(perSecond, { processUs: perSecond / 10, serverUs: null, logBytes: 5 })
  const rounds = new Map([
    ['taskstream', [rate(400), rate(600), rate(500)]],
    ['slow', [rate(90), rate(90), rate(90)]],
    ['fast', [rate(100), rate(200), rate(250)]],
    ['BullMQ, no AOF', [rate(900), rate(900), rate(900)]],
  ])

  test('a figure is compared with the best peer, and BullMQ is no peer', () => {
    const rows = rowsOf(scenario, rounds)
    expect(rows.map(({ subject, median: middle, ratioToBestPeer }) => [subject, middle, ratioToBestPeer])).toEqual([
      ['taskstream', 500, 2.5],
      ['slow', 90, 0.45],
      ['fast', 200, 1],
      ['BullMQ, no AOF', 900, 4.5],
    ])
    expect(rows[0]).toMatchObject({ rounds: 3, processUs: 50, serverUs: null, logBytes: 5, engine: 'PostgreSQL 18' })
    expect(rows[3]!.engine).toBe('Redis')
  })

  test('a run is judged by the ratios of rounds, as other load slows both of a round', () => {
    expect(judgedRatios(scenario, rounds)).toEqual([4, 3, 2])
    expect(rowsOf(scenario, rounds)[0]!.ratioSpread).toBeCloseTo(1 / 3)
  })

  test('where less is better, the best peer has the least', () => {
    const rows = rowsOf({ ...scenario, better: 'lower' }, rounds)
    expect(rows[0]!.ratioToBestPeer).toBeCloseTo(500 / 90)
  })

  test('without a peer a run is judged by the limit, and without that by the figure', () => {
    const own: [string, Rate[]] = ['taskstream', [rate(50), rate(60)]]
    expect(judgedRatios(scenario, new Map([own, ['limit', [rate(100), rate(100)]]]))).toEqual([0.5, 0.6])
    expect(judgedRatios(scenario, new Map([own]))).toEqual([50, 60])
  })

  test('a scenario of several figures is judged by the one of its name', () => {
    const figures = [
      { 'drain-p99': 9, drain: 4 },
      { 'drain-p99': 1, drain: 5 },
    ]
    expect(judgedRatios(scenario, new Map([['taskstream', figures]]))).toEqual([4, 5])
  })
})
