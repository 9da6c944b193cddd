/** A database in memory with tasks in every state, and topics of every mode. */
import { TaskDecision } from '@taskstream/task-api'
import type { HeldTask, Task } from '@taskstream/task-api'
import { sqlTaskRepository } from '@taskstream/task-sql'
import type { SqlTaskRepository } from '@taskstream/task-sql'
import { fromBetterSqlite3, openBetterSqlite3, sqlite, sqliteTransactions } from '@taskstream/task-sql/better-sqlite3'
import type Database from 'better-sqlite3'

export const topics = ['plain', 'keyed', 'single', 'urgent', 'turns', 'limited'] as const

export interface VerbsWorld extends AsyncDisposable {
  readonly database: Database.Database
  readonly tasks: SqlTaskRepository<Database.Database, 'sync'>
  /** Tasks in every state, of each topic. */
  readonly known: Readonly<Record<(typeof topics)[number], readonly Task[]>>
  readonly held: Readonly<Record<(typeof topics)[number], readonly HeldTask[]>>
  begin(): void
  writes(): number
  end(): void
}

export async function openWorld(): Promise<VerbsWorld> {
  const database = (await openBetterSqlite3(':memory:')) as unknown as Database.Database
  const tasks = sqlTaskRepository({ dialect: sqlite(), adapter: fromBetterSqlite3 }) as unknown as SqlTaskRepository<
    Database.Database,
    'sync'
  >
  await tasks.migrate(sqliteTransactions(database as never) as never)
  database.exec('begin')
  tasks.register(database)
  tasks.coordination.createTables(database)
  tasks.initialize(database, 'plain')
  tasks.initialize(database, 'keyed', { keyed: true })
  tasks.initialize(database, 'single', { condition: 'singular-by-identifier-suspend-on-failure' })
  tasks.initialize(database, 'urgent', { order: 'priority', keyed: true })
  tasks.initialize(database, 'turns', { order: 'shared' })
  tasks.initialize(database, 'limited', { keyed: true })
  tasks.limit(database, 'limited', { total: 3, rate: { count: 5, perMs: 60_000 }, maxEntries: { count: 40 } })
  const filled = topics.map((topic) => [topic, fill(database, tasks, topic)] as const)
  const of = <Value>(pick: (one: Filled) => Value): Record<(typeof topics)[number], Value> =>
    Object.fromEntries(filled.map(([topic, one]) => [topic, pick(one)])) as never
  const changes = database.prepare('select total_changes()').pluck()
  const [savepoint, back] = [database.prepare('savepoint fuzz'), database.prepare('rollback to fuzz')]
  const release = database.prepare('release fuzz')
  return {
    database,
    tasks,
    known: of(({ known }) => known),
    held: of(({ held }) => held),
    begin: () => void savepoint.run(),
    writes: () => changes.get() as number,
    end: () => {
      back.run()
      release.run()
    },
    [Symbol.asyncDispose]: async () => void database.close(),
  }
}

interface Filled {
  readonly known: readonly Task[]
  readonly held: readonly HeldTask[]
}

function fill(database: Database.Database, tasks: VerbsWorld['tasks'], topic: string): Filled {
  const creations = Array.from({ length: 12 }, (_, index) => ({
    identifier: `${topic} ${index}`,
    externalId: `id ${index}`,
    input: '{"a":1}',
    maxTries: 5,
  }))
  const pushed = tasks.push(database, topic, creations)
  const suspended = tasks.push(database, topic, { identifier: 'aside', suspended: true })
  const delayed = tasks.push(database, topic, { identifier: 'later', delayMs: 86_400_000 })
  const first = tasks.poll(database, topic, { size: 5 })
  const decisions = [
    TaskDecision.success('done'),
    TaskDecision.failure('failed'),
    TaskDecision.filter('no'),
    TaskDecision.suspension('wait'),
  ]
  tasks.complete(database, topic, new Map(decisions.map((decision, index) => [first[index]!, decision])))
  const held = [...first.slice(4), ...tasks.poll(database, topic, { size: 3 })]
  return {
    known: [...pushed, ...suspended, ...delayed].map(({ topic, sequence, identifier }) => ({ topic, sequence, identifier })),
    held,
  }
}
