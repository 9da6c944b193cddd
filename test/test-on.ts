import { test } from 'vitest'
import { subjectName } from './subject.ts'

/** A test that only some engines can be asked to pass: on the others it is not there, rather than skipped. `postgres`: every release. */
export function testOn(engines: readonly string[]): (name: string, body: () => unknown) => void {
  const asked = engines.some((engine) => engine === subjectName || (engine === 'postgres' && subjectName.startsWith('postgres-')))
  return asked ? (name, body) => test(name, async () => void (await body())) : () => {}
}
