/** The tests that each mutant is tried on, and the engine on which they run. */
import { startEngine } from '../databases/start-engine.ts'
import { filesOf } from '../tiers.ts'

interface Tests {
  readonly include: readonly string[]
  readonly exclude: readonly string[]
  readonly env: Readonly<Record<string, string>>
}

/**
 * Tests that no mutant is tried on, because they are slow or are about other processes, server faults, a million rows or an SQL
 * parser.
 */
const leftOut = [
  'test/faults/*.test.ts',
  'test/plans/*.test.ts',
  'test/unit/adapter-example.test.ts',
  'test/unit/documents.test.ts',
  'test/unit/examples.test.ts',
  'test/unit/oracle*.test.ts',
  'test/unit/prisma-types.test.ts',
  'test/unit/thread-bundle.test.ts',
]
const timers = ['test/unit/{calendar,jobs,timer,zones}*.test.ts']
/** Tests that are far from a package. A change that only these notice should be noticed by a nearer test. */
const far: Readonly<Record<string, readonly string[]>> = {
  'task-api': ['test/e2e/**', ...timers],
  'task-sql': ['test/e2e/**', ...timers],
  'task-processor': ['test/conformance/**', ...timers],
  'task-scheduler': ['test/properties/**', 'test/unit/composite*'],
}
/** What uses the operations: their own tests, and commands. */
const operations = [
  'test/unit/{operations-*,doctor,alerts,say-why,telemetry-rules,command-line-portions}.test.ts',
  'test/e2e/{actions,recorded-actions}.test.ts',
  'test/conformance/doctor-nodes.test.ts',
  'test/e2e/cli{,-undo,-bulk,-operators,-doctor}.test.ts',
]
const coordination = [
  'test/unit/{leader,leader-*,coordinated-stop}.test.ts',
  'test/e2e/{leader,leader-tables}.test.ts',
  'test/conformance/coordination-tables.test.ts',
]
const jobs = [
  'test/unit/{in-process,job-*,jobs-*,tasklib,webhook-signature,newer-inputs,watched-topic,task-timeout,run-program,versioned}.test.ts',
  'test/e2e/{jobs-*,topics-typed*,tasklib*}.test.ts',
]
const commandLine = [
  'test/e2e/cli.test.ts',
  'test/e2e/cli-options.test.ts',
  'test/e2e/cli-database.test.ts',
  'test/e2e/cli-tasks.test.ts',
  'test/e2e/cli-bulk.test.ts',
  'test/e2e/cli-undo.test.ts',
  'test/e2e/cli-operators.test.ts',
  'test/e2e/cli-lists.test.ts',
  'test/e2e/cli-doctor.test.ts',
  'test/e2e/cli-source.test.ts',
  'test/e2e/cli-completion.test.ts',
  'test/e2e/cli-console.test.ts',
  'test/e2e/cli-terminal.test.ts',
  'test/e2e/work-{programs,services,ends}.test.ts',
  'test/unit/{timer-command,command-line-*,work-*,wrapped-text,console-keys}.test.ts',
]

/** The tests of packages that only few tests use. Of other packages nearly every test is one. */
const near: Readonly<Record<string, readonly string[]>> = {
  'task-cli': commandLine,
  'task-operations': operations,
  'task-coordination': coordination,
  'task-jobs': jobs,
}

/** Packages whose tests run commands: in the process of the tests if that can be, or else in one that is the mutant too. */
export const commanded: ReadonlySet<string> = new Set(['task-cli', 'task-operations'])

/**
 * The engine that notices most in the shortest time. Commands run in the process of the tests, where a file must have one library
 * of SQLite only: locks of two do not see each other. Undefined if no engine that can be started here runs this file.
 */
export function engineOf(file: string): string | undefined {
  if (commanded.has(file.split('/')[1] ?? '')) return 'node-sqlite'
  if (/oracle|mysql|mariadb/.test(file)) return undefined
  return /postgres|\/pg\//.test(file) ? 'postgres-18' : 'sqlite-memory'
}

/** The tests of the engine's vitest project and of the unit project. Properties draw little, and the same in each run. */
export function testsOf(engine: string, name: string): Tests {
  const env = { TASKSTREAM_SUBJECT: engine, TASKSTREAM_RUNS: '40', TASKSTREAM_SEED: '1' }
  if (near[name]) return { include: near[name], exclude: [], env }
  const { unit, [engine]: project } = filesOf('all', process.env)
  if (!project) throw new Error(`there is no project ${engine} in test/tiers.ts`)
  return {
    include: [...(unit?.include ?? []), ...project.include],
    exclude: [...project.exclude, ...leftOut, ...(far[name] ?? [])],
    env,
  }
}

/** Starts the engine's server, if it has one. */
export async function start(engine: string): Promise<AsyncDisposable> {
  if (engine.startsWith('postgres')) return startEngine('postgres')
  return engine === 'mariadb' ? startEngine('mariadb') : new AsyncDisposableStack()
}
