/** The packages to audit: those that are installed in this checkout. */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { readFile, readdir, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'

export interface Audit {
  readonly licence: string
  readonly files: number
  readonly bytes: number
  readonly hash: string
}

/** The fields of a package.json that the audit reads. */
export interface Manifest {
  readonly license?: unknown
  readonly licenses?: unknown
}

/** Returns the folder of every installed package once. */
export async function findPackages(root: string): Promise<string[]> {
  const store = join(root, 'node_modules', '.pnpm')
  const folders = new Set<string>()
  for (const entry of await readdir(store, { withFileTypes: true })) {
    if (!entry.isDirectory() || entry.name === 'node_modules') continue
    for (const folder of await packagesIn(join(store, entry.name, 'node_modules'))) folders.add(await realpath(folder))
  }
  return [...folders].filter((folder) => folder.startsWith(store)).toSorted()
}

async function packagesIn(modules: string): Promise<string[]> {
  const names = await readdir(modules, { withFileTypes: true }).catch(() => [])
  const folders: string[] = []
  for (const { name } of names) {
    if (name.startsWith('.')) continue
    const folder = join(modules, name)
    if (name.startsWith('@')) folders.push(...(await packagesIn(folder)))
    else folders.push(folder)
  }
  return folders
}

/** Reads a package's manifest and hashes all its files. */
export async function auditPackage(folder: string): Promise<Audit> {
  return { licence: licenceOf(await readManifest(folder)), ...(await hashFiles(folder)) }
}

export async function readManifest(folder: string): Promise<Manifest> {
  return JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as Manifest
}

/** A manifest's licence. Over the years it could be an expression, an object or a list. */
export function licenceOf({ license, licenses }: Manifest): string {
  const given = license ?? (Array.isArray(licenses) ? (licenses[0] as unknown) : licenses)
  if (typeof given === 'string') return given
  if (typeof given === 'object' && given !== null && 'type' in given) return String(given.type)
  return 'none stated'
}

/** One hash over the names and contents of all files of a package. */
export async function hashFiles(folder: string): Promise<Omit<Audit, 'licence'>> {
  const hash = createHash('sha256')
  let files = 0
  let bytes = 0
  for (const file of await filesIn(folder)) {
    hash.update(file.slice(folder.length))
    await pipeline(createReadStream(file), async (chunks: AsyncIterable<Buffer>) => {
      for await (const chunk of chunks) {
        hash.update(chunk)
        bytes += chunk.length
      }
    })
    files++
  }
  return { files, bytes, hash: hash.digest('hex') }
}

async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile()).map(({ name }) => join(folder, name))
  for (const entry of entries) {
    if (entry.isDirectory() && entry.name !== 'node_modules') files.push(...(await filesIn(join(folder, entry.name))))
  }
  return files.toSorted()
}
