/** Tests that only some engines are asked. */
import { test } from 'vitest'
import { engine, isPostgres, subjectName } from './subject.ts'

/** A test that only some engines can be asked to pass: on the others it is not there, rather than skipped. `postgres`: each release, and behind a pooler, but not in this process. */
export function testOn(engines: readonly string[]): (name: string, body: () => unknown) => void {
  const asked = engines.includes(subjectName) || (engines.includes('postgres') && isPostgres && engine.connections > 1)
  return asked ? (name, body) => test(name, async () => void (await body())) : () => {}
}
