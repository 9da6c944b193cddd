/** A vitest reporter that says where the time went, by project, and which files took longest. */
import Table from 'cli-table3'
import type { Reporter, TestModule, Vitest } from 'vitest/node'

/** The list has no more files than a reader would read. */
const longest = 12

export default class TimingsReporter implements Reporter {
  #began = 0
  #workers = 1

  onInit({ config }: Vitest): void {
    this.#workers = config.maxWorkers
  }

  onTestRunStart(): void {
    this.#began = performance.now()
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    const files = modules.map((module) => ({ module, ms: timeOf(module) })).toSorted((left, right) => right.ms - left.ms)
    const projects = Map.groupBy(files, ({ module }) => module.project.name)
    if (files.length < 2) return
    const table = new Table({ head: ['project', 'tests', 'files', 'seconds', 'longest'], style: { head: [], border: [] } })
    for (const [project, own] of projects) {
      const tests = own.reduce((sum, { module }) => sum + [...module.children.allTests()].length, 0)
      table.push([project, tests, own.length, secondsOf(sumOf(own)), own.slice(0, 2).map(told).join('\n')])
    }
    console.log(`\nWhere the time went: ${secondsOf(performance.now() - this.#began)} s in all, ${this.#workers} files at a time`)
    console.log(table.toString())
    console.log(`Longest: ${files.slice(0, longest).map(told).join(', ')}\n`)
  }
}

interface Timed {
  readonly module: TestModule
  readonly ms: number
}

function timeOf(module: TestModule): number {
  const { collectDuration, duration, prepareDuration, setupDuration } = module.diagnostic()
  return collectDuration + duration + prepareDuration + setupDuration
}

function told({ module, ms }: Timed): string {
  const [file = ''] = module.moduleId.split('/test/').slice(-1)
  return `${file.replace('.test.ts', '')} ${secondsOf(ms)}`
}

function sumOf(files: readonly Timed[]): number {
  return files.reduce((sum, { ms }) => sum + ms, 0)
}

function secondsOf(ms: number): string {
  return (ms / 1000).toFixed(1)
}
