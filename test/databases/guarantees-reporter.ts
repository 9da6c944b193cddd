/** A vitest reporter: writes docs/guarantees-by-engine.md, every promise under test and where it was kept. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Reporter, TestModule } from 'vitest/node'

const engines = ['sqlite-memory', 'sqlite-file', 'node-sqlite', 'postgres-18']
const heads = ['SQLite, memory', 'SQLite, file', 'SQLite, node:sqlite', 'PostgreSQL 18']
const marks: Readonly<Record<string, string>> = { passed: 'kept', failed: '**broken**', skipped: '–' }

export default class GuaranteesReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const promises = new Map<string, Map<string, string>>()
    for (const module of modules) {
      if (!engines.includes(module.project.name)) continue
      for (const test of module.children.allTests()) {
        // Seeds and numbers of kills differ from run to run.
        const name = test.fullName.replaceAll(/ \([^)]*seed \d+\)/g, '').replaceAll(' > ', ' ')
        const kept = promises.get(name) ?? new Map<string, string>()
        promises.set(name, kept.set(module.project.name, marks[test.result().state] ?? '–'))
      }
    }
    const rows = [...promises].toSorted(([left], [right]) => (left < right ? -1 : 1))
    const text = [
      '# Guarantees by engine',
      '',
      'Written by `npm run docs:guarantees` from a run of the tests. A dash: the promise is not one that this engine can be asked for, such as',
      'two writers at a time on SQLite. MariaDB, MySQL and Oracle are not supported yet and have no column.',
      '',
      `| promise | ${heads.join(' | ')} |`,
      `| --- |${' --- |'.repeat(heads.length)}`,
      ...rows.map(
        ([name, kept]) => `| ${name.replaceAll('|', '\\|')} | ${engines.map((engine) => kept.get(engine) ?? '–').join(' | ')} |`,
      ),
      '',
    ].join('\n')
    writeFileSync(join(import.meta.dirname, '..', '..', 'docs', 'guarantees-by-engine.md'), text)
  }
}
