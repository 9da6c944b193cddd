import { timerLimits } from '../core/timer.ts'
import type { Cursor } from './cursor.ts'
import { greatest, second } from './fields.ts'
import type { Component, Components } from './fields.ts'

/** Reads `*`, or a list of `a`, `a..b`, `a/step` and `a..b/step`. Every number is multiplied by `unit`. */
export function parseComponents(cursor: Cursor, unit: number): Components {
  const at = cursor.at
  if (cursor.take('*')) {
    if (cursor.here === '/') throw cursor.fail('a repetition starts from a number, not from *')
    if (cursor.here === ',') throw cursor.fail('* stands alone, not in a list')
    checkEnd(cursor)
    return unit === second ? [{ start: 0, step: second, at }] : undefined
  }
  const components: Component[] = []
  do {
    if (components.length === timerLimits.listLength) throw cursor.fail(`a list has at most ${timerLimits.listLength} values`)
    components.push(parseComponent(cursor, unit))
  } while (cursor.take(','))
  checkEnd(cursor)
  return components
}

function parseComponent(cursor: Cursor, unit: number): Component {
  const at = cursor.at
  const start = parseNumber(cursor, unit)
  const stop = cursor.take('..') ? parseNumber(cursor, unit) : undefined
  const slash = cursor.at
  if (cursor.take('/')) {
    const step = parseNumber(cursor, unit)
    if (step === 0) throw cursor.fail('a repetition is at least 1', slash + 1)
    return { start, ...(stop !== undefined && { stop }), step, at }
  }
  if (stop === undefined) return { start, step: 0, at }
  // As in systemd: the step of such a range is a whole second, so a shorter range would silently be a single value.
  if (unit === second && start + second > stop && start <= stop)
    throw cursor.fail('a range within one second needs a repetition, such as 0.2..0.8/0.2', at)
  return { start, stop, step: unit, at }
}

function parseNumber(cursor: Cursor, unit: number): number {
  const at = cursor.at
  const digits = cursor.match(/\d+/y)
  if (digits === '') throw cursor.fail(cursor.here === '*' ? '* stands alone' : 'a number is expected')
  let value = Number(digits) * unit
  if (cursor.here === '.' && !cursor.text.startsWith('..', cursor.at)) {
    if (unit !== second) throw cursor.fail('only seconds have fractions')
    const fraction = cursor.match(/\.\d+/y).slice(1)
    if (fraction === '') throw cursor.fail('digits are expected after the point', cursor.at + 1)
    // Microseconds: the seventh digit rounds, and later digits do not count.
    value += Number(fraction.slice(0, 6).padEnd(6, '0')) + (Number(fraction[6] ?? 0) >= 5 ? 1 : 0)
  }
  if (value > greatest) throw cursor.fail('the number is too large', at)
  return value
}

function checkEnd(cursor: Cursor): void {
  if (!cursor.isAtEnd && !' -~:'.includes(cursor.here)) throw cursor.fail(`${JSON.stringify(cursor.here)} is not expected here`)
}
