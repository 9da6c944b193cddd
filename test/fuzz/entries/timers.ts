/** Expressions of timers: any text, and the functions that make and preview timers. */
import { calendar, cron, every, once, parseTimer, preview } from '@taskstream/task-timers'
import * as fc from 'fast-check'
import { randomEvents } from '../../unit/random-event.ts'
import { some, soup } from '../draw.ts'
import type { FuzzedCall, FuzzedWorld } from '../property.ts'

const pieces = [
  ...'*_-_:_.._,_/_~_ _  _@_._+_\t_0_1_5_12_23_31_59_99_2024_1970_2199_99999999999999999999_0.000001'.split('_'),
  ...'Mon_tues_sunday_Sat..Mon_daily_weekly_UTC_Z_Europe/Oslo_europe/olso_America/New_York_am_pm_T_Etc/GMT+12_and_to_weekdays'.split(
    '_',
  ),
  ...'every:_PT_PT10M_P1D_M_H_from _from 2024-01-01T00:00:00Z_10min_1h 30m_cron:_* * * * *_L_W_#_?_JAN_@daily_0 0 31 2 *'.split(
    '_',
  ),
  '٣',
  '\0',
  '\u2028',
  '\u202E',
  '\uD800',
  '1e9',
  '__proto__',
  '9'.repeat(400),
]
/** Real events, with a piece put in or in place of some characters. */
const damaged = fc
  .tuple(randomEvents, fc.nat(60), fc.nat(1), fc.constantFrom('', ...pieces))
  .map(([{ expression }, position, length, piece]) => {
    const at = position % (expression.length + 1)
    return expression.slice(0, at) + piece + expression.slice(at + length)
  })
const texts = fc.oneof(
  soup(pieces),
  damaged,
  randomEvents.map(({ expression }) => expression),
)
const instants = fc.constantFrom(0, 1, 1_711_846_800_000, 1_729_990_800_000, 4_102_444_800_000, 7_258_118_400_000, 8.64e15)
const zones = fc.constantFrom(
  'UTC',
  'Europe/Oslo',
  'America/New_York',
  'Australia/Lord_Howe',
  'Pacific/Apia',
  'Africa/Casablanca',
)
const expressions = fc.constantFrom(
  'Mon..Fri 09:00 Europe/Oslo',
  '*-*-* *:*:0/0.000001',
  '*-1/3~1 02:30 America/New_York',
  'Sun 2199-12-31 23:59:59',
  '*-02-29 Africa/Casablanca',
  'cron:0 0 29 2 MON',
  'cron:*/7 * * * * * Europe/Oslo',
  'every:PT0.001S',
  'every:P36500D from 1970-01-01T00:00:00Z',
)

export async function openTimers(): Promise<FuzzedWorld> {
  const codes = ['TIMER_INVALID'] as const
  const call = <Drawn>(
    name: string,
    drawn: fc.Arbitrary<Drawn>,
    args: (drawn: Drawn) => readonly unknown[],
    fuzzed: (...args: never[]) => unknown,
    more: Partial<FuzzedCall> = {},
  ): FuzzedCall => ({ name, drawn: drawn as never, args: args as never, call: fuzzed, codes: [], ...more })
  const asGiven = (drawn: readonly unknown[]): readonly unknown[] => drawn
  const wild = { codes, isWild: true }
  return {
    calls: [
      call('parseTimer', fc.tuple(texts, instants), asGiven, (text: string, after: number) => parseTimer(text).next(after), wild),
      call(
        'calendar',
        fc.tuple(texts, instants),
        asGiven,
        (text: string, after: number) => calendar(text).nextMicros(after),
        wild,
      ),
      call(
        'cron',
        fc.tuple(texts, some({ zone: zones })),
        asGiven,
        (text: string, options: object) => cron(text, options).next(0),
        wild,
      ),
      call(
        'every',
        fc.tuple(fc.oneof(texts, fc.constantFrom(1, 3_153_600_000_000)), some({ from: fc.constant(new Date(0)) })),
        asGiven,
        (text: string, options: object) => every(text, options).next(0),
        wild,
      ),
      call(
        'once',
        fc.tuple(instants.filter((ms) => ms < 7e12).map((ms) => new Date(ms))),
        asGiven,
        (instant: Date) => once(instant).next(0),
        {
          codes,
        },
      ),
      call(
        'next',
        fc.tuple(expressions, instants, zones),
        asGiven,
        (text: string, after: number, zone: string) => {
          const timer = parseTimer(text)
          return timer.inZone?.(zone).next(after) ?? timer.next(after)
        },
        { changedCodes: codes },
      ),
      call(
        'preview',
        fc.tuple(
          expressions,
          fc.constantFrom(1, 10, 200),
          fc.record({ after: instants, zone: zones }, { requiredKeys: ['after'] }),
        ),
        asGiven,
        (text: string, count: number, options: { after: number }) => preview(parseTimer(text), count, options),
        { changedCodes: codes },
      ),
    ],
    [Symbol.asyncDispose]: async () => {},
  }
}
