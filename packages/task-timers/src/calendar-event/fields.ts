import { timerLimits } from '../core/timer.ts'

/** `start`, or from `start` to `stop`, each `step` apart; without a stop up to the field's end. A step of 0: a single value. */
export interface Component {
  readonly start: number
  readonly stop?: number
  readonly step: number
  /** Where in the expression it stands. */
  readonly at: number
}

/** What one field allows: one of these; undefined: anything. */
export type Components = readonly Component[] | undefined

export const fieldNames = ['year', 'month', 'day', 'hour', 'minute', 'second'] as const
export type FieldName = (typeof fieldNames)[number]

/** An expression's parts. Seconds are counted in microseconds. */
export interface CalendarFields extends Readonly<Record<FieldName, Components>> {
  /** A bit for each weekday, the lowest is Monday. */
  readonly weekdays: number
  /** Whether days are counted from the month's end: 1 is its last day. */
  readonly fromEnd: boolean
  /** As the time zone database writes it; undefined: none is said, which is UTC. */
  readonly zone?: string
}

/** Microseconds in a second. */
export const second = 1_000_000

export const everyDay = 0b111_1111

interface Field {
  readonly least: number
  readonly most: number
  /** What a number in the expression is multiplied with. */
  readonly unit: number
  /** How errors say what it takes. */
  readonly rule: string
}

export const fields: Readonly<Record<FieldName | 'dayFromEnd', Field>> = {
  year: { least: timerLimits.firstYear, most: timerLimits.lastYear, unit: 1, rule: 'years are 1970 to 2199, or two digits' },
  month: { least: 1, most: 12, unit: 1, rule: 'months are 1 to 12' },
  day: { least: 1, most: 31, unit: 1, rule: 'days are 1 to 31' },
  dayFromEnd: { least: 1, most: 28, unit: 1, rule: 'days from the end of the month are 1 to 28' },
  hour: { least: 0, most: 23, unit: 1, rule: 'hours are 0 to 23' },
  minute: { least: 0, most: 59, unit: 1, rule: 'minutes are 0 to 59' },
  second: { least: 0, most: 60 * second - 1, unit: second, rule: 'seconds are 0 to 59' },
}

/** What systemd keeps its numbers in; greater ones are refused, whatever they would have come to. */
export const greatest = 2_147_483_647
