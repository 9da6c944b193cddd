/** Looks at the files of a database that is a file of this machine. No file is opened: to close one again would take from SQLite the locks that it has on it. */
import { stat, statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Row } from '@taskstream/task-sql'
import type { CheckName } from '../core/thresholds.ts'

/** What is asked of a file system. */
export interface Files {
  /** The size of a file in bytes; undefined if there is none. */
  size(path: string): Promise<number | undefined>
  /** The kind of a file system, as `statfs` numbers it, and the share of it that is free. */
  system(folder: string): Promise<{ readonly type: number; readonly free: number }>
}

export const filesOfThisMachine: Files = {
  size: async (path) => {
    try {
      return (await stat(path)).size
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
      throw error
    }
  },
  system: async (folder) => {
    const { type, bavail, blocks } = await statfs(folder)
    return { type, free: blocks === 0 ? 1 : bavail / blocks }
  },
}

/** File systems on a network, by the numbers of Linux: statfs(2). */
const networks: ReadonlyMap<number, string> = new Map([
  [0x6969, 'NFS'],
  [0x517b, 'SMB'],
  [0xff534d42, 'CIFS'],
  [0xfe534d42, 'SMB 2'],
  [0x01021997, '9p'],
  [0x5346414f, 'AFS'],
  [0x00c36400, 'Ceph'],
  [0x0bd00bd0, 'Lustre'],
])

type LookAtFile = (path: string, files: Files) => Promise<readonly Row[]>

/** The checks of files, with the rows by which they are judged. */
export const fileLooks: readonly (readonly [name: CheckName, look: LookAtFile])[] = [
  ['wal-size', async (path, files) => [{ value: (await files.size(`${path}-wal`)) ?? 0, path }]],
  [
    'network-files',
    async (path, files) => {
      const kind = networks.get((await files.system(dirname(path))).type)
      return kind === undefined ? [] : [{ value: 1, kind }]
    },
  ],
  ['free-space', async (path, files) => [{ value: (await files.system(dirname(path))).free }]],
]
