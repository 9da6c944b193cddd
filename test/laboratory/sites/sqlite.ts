/** SQLite: somebody else writes for long, rewrites the file, or leaves it no room to grow. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { openBetterSqlite3 } from '@taskstream/task-sql/better-sqlite3'
import { volatile } from '../../databases/throw-away.ts'
import { openSqlite } from '../../engines/sqlite.ts'
import type { Fault, Scene } from '../fault.ts'
import type { Site } from '../site.ts'

export async function openSqliteSite(): Promise<Site> {
  const stack = new AsyncDisposableStack()
  const folder = mkdtempSync(join(volatile, 'taskstream-laboratory-'))
  stack.defer(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'tasks.db')
  const subject = stack.use(await openSqlite('sqlite-file', file))
  const foreign = await openBetterSqlite3(file, { busyTimeoutMs: 1_000 })
  stack.defer(() => void foreign.close())

  /** Does something that may be refused because another process is writing. */
  function attempt(...texts: readonly string[]): number {
    try {
      for (const text of texts) foreign.exec(text)
      return 1
    } catch {
      return 0
    }
  }

  const limitFiles = ({ crew }: Scene, bytes: number | 'unlimited'): number => {
    let met = 0
    for (const { process: child } of crew.members) {
      try {
        execFileSync('prlimit', [`--pid=${child.pid}`, `--fsize=${bytes}:unlimited`], { stdio: 'ignore' })
        met++
      } catch {
        // It has just ended.
      }
    }
    return met
  }

  const faults: readonly Fault[] = [
    {
      kind: 'another writer',
      weight: 2,
      inflict: async ({ pause }) => {
        if (attempt('begin immediate') === 0) return 0
        await pause(50, 1_500)
        return attempt('rollback')
      },
    },
    {
      kind: 'snapshot held',
      inflict: async ({ pause }) => {
        const reader = await openBetterSqlite3(file)
        reader.exec('begin; create temporary table held as select count(*) from task')
        await pause(1_000, 3_000)
        reader.close()
        return 1
      },
    },
    { kind: 'log written back', inflict: async () => attempt('pragma wal_checkpoint(truncate)') },
    {
      kind: 'file rewritten',
      inflict: async ({ pause }) => {
        // As long as others write it is refused.
        let met = 0
        for (let tries = 0; met === 0 && tries < 30; tries++, await pause(20, 100)) met = attempt('vacuum')
        return met
      },
    },
    {
      kind: 'files cannot grow',
      isWide: true,
      inflict: async (scene) => {
        const met = limitFiles(scene, statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 4_096)
        await scene.pause(300, 1_500)
        limitFiles(scene, 'unlimited')
        return met
      },
    },
  ]
  return {
    subject,
    location: subject.location,
    // Only Linux lets others limit a process's files.
    faults: process.platform === 'linux' ? faults : faults.filter(({ kind }) => kind !== 'files cannot grow'),
    meet: () => {},
    connections: async () => 0,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}
