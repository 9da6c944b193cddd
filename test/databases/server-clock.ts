/**
 * The clock of a server, which can be set forward: libfaketime, of Debian's package `faketime`, is loaded before the server. It is not for PostgreSQL: after a
 * jump its `lock_timeout` did not fire, and a postmaster that was told to end waited for a lock for ever.
 */
import { chmodSync, existsSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeFolder } from './throw-away.ts'

export interface ServerClock extends Disposable {
  /** What the server is started with. */
  readonly env: Readonly<Record<string, string>>
  /** Sets it forward. Running sessions see it with their next look. */
  forward(ms: number): void
  /** When it really was, at an instant that the server has told, in epoch milliseconds. */
  realOf(toldMs: number): number
}

/** @returns undefined if libfaketime is not on this machine */
export function openServerClock(): ServerClock | undefined {
  const library = findLibrary()
  if (library === undefined) return undefined
  const folder = makeFolder('taskstream-clock-')
  chmodSync(folder, 0o755)
  const file = join(folder, 'clock')
  /** Since when it is how far ahead. */
  const steps: { readonly sinceMs: number; readonly aheadMs: number }[] = []
  const set = (aheadMs: number): void => {
    // A server that reads must not find half of it.
    writeFileSync(`${file}.new`, `+${(aheadMs / 1_000).toFixed(3)}s\n`, { mode: 0o644 })
    steps.push({ sinceMs: Date.now(), aheadMs })
    renameSync(`${file}.new`, file)
  }
  set(0)
  return {
    env: { LD_PRELOAD: library, FAKETIME_TIMESTAMP_FILE: file, FAKETIME_NO_CACHE: '1', FAKETIME_DONT_FAKE_MONOTONIC: '1' },
    forward: (ms) => set(steps.at(-1)!.aheadMs + ms),
    realOf: (toldMs) => toldMs - (steps.findLast(({ sinceMs, aheadMs }) => toldMs >= sinceMs + aheadMs)?.aheadMs ?? 0),
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  }
}

/** It stands in a folder of the machine's architecture. */
function findLibrary(): string | undefined {
  const roots = ['/usr/lib', ...(existsSync('/usr/lib') ? readdirSync('/usr/lib').map((name) => join('/usr/lib', name)) : [])]
  return roots.map((root) => join(root, 'faketime', 'libfaketimeMT.so.1')).find((path) => existsSync(path))
}
