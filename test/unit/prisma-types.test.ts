/** Prisma's types are generated for its users: handlers are given them, on both releases of TypeScript. The other drivers' are in test/types. */
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { generatePrismaClient, invoiceSchema } from '../drivers/prisma.ts'

const root = join(import.meta.dirname, '..', '..')
const compilers = ['typescript', 'typescript-5.9'].map((name) => join(root, 'node_modules', name, 'bin', 'tsc'))
const compilerOptions = {
  target: 'ES2024',
  lib: ['ES2024', 'ESNext.Disposable'],
  module: 'NodeNext',
  types: ['node'],
  strict: true,
  skipLibCheck: true,
  noEmit: true,
  allowImportingTsExtensions: true,
  customConditions: ['@taskstream/source'],
}

test.each([
  ['postgresql', 'prismaTransactions', 'fromPrisma', 'postgres'],
  ['mysql', 'prismaMysqlTransactions', 'fromPrismaMysql', 'mariadb'],
  ['sqlite', 'prismaSqliteTransactions', 'fromPrismaSqlite', 'sqlite'],
] as const)('handlers over Prisma on %s are given the types of the client', async (provider, transactions, adapter, dialect) => {
  const folder = await generatePrismaClient(provider, invoiceSchema)
  const dialectFrom = dialect === 'mariadb' ? 'mysql2' : 'prisma'
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: 'module' }))
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['types.ts'] }))
  writeFileSync(
    join(folder, 'types.ts'),
    `import { TaskDecision } from '@taskstream/task-api'
import { TaskNode } from '@taskstream/task-processor'
import { sqlTaskRepository } from '@taskstream/task-sql'
import { ${adapter}, ${transactions} } from '@taskstream/task-sql/prisma'
import { ${dialect} } from '@taskstream/task-sql/${dialectFrom}'
import { defineJob, taskstream } from 'taskstream/prisma'
import type { PrismaClient } from './generated/prisma/client.ts'
import type { TransactionClient } from './generated/prisma/internal/prismaNamespace.ts'

declare const prisma: PrismaClient
declare function store(tx: TransactionClient): Promise<void>

const transactions = ${transactions}(prisma)
const repository = sqlTaskRepository({ dialect: ${dialect}(), adapter: ${adapter} })
await transactions(async (tx) => {
  const rows: { id: string }[] = await tx.invoice.findMany()
  await store(tx)
  await repository.push(tx, 'invoices', String(rows.length))
})
new TaskNode({ repository, transactions }).process('invoices', {
  handler: async (_batch, { complete }) => {
    await complete(async (tx, held) => {
      const rows: { id: string }[] = await tx.invoice.findMany()
      await store(tx)
      return new Map(held.slice(rows.length).map((task) => [task, TaskDecision.success()]))
    })
  },
})
const cleanup = defineJob('cleanup')
const stream = taskstream(prisma, { database: '${dialect}' })
stream.handle(cleanup, ({ commit }) =>
  commit(async (tx) => {
    const rows: { id: string }[] = await tx.invoice.findMany()
    await store(tx)
    await stream.push(tx, cleanup, undefined, { delayMs: rows.length })
  }),
)
// @ts-expect-error There is no such table.
await stream.transaction((tx) => tx.invoices.findMany())
`,
  )
  for (const compiler of compilers) {
    const run = promisify(execFile)(process.execPath, [compiler, '-p', folder], { cwd: folder })
    const told = await run.then(
      ({ stdout }) => stdout,
      (error: { stdout: string; stderr: string }) => error.stdout + error.stderr,
    )
    expect([compiler, told]).toEqual([compiler, ''])
  }
})
