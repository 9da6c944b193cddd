import type { Dialect } from '../dialect.ts'
import { raw } from '../statement.ts'

/** Ready rows, and active ones, are found by indexes that are exact: processes remember nothing, and nothing is noted. */
export const nothingRemembered: Pick<Dialect, 'noteHeld' | 'passed' | 'renewTopic' | 'tidy'> = {
  noteHeld: function* () {
    // The index of active rows is exact.
  },
  tidy: function* () {
    // Nothing is noted: the index of active rows is exact.
  },
  // oxlint-disable-next-line require-yield -- there is nothing to ask the database
  renewTopic: function* () {
    return 0
  },
  passed: () => raw('1 = 0'),
}
