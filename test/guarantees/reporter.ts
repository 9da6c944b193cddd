/**
 * A vitest reporter that writes docs/guarantees.md, but only after a run of every engine and every test. The run fails if a
 * promise names a test that does not exist.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Reporter, TestCase, TestModule, Vitest } from 'vitest/node'
import { engineNames, factsOf } from '../engines/registry.ts'
import type { Ran } from './cells.ts'
import { matches, withoutDraws } from './cells.ts'
import { evidenceOf } from './guarantee.ts'
import { sections } from './guarantees.ts'
import { requirements } from './requirements.ts'
import { guaranteesTable, requirementsTable } from './tables.ts'

const target = join(import.meta.dirname, '..', '..', 'docs', 'guarantees.md')
const marker = '<!-- From here on written by the tests. -->'
/** The engines that a run must include. The others need a server that nothing installs. */
const engines = engineNames.filter((name) => !factsOf(name).given)

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
    const filtered =
      process.argv.slice(2).some((argument) => !argument.startsWith('-') && argument.includes('test/')) ||
      Boolean(this.#vitest?.config.testNamePattern)
    const missing = [...engines, 'unit'].filter(
      (engine) => !tests.some((test) => test.engine === engine && test.state === 'passed'),
    )
    if (filtered || missing.length > 0) return
    const references = [
      ...sections.flatMap(({ guarantees }) => guarantees).flatMap(({ tests }) => evidenceOf(tests).flatMap(({ anyOf }) => anyOf)),
      ...requirements.flatMap(({ tests = [] }) => tests),
    ]
    const unknown = references.filter((reference) => tests.every((test) => !matches(test, reference)))
    if (unknown.length > 0) {
      console.error(`\nNo test is left for: ${unknown.join('; ')}\n`)
      process.exitCode = 1
      return
    }
    const [head = ''] = readFileSync(target, 'utf8').split(marker)
    writeFileSync(target, `${head}${marker}\n\n${guaranteesTable(tests, engines)}\n\n${requirementsTable(tests)}\n`)
  }
}

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
