/** Makes every check of a database that answers, one after the other. */
import { isTaskError } from '@taskstream/task-api'
import type { Execution, TaskError, TaskNotifier, TransactionSource } from '@taskstream/task-api'
import { looksOf, makeLook } from '@taskstream/task-sql'
import type { Look, LookName, Looks, Row, SqlTaskRepository, Statement } from '@taskstream/task-sql'
import type { Finding } from '../core/finding.ts'
import type { CheckName, Thresholds } from '../core/thresholds.ts'
import { schemaRows } from './connection.ts'
import { fileLooks } from './files.ts'
import type { Files } from './files.ts'
import { judge, skipped, withoutRight } from './judge.ts'
import type { Reading } from './reading.ts'
import { grantOf, probedRights } from './rights.ts'
import { wakeUp } from './wake-up.ts'

export interface Surroundings<Transaction> {
  readonly tasks: SqlTaskRepository<Transaction, Execution>
  readonly transactions: TransactionSource<Transaction>
  readonly notifier: TaskNotifier | undefined
  readonly read: Reading
  readonly deep: boolean
  readonly leaseMs: number
  readonly limitMs: number
  readonly wakeUpMs: number
  readonly thresholds: Required<Thresholds>
  readonly files: Files
  /** The checks to make. Default: all. */
  readonly only?: ReadonlySet<CheckName>
}

/** How a check is made. Without rows, this database has nothing to be checked. */
type Making = () => Promise<readonly Row[] | undefined>

/** @throws TaskError DATABASE_UNAVAILABLE if the database went away meanwhile */
export async function lookAround<Transaction>(given: Surroundings<Transaction>): Promise<readonly Finding[]> {
  const { tasks, transactions, notifier, read, deep, leaseMs, limitMs, wakeUpMs, thresholds, files, only } = given
  const isMade = (name: CheckName): boolean => !only || only.has(name)
  const { looks, probes, begin, user, damaged } = await examinationOf(read, limitMs)
  const findings: Finding[] = []
  /** What checks of other things have run into. */
  const damage: Row[] = []
  /** The finding of a check that failed. It keeps no other check from being made. */
  const failed = (name: CheckName, error: unknown, grant?: string): Finding => {
    const why = error instanceof Error ? error.message : String(error)
    if (damaged(error)) damage.push({ value: 1, problem: why })
    if (!isTaskError(error)) return skipped(name, thresholds[name], why)
    if (error.code !== 'PERMISSION_DENIED') return skipped(name, thresholds[name], why, error.code)
    const needed = error.data['needed'] === undefined ? grant : String(error.data['needed'])
    return withoutRight(name, thresholds[name], needed && grantOf(needed, user))
  }
  const add = async (name: CheckName, make: Making, grant?: string): Promise<readonly Row[]> => {
    try {
      const rows = await make()
      if (rows) findings.push(judge(name, thresholds[name], rows, grant && grantOf(grant, user)))
      return rows ?? []
    } catch (error) {
      if (isTaskError(error, 'DATABASE_UNAVAILABLE') && name !== 'wake-up') throw error
      findings.push(failed(name, error, grant))
      return []
    }
  }
  const makes = (look: Look): Making => {
    const limit = look.deep ? undefined : limitMs
    return () =>
      read(function* ({ dialect, now }) {
        return yield* makeLook(dialect, look, { now: now(), leaseMs }, limit)
      })
  }
  /** The error of a user who may not even read of which version the tables are, or from whom rows are hidden. */
  let refusal: TaskError | undefined
  const missing = (rows: readonly Row[]): readonly Row[] => {
    const refused = refusal && { value: 1, needed: refusal.data['needed'] ?? refusal.message, remedy: refusal.message }
    const others = rows.filter(({ needed }) => needed !== refused?.needed)
    return [...(refused ? [refused] : []), ...others.map((row) => ({ ...row, remedy: grantOf(String(row['needed']), user) }))]
  }

  await add('schema', async () => {
    try {
      return schemaRows(await tasks.schemaStatus(transactions))
    } catch (error) {
      if (isTaskError(error, 'PERMISSION_DENIED')) refusal = error
      throw error
    }
  })
  if (probes && isMade('rights')) await add('rights', async () => missing(await probedRights(tasks, transactions, begin, probes)))
  for (const [name, look] of Object.entries(looks) as [LookName, Look][]) {
    if ((look.deep && !deep) || (name !== 'file' && !isMade(name))) continue
    const make = makes(look)
    if (name === 'rights') await add(name, async () => missing((await make()) ?? []))
    else if (name === 'file') {
      const [file] = (await make().catch(() => [])) ?? []
      if (file)
        for (const [check, lookAt] of fileLooks) if (isMade(check)) await add(check, () => lookAt(String(file['path']), files))
    } else await add(name, make, look.grant)
  }
  if (notifier) {
    const notify = (topic: string): Promise<boolean> =>
      read(function* ({ dialect }) {
        const statements = dialect.topics.wake(topic)
        for (const statement of statements) yield statement
        return statements.length > 0
      })
    await add('wake-up', () => wakeUp(notifier, notify, wakeUpMs))
  }
  if (damage.length === 0) return findings
  return [...findings.filter(({ check }) => check !== 'integrity'), judge('integrity', thresholds.integrity, damage)]
}

interface Examined {
  readonly looks: Looks
  readonly probes: readonly Statement[] | undefined
  readonly begin: readonly Statement[]
  /** The name of this user, as rights are granted to it; undefined where nobody grants anything. */
  readonly user: string | undefined
  damaged(error: unknown): boolean
}

function examinationOf(read: Reading, limitMs: number): Promise<Examined> {
  return read(function* ({ dialect }) {
    const { probes, begin, user, damaged } = dialect.examination
    const [row] = user ? yield user : []
    return { looks: looksOf(dialect), probes, begin: begin(limitMs), user: row && String(row['name']), damaged }
  })
}
