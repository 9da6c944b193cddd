import { test } from 'vitest'
import { subjectName } from './subject.ts'

/**
 * A test that only some engines can be asked to pass: on the others it is not there, rather than skipped. `postgres-18` is the
 * server spoken to directly, `pgbouncer` the same server behind a pooler.
 */
export function testOn(engines: readonly string[]): (name: string, body: () => unknown) => void {
  return engines.includes(subjectName) ? (name, body) => test(name, async () => void (await body())) : () => {}
}
