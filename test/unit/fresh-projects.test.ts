/** The packages as their users get them: projects outside the workspace, made from the tarballs alone, run the first example. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build } from 'esbuild'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { faultsOf } from '../packed/budgets.ts'
import { compile, makeFreshProjects, requiresAll, runProgram } from '../packed/fresh.ts'
import type { Compiled, Compiler, FreshProjects } from '../packed/fresh.ts'
import { readmeOf } from '../packed/readme.ts'
import { packPackages } from '../packed/tarballs.ts'
import type { Tarball } from '../packed/tarballs.ts'

const server = process.env['TASKSTREAM_POSTGRES_SERVER']
const printed = readmeOf('taskstream').blocks('text')[0] ?? ''
/** The oldest Node.js with the older compiler, and the one that runs this test with the newer. */
const pairs: readonly (readonly [name: string, compiler: Compiler, node: () => string])[] = [
  ['TypeScript 5.9 and Node.js 22.14', 'TypeScript 5.9', () => projects.node],
  ['TypeScript 7 and Node.js 24', 'TypeScript 7', () => process.execPath],
]
const databases = ['sqlite', ...(server === undefined ? [] : ['postgres'])]

let folder = ''
let url = ''
let tarballs: readonly Tarball[]
let projects: FreshProjects
let programs = 0

const bundles = {
  commonJs: (database: string) => join(folder, `${database}.cjs`),
  // Only a driver is still to be found there.
  modules: (database: string) => join(database === 'sqlite' ? folder : projects.esm, `${database}.mjs`),
}
/** Where a program runs: a folder of its own. */
const place = (): string => join(folder, `run-${++programs}`)

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'taskstream-fresh-'))
  tarballs = await packPackages(folder)
  projects = await makeFreshProjects(folder, tarballs)
  for (const database of databases) {
    const common = { bundle: true, platform: 'node', logLevel: 'error' } as const
    // pg tries to load it, and can do without.
    const external = ['pg-native']
    const [source, module] = [projects.commonjs, projects.esm].map((one) => join(one, `${database}.ts`)) as [string, string]
    await build({ ...common, entryPoints: [source], outfile: bundles.commonJs(database), format: 'cjs', external })
    // A driver that is CommonJS stays outside: esbuild cannot put its calls of `require` into an ES module.
    await build({ ...common, entryPoints: [module], outfile: bundles.modules(database), format: 'esm', external: ['pg'] })
  }
  if (server === undefined) return
  const admin = new pg.Client({ connectionString: server })
  await admin.connect()
  await admin.query('create database taskstream_fresh')
  await admin.end()
  url = Object.assign(new URL(server), { pathname: '/taskstream_fresh' }).href
}, 180_000)
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('each tarball has its README, licence, change log, sources and source maps, nothing of the build, and keeps its budget', () => {
  expect(tarballs.flatMap((tarball) => faultsOf(tarball).map((fault) => `${tarball.manifest.name}: ${fault}`))).toEqual([])
})

describe.each(pairs)('%s', (_, compiler, node) => {
  let [modules, commonJs]: Compiled[] = []
  beforeAll(async () => {
    modules = await compile(projects.esm, compiler, 'nodenext', true)
    commonJs = await compile(projects.commonjs, compiler, 'nodenext')
  }, 180_000)
  const expectPrinted = async (program: string): Promise<void> => {
    expect(await runProgram(node(), place(), program, url)).toBe(printed)
  }

  test('find the types of taskstream and of all that it needs, in a project that has nothing else', () => {
    expect(modules?.said).toBe('')
  })

  test('find them in a project of CommonJS', () => {
    expect(commonJs?.said).toBe('')
  })

  test.each(['node16', 'bundler'] as const)('take the first example of every README, under %s', async (resolution) => {
    expect((await compile(join(projects.whole, 'readmes'), compiler, resolution)).said).toBe('')
  })

  test('load every entry of every package by require', async () => {
    const program = join(projects.whole, 'requires.cjs')
    writeFileSync(program, requiresAll(tarballs))
    expect(await runProgram(node(), place(), program)).toBe('true loaded\n')
  })

  describe.each(databases)('run the first example on %s', (database) => {
    test('as ES modules', () => expectPrinted(join(modules?.out ?? '', `${database}.js`)))
    test('as CommonJS', () => expectPrinted(join(commonJs?.out ?? '', `${database}.js`)))
    test('as one file that esbuild made of CommonJS, which needs no node_modules', () =>
      expectPrinted(bundles.commonJs(database)))
    test('as one file that esbuild made of ES modules', () => expectPrinted(bundles.modules(database)))
  })
})
