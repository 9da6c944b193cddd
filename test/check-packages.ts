/** Checks each package as its users get it: the packed form, its size, its entry points and their types. */
import { execFileSync } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Table from 'cli-table3'
import { budgets, faultsOf } from './packed/budgets.ts'
import { packPackages } from './packed/tarballs.ts'

const root = join(import.meta.dirname, '..')
const bin = join(root, 'node_modules', '.bin')

await using stack = new AsyncDisposableStack()
const folder = await mkdtemp(join(tmpdir(), 'taskstream-packages-'))
stack.defer(() => rm(folder, { recursive: true, force: true }))

const tarballs = await packPackages(folder)
for (const { path } of tarballs) {
  execFileSync(join(bin, 'publint'), ['run', path, '--strict'], { cwd: root, stdio: 'inherit' })
  execFileSync(join(bin, 'attw'), [path, '--profile', 'esm-only', '--format', 'ascii'], { cwd: root, stdio: 'inherit' })
}

const kilobytes = (bytes: number): string => (bytes / 1_000).toFixed(1)
const table = new Table({
  head: ['package', 'packed kB', 'budget', 'unpacked kB', 'budget'],
  colAligns: ['left', 'right', 'right', 'right', 'right'],
  style: { head: [], border: [] },
})
for (const { folder: name, packedBytes, unpackedBytes } of tarballs)
  table.push([
    name,
    kilobytes(packedBytes),
    budgets[name]?.packed ?? '–',
    kilobytes(unpackedBytes),
    budgets[name]?.unpacked ?? '–',
  ])
console.log(table.toString())

for (const tarball of tarballs)
  for (const fault of faultsOf(tarball)) {
    console.error(`${tarball.manifest.name}: ${fault}`)
    process.exitCode = 1
  }
