import { timerLimits } from '../core/timer.ts'

/** Values from `start` to `stop`, `step` apart. Without a stop they go to the end of the field. With a step of 0 there is only `start`. */
export interface Component {
  readonly start: number
  readonly stop?: number
  readonly step: number
  /** The position in the expression, for errors. */
  readonly at: number
}

/** The values that a field allows; undefined allows any. */
export type Components = readonly Component[] | undefined

export const fieldNames = ['year', 'month', 'day', 'hour', 'minute', 'second'] as const
export type FieldName = (typeof fieldNames)[number]

/** The parts of an expression. Seconds are counted in microseconds. */
export interface CalendarFields extends Readonly<Record<FieldName, Components>> {
  /** A bit for each weekday; the lowest bit is Monday. */
  readonly weekdays: number
  /** Whether days are counted from the end of the month: 1 is the last day. */
  readonly fromEnd: boolean
  /** The zone's name as the time zone database writes it. Undefined means UTC. */
  readonly zone?: string
}

/** Microseconds in a second. */
export const second = 1_000_000

export const everyDay = 0b111_1111

interface Field {
  readonly least: number
  readonly most: number
  /** The factor for every number in the expression. */
  readonly unit: number
  /** The text of the error for a value out of range. */
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

/** The greatest number that systemd can hold. A greater one is refused, even if it would be in range once the fields are normalised. */
export const greatest = 2_147_483_647
