/**
 * A vitest reporter that writes docs/guarantees.md, but only after a run of every engine and every test, and the pages of
 * docs/reference after a run of their tests on every engine. The run fails if a page names a test that does not exist.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Reporter, TestCase, TestModule, Vitest } from 'vitest/node'
import { engineNames, factsOf } from '../engines/registry.ts'
import type { Ran } from './cells.ts'
import { matches, withoutDraws } from './cells.ts'
import { evidenceOf } from './guarantee.ts'
import { sections } from './guarantees.ts'
import { keptTable } from './kept-table.ts'
import { keptPages } from './kept.ts'
import { requirements } from './requirements.ts'
import { guaranteesTable, requirementsTable } from './tables.ts'

const docs = join(import.meta.dirname, '..', '..', 'docs')
const marker = '<!-- From here on written by the tests. -->'
/** The engines that a run must include. The others need a server that nothing installs. */
const engines = engineNames.filter((name) => !factsOf(name).given)

/** A page whose end the tests write. */
interface Page {
  readonly page: string
  /** The tests that it names. */
  readonly references: readonly string[]
  /** Whether a run of some files is enough, if these tests are among them. */
  readonly ofSome: boolean
  readonly end: (tests: readonly Ran[]) => string
}

const pages: readonly Page[] = [
  {
    page: 'guarantees.md',
    references: [
      ...sections.flatMap(({ guarantees }) => guarantees).flatMap(({ tests }) => evidenceOf(tests).flatMap(({ anyOf }) => anyOf)),
      ...requirements.flatMap(({ tests = [] }) => tests),
    ],
    ofSome: false,
    end: (tests) => `${guaranteesTable(tests, engines)}\n\n${requirementsTable(tests)}`,
  },
  ...keptPages.map(({ page, rows }) => ({
    page,
    references: rows.flatMap(({ tests = [] }) => tests),
    ofSome: true,
    end: (tests: readonly Ran[]) => keptTable(tests, engines, rows),
  })),
]

export default class GuaranteesReporter implements Reporter {
  #vitest: Vitest | undefined

  onInit(vitest: Vitest): void {
    this.#vitest = vitest
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    // The tests are sorted, so that the file is the same after each run.
    const tests = modules
      .flatMap((module) => [...module.children.allTests()])
      .map(ranOf)
      .toSorted((left, right) => (keyOf(left) < keyOf(right) ? -1 : 1))
    if (this.#vitest?.config.testNamePattern) return
    const isWhole = !process.argv.slice(2).some((argument) => !argument.startsWith('-') && argument.includes('test/'))
    const ranOn = (engine: string): boolean => tests.some((test) => test.engine === engine && test.state === 'passed')
    if (!engines.every(ranOn) || (isWhole && !ranOn('unit'))) return
    const files = new Set(tests.map(({ file }) => file))
    for (const page of pages) {
      if (isWhole || (page.ofSome && page.references.every((reference) => files.has(fileOf(reference))))) write(page, tests)
    }
  }
}

/** Writes the end of a page, unless a test that it names does not exist: then the run fails. */
function write({ page, references, end }: Page, tests: readonly Ran[]): void {
  const unknown = references.filter((reference) => tests.every((test) => !matches(test, reference)))
  if (unknown.length > 0) {
    console.error(`\nNo test is left for: ${unknown.join('; ')}\n`)
    process.exitCode = 1
    return
  }
  const target = join(docs, page)
  const [head = ''] = readFileSync(target, 'utf8').split(marker)
  writeFileSync(target, `${head}${marker}\n\n${end(tests)}\n`)
}

const fileOf = (reference: string): string => reference.split('#')[0]!

function ranOf(test: TestCase): Ran {
  const [path = ''] = test.module.moduleId.split('/test/').slice(-1)
  const file = path.replace(/\.test\.ts$/, '')
  // Tests of the suite count as tests of the suite's own files.
  const [part = '', ...rest] = test.fullName.split(' > ')
  const suite = file === 'conformance/suite'
  return {
    engine: test.project.name,
    file: suite ? `conformance/${part}` : file,
    name: withoutDraws(suite ? rest.join(' > ') : test.fullName),
    state: test.result().state,
  }
}

const keyOf = ({ file, name, engine }: Ran): string => `${file} ${name} ${engineNames.indexOf(engine as never)}`
