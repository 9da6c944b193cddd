/**
 * A vitest reporter: writes docs/guarantees.md from a run in which every engine and every test took part, and leaves it alone
 * otherwise. A promise whose test is no more fails the run.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { Reporter, TestCase, TestModule, Vitest } from 'vitest/node'
import { guarantees } from './guarantees.ts'
import { requirements } from './requirements.ts'

/** Each project, and the head of its column. */
const engines: Readonly<Record<string, string>> = {
  'sqlite-memory': 'SQLite, memory',
  'sqlite-file': 'SQLite, file',
  'node-sqlite': 'node:sqlite',
  testing: 'task-testing',
  'postgres-18': 'PostgreSQL 18',
  'postgres-partitioned': '18, partitioned',
  'postgres-15': 'PostgreSQL 15',
  pgbouncer: 'PgBouncer',
  mariadb: 'MariaDB',
}
const notYet = ['MySQL', 'Oracle']
const target = join(import.meta.dirname, '..', '..', 'docs', 'guarantees.md')
const marker = '<!-- From here on written by the tests. -->'

export default class GuaranteesReporter implements Reporter {
  #vitest: Vitest | undefined

  onInit(vitest: Vitest): void {
    this.#vitest = vitest
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    const tests = modules.flatMap((module) => [...module.children.allTests()])
    const missing = [...Object.keys(engines), 'unit'].filter((engine) => !ranIn(tests, engine))
    const filtered =
      process.argv.slice(2).some((argument) => !argument.startsWith('-') && argument.includes('test/')) ||
      Boolean(this.#vitest?.config.testNamePattern)
    if (filtered || missing.length > 0) return
    const unknown = [...guarantees, ...requirements]
      .flatMap(({ tests: references = [] }) => references)
      .filter((reference) => tests.every((test) => !matches(test, reference)))
    if (unknown.length > 0) {
      console.error(`\nNo test is left for: ${unknown.join('; ')}\n`)
      process.exitCode = 1
      return
    }
    const [head = ''] = readFileSync(target, 'utf8').split(marker)
    writeFileSync(target, `${head}${marker}\n\n${table(tests)}\n\n${list(tests)}\n`)
  }
}

function ranIn(tests: readonly TestCase[], engine: string): boolean {
  return tests.some((test) => test.project.name === engine && test.result().state === 'passed')
}

function matches(test: TestCase, reference: string): boolean {
  const [file, part = ''] = reference.split('#')
  return test.module.moduleId.endsWith(`/test/${file}.test.ts`) && test.fullName.includes(part)
}

function table(tests: readonly TestCase[]): string {
  const heads = ['', ...Object.values(engines), ...notYet]
  const rows = guarantees.map(({ promise, tests: references }) => [
    promise,
    ...Object.keys(engines).map((engine) => cell(tests, engine, references)),
    ...notYet.map(() => 'not run'),
  ])
  return [heads, heads.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}

/** Kept where every test of the promise that this engine has was passed. */
function cell(tests: readonly TestCase[], engine: string, references: readonly string[]): string {
  const own = tests.filter((test) => test.project.name === engine && references.some((reference) => matches(test, reference)))
  if (own.length === 0) return '–'
  if (own.some((test) => test.result().state === 'failed')) return '**broken**'
  if (own.some((test) => test.result().state !== 'passed')) return 'not run'
  // By the first test that is named, whatever came first in this run.
  const first = references.flatMap((reference) => own.find((test) => matches(test, reference)) ?? [])
  return link('kept', first[0]!)
}

function list(tests: readonly TestCase[]): string {
  const heads = ['', 'requirement', 'tests', 'note']
  const rows = requirements.map(({ number, about, tests: references = [], note = '' }) => {
    const files = references.flatMap((reference) => tests.find((test) => matches(test, reference)) ?? [])
    const links = new Set(files.map((test) => link(basename(test.module.moduleId, '.test.ts'), test)))
    return [String(number), about, [...links].join(', ') || 'none', note]
  })
  return [
    '## The repository, requirement by requirement',
    '',
    ...[heads, heads.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`),
  ].join('\n')
}

function link(text: string, test: TestCase): string {
  return `[${text}](../test/${test.module.moduleId.split('/test/').at(-1)})`
}
