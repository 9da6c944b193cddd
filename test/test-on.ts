/** Registers tests for some engines only. */
import { test } from 'vitest'
import { engine, isPostgres, subjectName } from './subject.ts'

/**
 * Registers a test only on the named engines. On others the test does not exist, so nothing is skipped.
 *
 * `postgres` stands for each release and for PostgreSQL behind a pooler, but not for PostgreSQL in this process.
 */
export function testOn(engines: readonly string[]): (name: string, body: () => unknown) => void {
  const asked = engines.includes(subjectName) || (engines.includes('postgres') && isPostgres && engine.connections > 1)
  return asked ? (name, body) => test(name, async () => void (await body())) : () => {}
}
