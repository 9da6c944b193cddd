/** The order in which a clock for tests calls back. */
import { testClock } from '@taskstream/task-testing'
import { expect, test } from 'vitest'

const start = new Date('2026-01-01')

test('callbacks of one instant come in the order in which they were asked for, in one move of the clock or several', () => {
  for (const moves of [[10], [4, 6], [10, 0]]) {
    const clock = testClock(start)
    const called: string[] = []
    clock.after(10, () => called.push('first'))
    clock.after(5, () => {
      called.push('between')
      // Of the same instant too, and asked for last.
      clock.after(5, () => called.push('fourth'))
    })
    clock.after(10, () => called.push('second'))
    clock.after(10, () => called.push('third'))
    for (const ms of moves) clock.advance(ms)
    expect(called).toEqual(['between', 'first', 'second', 'third', 'fourth'])
  }
})

test('callbacks come at their instant, whatever else the same move passes, and not when they were cancelled', () => {
  const clock = testClock(start)
  const called: [string, number, number][] = []
  const call =
    (name: string): (() => void) =>
    () =>
      called.push([name, clock.monotonicMs(), clock.now().getTime() - start.getTime()])
  clock.after(30, call('late'))
  const cancel = clock.after(20, call('cancelled'))
  clock.after(10, () => {
    call('early')()
    cancel()
    clock.after(0, call('at once'))
    clock.after(15, call('on the way'))
  })
  clock.advance(29)
  expect(called).toEqual([
    ['early', 10, 10],
    ['at once', 10, 10],
    ['on the way', 25, 25],
  ])
  expect([clock.monotonicMs(), clock.now()]).toEqual([29, new Date(start.getTime() + 29)])
  clock.advance(1)
  expect(called.at(-1)).toEqual(['late', 30, 30])
})

test('a clock that a callback moves further does not go back', () => {
  const clock = testClock(start)
  clock.after(1, () => clock.advance(10))
  clock.advance(5)
  expect([clock.monotonicMs(), clock.now().getTime() - start.getTime()]).toEqual([11, 11])
})
