/** The TypeScript of the documents is an example that runs, or compiles as it stands, with the names that its page has introduced. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { compile } from '../compile.ts'

const root = join(import.meta.dirname, '..', '..')

interface Block {
  readonly page: string
  readonly line: number
  readonly code: string
}

const pages = [
  'README.md',
  'CONTRIBUTING.md',
  ...globSync('docs/**/*.md', { cwd: root }),
  ...globSync('packages/*/README.md', { cwd: root }),
]
const blocks: readonly Block[] = pages.flatMap((page) => {
  const text = readFileSync(join(root, page), 'utf8')
  return [...text.matchAll(/^```ts\n(.*?)^```$/gms)].map((found) => ({
    page: page.replaceAll('\\', '/'),
    line: text.slice(0, found.index).split('\n').length,
    code: found[1]!,
  }))
})
/** They are compiled with all tests, and run by `examples.test.ts`. */
const examples = globSync('examples/**/*.ts', { cwd: root })
  .map((path) => readFileSync(join(root, path), 'utf8'))
  .join('\0')

/** Blocks that cannot be compiled here, by what they have in them, and what tries them instead. */
const exceptions: Readonly<Record<string, string>> = {
  './generated/prisma/client.ts': 'Prisma generates it: drivers-guide.test.ts and start-guide.test.ts run these blocks',
  "from '@taskstream/task-jobs'":
    'the workspace itself does not depend on it: package-readmes.test.ts runs the block of its README',
}

/** What pages say in words and blocks take for granted: the repository, a transaction, functions of the reader's. */
const surroundings = `
import type pg from 'pg'
import type { HeldTask, TaskInfo } from '@taskstream/task-api'
import type { TaskHandler } from '@taskstream/task-processor'
import type { SqlTaskRepository } from '@taskstream/task-sql'
import * as api from '@taskstream/task-api'
import * as coordination from '@taskstream/task-coordination'
import * as processor from '@taskstream/task-processor'
import * as scheduler from '@taskstream/task-scheduler'
import * as driver from '@taskstream/task-sql/pg'
import * as sql from '@taskstream/task-sql'
import * as zod from 'zod'
import * as postgres from 'pg'
declare global {
  const tasks: SqlTaskRepository<pg.PoolClient>
  const transactions: api.TransactionSource<pg.PoolClient>
  const tx: pg.PoolClient
  const client: pg.PoolClient
  const pool: pg.Pool
  const url: string
  const password: string
  const task: TaskInfo
  const node: processor.TaskNode<pg.PoolClient>
  const handler: TaskHandler<pg.PoolClient>
  const timers: scheduler.PeriodicTasks<pg.PoolClient>
  const declaredTimers: Parameters<scheduler.PeriodicTasks<pg.PoolClient>['reconcile']>[2]
  const database: import('better-sqlite3').Database & import('node:sqlite').DatabaseSync
  const backup: typeof import('node:sqlite').backup
  const log: { warn(error: unknown): void }
  const report: (at: Date | undefined) => Promise<void>
  const send: (input: string | null | undefined, options: { signal: AbortSignal }) => Promise<void>
  const compute: (batch: readonly HeldTask[]) => Promise<Map<HeldTask, string>>
  const TaskDecision: typeof api.TaskDecision
  type TaskDecision = api.TaskDecision
  const TaskNode: typeof processor.TaskNode
  const eachTask: typeof processor.eachTask
  const limitTransactions: typeof processor.limitTransactions
  const Leader: typeof coordination.Leader
  const PeriodicScheduler: typeof scheduler.PeriodicScheduler
  const occurrenceOf: typeof scheduler.occurrenceOf
  const typedTasks: typeof scheduler.typedTasks
  const pgListener: typeof driver.pgListener
  const pgTransactions: typeof driver.pgTransactions
  const z: typeof zod.z
  const pg: typeof postgres.default
}
`

/** An option such as \`handler: …\` is compiled as one of the node's. */
const programOf = (code: string): string =>
  code.startsWith('handler:')
    ? `node.process('invoices', {\n${code.replace(/(\s*\/\/[^\n]*)?\n$/, '')}\n})\nexport {}`
    : `${code}\nexport {}`

const isException = ({ code }: Block): boolean => Object.keys(exceptions).some((mark) => code.includes(mark))
const compiled = blocks.filter((block) => !examples.includes(block.code) && !isException(block))

test('each block of TypeScript in the documents is in an example, compiles, or is an exception with a reason', () => {
  const { messages } = compile([surroundings, ...compiled.map(({ code }) => programOf(code))])
  const wrong = messages.flatMap((said, index) => {
    const block = compiled[index - 1]
    return said.map((lines) => `${block ? `${block.page}:${block.line}` : 'surroundings'}: ${lines.join(' ')}`)
  })
  console.log(
    `${blocks.length} blocks: ${blocks.length - compiled.length - blocks.filter(isException).length} in examples, ${compiled.length} compiled, ` +
      `${blocks.filter(isException).length} exceptions`,
  )
  expect(wrong).toEqual([])
})

test('a block that does not compile is found', () => {
  const { messages } = compile([surroundings, programOf("await tasks.pusch(tx, 'invoices', 'inv-1')\n")])
  expect(messages[1]!.flat().join()).toContain("'pusch' does not exist")
})

test('each exception is needed', () => {
  for (const mark of Object.keys(exceptions)) expect(blocks.some(({ code }) => code.includes(mark))).toBe(true)
})
