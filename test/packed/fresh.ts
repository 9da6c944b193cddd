/** Projects outside the workspace, which know nothing but the tarballs and npm's registry. */
import { execFile } from 'node:child_process'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { readmeOf } from './readme.ts'
import type { Tarball } from './tarballs.ts'

const run = promisify(execFile)
const root = join(import.meta.dirname, '..', '..')

/** The oldest Node.js that the packages may be used with. */
export const oldestNode = '22.14.0'

export const compilers = {
  'TypeScript 5.9': join(root, 'node_modules', 'typescript-5.9', 'bin', 'tsc'),
  'TypeScript 7': join(root, 'node_modules', 'typescript', 'bin', 'tsc'),
} as const

export type Compiler = keyof typeof compilers

/** How modules are resolved, as a tsconfig says it. */
export const resolutions = {
  node16: { module: 'node16', moduleResolution: 'node16' },
  nodenext: { module: 'nodenext', moduleResolution: 'nodenext' },
  bundler: { module: 'esnext', moduleResolution: 'bundler' },
} as const

export type Resolution = keyof typeof resolutions

export interface FreshProjects {
  /** A project of each kind of modules, beside `taskstream` and one driver: what is not declared there cannot be imported. */
  readonly esm: string
  readonly commonjs: string
  /** A project with every package, and the first examples of their READMEs. */
  readonly whole: string
  /** The program of the oldest Node.js. */
  readonly node: string
}

/** Makes the projects in an empty folder, and installs what they need. */
export async function makeFreshProjects(folder: string, tarballs: readonly Tarball[]): Promise<FreshProjects> {
  const files = Object.fromEntries(tarballs.map(({ manifest, path }) => [manifest.name, `file:${path}`]))
  const { taskstream, ...others } = files
  const versions = await versionsHere(['pg', '@types/pg', '@types/node', 'mysql2', '@opentelemetry/api'])
  const { '@opentelemetry/api': api, mysql2, ...both } = versions
  const [slim, whole, node] = ['slim', 'whole', 'node'].map((name) => join(folder, name)) as [string, string, string]
  await Promise.all([
    // Nothing is on the registry, so what taskstream depends on is told by overrides.
    install(slim, { dependencies: { taskstream, ...both }, overrides: others }),
    install(whole, { dependencies: { ...files, ...both, mysql2, '@opentelemetry/api': api } }),
    install(node, { dependencies: { node: oldestNode } }),
  ])
  const [sqlite = '', postgres = ''] = readmeOf('taskstream').blocks('ts')
  const esm = join(slim, 'esm')
  const commonjs = join(slim, 'commonjs')
  await Promise.all([
    project(esm, 'module', { sqlite, postgres }),
    project(commonjs, 'commonjs', { sqlite: withoutTopLevelAwait(sqlite), postgres: withoutTopLevelAwait(postgres) }),
    // What people set for Node.js 22, whose promises the examples use. The types themselves need less.
    project(
      join(whole, 'readmes'),
      'module',
      Object.fromEntries(tarballs.flatMap(({ folder: name }) => programsOf(name))),
      'es2024',
    ),
  ])
  return { esm, commonjs, whole, node: join(node, 'node_modules', 'node', 'bin', 'node') }
}

const programsOf = (name: string): [string, string][] =>
  readmeOf(name)
    .blocks('ts')
    .map((program, index) => [`${name}-${index + 1}`, program])

/** The releases that the workspace tests with. */
async function versionsHere(names: readonly string[]): Promise<Record<string, string>> {
  const { devDependencies } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as {
    devDependencies: Record<string, string>
  }
  return Object.fromEntries(names.map((name) => [name, devDependencies[name] ?? 'latest']))
}

async function install(folder: string, manifest: object): Promise<void> {
  await mkdir(folder)
  await writeFile(join(folder, 'package.json'), JSON.stringify({ private: true, ...manifest }))
  await run('npm', ['install', '--silent', '--no-audit', '--no-fund', '--prefer-offline'], { cwd: folder })
}

async function project(
  folder: string,
  type: 'module' | 'commonjs',
  programs: Readonly<Record<string, string>>,
  lib = 'es2022',
): Promise<void> {
  await mkdir(folder)
  const options = { target: 'es2022', lib: [lib], strict: true, types: ['node'] }
  await Promise.all([
    writeFile(join(folder, 'package.json'), JSON.stringify({ private: true, type })),
    ...Object.entries(programs).map(([name, program]) => writeFile(join(folder, `${name}.ts`), program)),
    ...Object.entries(resolutions).map(([name, resolution]) =>
      writeFile(
        join(folder, `tsconfig.${name}.json`),
        JSON.stringify({ compilerOptions: { ...options, ...resolution }, include: ['*.ts'] }),
      ),
    ),
  ])
}

/** A program as CommonJS can run it: there nothing is awaited outside a function. */
function withoutTopLevelAwait(program: string): string {
  const lines = program.split('\n')
  const imports = lines.filter((line) => line.startsWith('import '))
  const rest = lines.filter((line) => !line.startsWith('import '))
  return `${imports.join('\n')}\n\nasync function main(): Promise<void> {\n${rest.join('\n')}\n}\nvoid main()\n`
}

export interface Compiled {
  /** What the compiler said, which is nothing if all is well. */
  readonly said: string
  /** The folder of the programs. */
  readonly out: string
}

/** Compiles a project. With `libraries` the declarations of all packages are checked too, which takes four times as long. */
export async function compile(folder: string, compiler: Compiler, resolution: Resolution, libraries = false): Promise<Compiled> {
  const out = join(folder, `${resolution}-by-${compiler.replaceAll(/\W/g, '-')}`)
  const args = ['-p', `tsconfig.${resolution}.json`, '--outDir', out, '--skipLibCheck', String(!libraries)]
  const said = await run(process.execPath, [compilers[compiler], ...args], { cwd: folder }).then(
    ({ stdout }) => stdout,
    (error: Error & { stdout?: string }) => error.stdout || error.message,
  )
  return { said, out }
}

/**
 * Runs a program in a new folder, so that it finds no SQLite file of another run.
 *
 * @returns what it has printed
 */
export async function runProgram(node: string, cwd: string, program: string, url = ''): Promise<string> {
  await mkdir(cwd)
  const { stdout } = await run(node, ['--no-warnings', program], {
    cwd,
    timeout: 60_000,
    env: { ...process.env, DATABASE_URL: url },
  })
  return stdout
}

/** A program that loads each entry of each package by `require`, and prints those that cannot be loaded. */
export function requiresAll(tarballs: readonly Tarball[]): string {
  const entries = tarballs.flatMap(({ manifest }) =>
    Object.keys(manifest.exports).map((entry) => `${manifest.name}${entry.slice(1)}`),
  )
  return `
let loaded = 0
for (const entry of ${JSON.stringify(entries)}) {
  // The suite is loaded by vitest only.
  if (entry === '@taskstream/task-testing/suite') continue
  try {
    require(entry)
    loaded++
  } catch (error) {
    console.log(entry, error.code, error.message)
  }
}
console.log(loaded > 30, 'loaded')
`
}
