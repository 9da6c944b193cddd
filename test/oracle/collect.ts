/** Collects every statement that the Oracle dialect can emit, and which of its functions and which verbs took part. */
import { isTaskError } from '@taskstream/task-api'
import type { TransactionSource } from '@taskstream/task-api'
import { sqlTaskRepository } from '@taskstream/task-sql'
import type { Dialect } from '@taskstream/task-sql'
import { fromOracledb, oracle } from '@taskstream/task-sql/oracledb'
import type { OracledbConnection } from '@taskstream/task-sql/oracledb'
import oracledb from 'oracledb'
import { Recording } from './recording.ts'
import type { Recorded } from './recording.ts'
import { scenarios } from './scenarios.ts'

export interface Collection {
  readonly recorded: readonly Recorded[]
  /** The dialect's functions that were called. */
  readonly called: ReadonlySet<string>
  readonly functions: readonly string[]
  readonly verbs: readonly string[]
}

/** All verbs run with the database's clock and with a given clock. Some run again with options that change their statements. */
const variants = [
  { dialect: oracle() },
  { dialect: oracle(), clock: () => new Date(1_000) },
  { dialect: oracle({ schema: 'tasks' }), verbs: ['migrate', 'initialize', 'promoteDue', 'purge'] },
  { dialect: oracle({ partitioned: true }), verbs: ['migrate', 'plan'] },
]

/** @throws Error if a verb ends in another way than its scenario expects */
export async function collect(): Promise<Collection> {
  const recording = new Recording()
  const called = new Set<string>()
  const transactions: TransactionSource<OracledbConnection> = async (work) => work(recording)
  let verbs: string[] = []
  for (const { dialect, clock, verbs: only } of variants) {
    const tasks = sqlTaskRepository({
      dialect: watched(dialect, called),
      adapter: fromOracledb(oracledb),
      owner: 'o',
      ...(clock && { clock }),
    })
    verbs = Object.keys(tasks).filter((name) => typeof tasks[name as keyof typeof tasks] === 'function')
    for (const { verb, scene = {}, fails, run } of scenarios) {
      if (only && !only.includes(verb)) continue
      recording.verb = verb
      recording.scene = scene
      const code = await run(tasks, recording, transactions).then(
        () => undefined,
        (error: unknown) => {
          if (!isTaskError(error)) throw error
          return error.code
        },
      )
      if (code !== fails) throw new Error(`${verb} ended with ${code ?? 'no error'}, and not with ${fails ?? 'none'}`)
    }
  }
  const functions = variants[0]!.dialect
  return { recorded: recording.statements, called, functions: namesOf(functions), verbs }
}

/** The functions that the Oracle dialect itself defines, by group. Those that `defineDialect` supplies are left out. */
function namesOf(dialect: Dialect): string[] {
  return Object.entries(dialect).flatMap(([group, value]) =>
    typeof value === 'function'
      ? [group]
      : Object.keys(value as object)
          .filter((name) => typeof (value as never)[name] === 'function')
          .map((name) => `${group}.${name}`),
  )
}

/** Wraps a dialect so that it notes each call of its functions. */
function watched(dialect: Dialect, called: Set<string>): Dialect {
  const watch = (names: object, before = ''): object =>
    Object.fromEntries(
      Object.entries(names).map(([name, value]: [string, unknown]) => {
        if (typeof value === 'object' && value !== null && groups.has(before + name)) return [name, watch(value, `${name}.`)]
        if (typeof value !== 'function') return [name, value]
        return [
          name,
          (...args: unknown[]): unknown => {
            called.add(before + name)
            return (value as (...args: unknown[]) => unknown)(...args)
          },
        ]
      }),
    )
  return watch(dialect) as Dialect
}

const groups = new Set([
  'schema',
  'expr',
  'paths',
  'writes',
  'locks',
  'claims',
  'repair',
  'topics',
  'plans',
  'session',
  'examination',
])
