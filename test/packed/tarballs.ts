/** The packages as they would be published. */
import { execFile } from 'node:child_process'
import { mkdir, readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)
const root = join(import.meta.dirname, '..', '..')

/** What package.json says, as far as tests ask. */
export interface Manifest {
  readonly name: string
  readonly version: string
  readonly description?: string
  readonly keywords?: readonly string[]
  readonly bin?: Readonly<Record<string, string>>
  readonly exports: Readonly<Record<string, unknown>>
  readonly dependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly [field: string]: unknown
}

export interface Tarball {
  /** Its folder in packages. */
  readonly folder: string
  readonly path: string
  readonly packedBytes: number
  readonly unpackedBytes: number
  /** Paths in the package, with slashes. */
  readonly files: readonly string[]
  readonly manifest: Manifest
}

/**
 * Builds and packs all packages, and looks into each.
 *
 * @param destination an empty folder, in which `tarballs` and `unpacked` are made
 */
export async function packPackages(destination: string): Promise<readonly Tarball[]> {
  const packed = join(destination, 'tarballs')
  const unpacked = join(destination, 'unpacked')
  await mkdir(packed, { recursive: true })
  await run(join(root, 'node_modules', '.bin', 'tsc'), ['-b'], { cwd: root })
  const { packageManager } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { packageManager: string }
  const pack = ['--recursive', '--filter', './packages/*', 'pack', '--pack-destination', packed]
  await run('npx', ['-y', packageManager, ...pack], { cwd: root })
  const names = await readdir(packed)
  const folders = await readdir(join(root, 'packages'))
  if (names.length !== folders.length) throw new Error(`There are ${folders.length} packages, and ${names.length} tarballs`)
  return Promise.all(
    folders.map(async (folder) => {
      const { name, version } = JSON.parse(await readFile(join(root, 'packages', folder, 'package.json'), 'utf8')) as Manifest
      return lookInto(folder, join(packed, `${name.replace('@', '').replace('/', '-')}-${version}.tgz`), join(unpacked, folder))
    }),
  )
}

async function lookInto(folder: string, path: string, unpacked: string): Promise<Tarball> {
  await mkdir(unpacked, { recursive: true })
  await run('tar', ['-xzf', path, '-C', unpacked])
  // Every tarball of npm holds one folder.
  const base = join(unpacked, 'package')
  const entries = await readdir(base, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  const sizes = await Promise.all(files.map(async (file) => (await stat(file)).size))
  return {
    folder,
    path,
    packedBytes: (await stat(path)).size,
    unpackedBytes: sizes.reduce((sum, size) => sum + size, 0),
    files: files.map((file) => file.slice(base.length + 1).replaceAll('\\', '/')).toSorted(),
    manifest: JSON.parse(await readFile(join(base, 'package.json'), 'utf8')) as Manifest,
  }
}
