/** The application's own table, with a row for each audit. It shows whether each package was audited exactly once. */
import { sql } from '@taskstream/task-sql'
import type { DemoDatabase } from './database.ts'
import type { LicenceRow, Proof } from './report.ts'

type Database<Transaction> = Pick<DemoDatabase<Transaction>, 'audit' | 'execute' | 'transactions'>

/** The table has no unique key: only the transaction keeps a package from being audited twice. */
export async function createAudit<Transaction>(
  { audit, execute }: Database<Transaction>,
  transaction: Transaction,
): Promise<void> {
  await execute(
    transaction,
    sql`create table ${audit} (package text, licence text, files integer, bytes bigint, hash text, attempt integer)`,
  )
}

export async function readLicences<Transaction>({ audit, execute, transactions }: Database<Transaction>): Promise<LicenceRow[]> {
  const rows = await transactions((transaction) =>
    execute(
      transaction,
      sql`select licence, count(*) as packages, sum(files) as files, sum(bytes) as bytes
            from ${audit}
           group by licence
           order by count(*) desc, licence`,
    ),
  )
  return rows.map(({ licence, packages, files, bytes }) => ({
    licence: String(licence),
    packages: Number(packages),
    files: Number(files),
    bytes: Number(bytes),
  }))
}

export async function readProof<Transaction>(
  database: Database<Transaction>,
): Promise<Pick<Proof, 'audited' | 'duplicates' | 'recovered'>> {
  const { audit, execute, transactions } = database
  const [row] = await transactions((transaction) =>
    execute(
      transaction,
      sql`select count(distinct package) as audited, count(*) - count(distinct package) as duplicates,
                 count(distinct case when attempt > 1 then package end) as recovered
            from ${audit}`,
    ),
  )
  return { audited: Number(row?.['audited']), duplicates: Number(row?.['duplicates']), recovered: Number(row?.['recovered']) }
}
