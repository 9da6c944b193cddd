/** What a package may take, packed and unpacked, and what its tarball must and must not hold. */
import type { Tarball } from './tarballs.ts'

/** In kB of 1,000 bytes, as npm shows them. A package that outgrows its budget is looked at: is that code, or a file that nobody meant to publish? */
export const budgets: Readonly<Record<string, { readonly packed: number; readonly unpacked: number }>> = {
  'task-api': { packed: 140, unpacked: 650 },
  'task-cli': { packed: 300, unpacked: 1_230 },
  'task-console': { packed: 190, unpacked: 720 },
  'task-coordination': { packed: 45, unpacked: 180 },
  'task-jobs': { packed: 165, unpacked: 700 },
  'task-operations': { packed: 130, unpacked: 530 },
  'task-processor': { packed: 290, unpacked: 1_250 },
  'task-scheduler': { packed: 125, unpacked: 530 },
  'task-sql': { packed: 750, unpacked: 3_150 },
  'task-telemetry': { packed: 90, unpacked: 380 },
  'task-testing': { packed: 400, unpacked: 2_300 },
  'task-timers': { packed: 75, unpacked: 280 },
  taskstream: { packed: 240, unpacked: 1_050 },
}

const always = ['LICENSE', 'README.md', 'CHANGELOG.md', 'package.json']

/** What is wrong with a tarball, in sentences; empty if nothing is. */
export function faultsOf({ folder, files, manifest, packedBytes, unpackedBytes }: Tarball): readonly string[] {
  const budget = budgets[folder]
  const missing = always.filter((file) => !files.includes(file))
  const stray = files.filter((file) => file.endsWith('.tsbuildinfo') || file.includes('node_modules/'))
  const unmapped = files.filter((file) => file.startsWith('dist/') && file.endsWith('.js') && !files.includes(`${file}.map`))
  const sourceless = files.filter(
    (file) =>
      file.startsWith('dist/') && file.endsWith('.js') && !files.includes(file.replace('dist/', 'src/').replace(/js$/, 'ts')),
  )
  const fields = ['description', 'keywords', 'license', 'sideEffects', 'engines'].filter((field) => manifest[field] === undefined)
  const workspace = Object.entries({ ...manifest.dependencies, ...manifest.peerDependencies })
  const unresolved = workspace.filter(([, range]) => range.startsWith('workspace:')).map(([name]) => name)
  return [
    ...missing.map((file) => `it has no ${file}`),
    ...stray.map((file) => `it has ${file}, which is of use to nobody: leave it out by "files"`),
    ...unmapped.map((file) => `${file} has no source map`),
    ...sourceless.map((file) => `${file} has no source, which its map names`),
    ...fields.map((field) => `its package.json has no "${field}"`),
    ...unresolved.map((name) => `it depends on ${name} by a range that only this workspace knows`),
    ...(budget === undefined
      ? ['it has no budget: give it one in test/packed/budgets.ts']
      : [...above('packed', packedBytes, budget.packed), ...above('unpacked', unpackedBytes, budget.unpacked)]),
  ]
}

function above(what: string, bytes: number, budget: number): readonly string[] {
  return bytes > budget * 1_000
    ? [`it takes ${(bytes / 1_000).toFixed(1)} kB ${what}, and its budget is ${budget} kB: see what has grown, or raise it`]
    : []
}
