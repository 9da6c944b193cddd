import type { Dialect } from '../../core/dialect.ts'
import { raw } from '../../core/statement.ts'

/** Ready rows, and active ones, are found by indexes that are exact: processes remember nothing, and nothing is noted. */
export const nothingRemembered: Pick<Dialect, 'noteHeld' | 'passed' | 'tidy'> = {
  noteHeld: function* () {
    // The index of active rows is exact.
  },
  tidy: function* () {
    // Nothing is noted: the index of active rows is exact.
  },
  passed: () => raw('1 = 0'),
}
