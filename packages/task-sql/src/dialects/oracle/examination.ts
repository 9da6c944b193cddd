import type { Examination } from '../../core/examination.ts'
import { raw } from '../../core/statement.ts'

/** Of Oracle only tasks are looked at. Looks at the server itself wait for a server on which they can be run. */
export function oracleExamination(): Partial<Examination> {
  return { begin: () => [raw('set transaction read only')], oneRow: raw('from dual') }
}
