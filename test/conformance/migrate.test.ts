/** Migrations apply each step once, and never touch tables of a later release. */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TransactionSource } from '@taskstream/task-api'
import { raw, sql, sqlTaskRepository } from '@taskstream/task-sql'
import { fromBetterSqlite3, openBetterSqlite3, sqlite, sqliteTransactions } from '@taskstream/task-sql/better-sqlite3'
import { mariadb } from '@taskstream/task-sql/mysql2'
import { oracle } from '@taskstream/task-sql/oracledb'
import { fromPg, pgTransactions, postgres } from '@taskstream/task-sql/pg'
import pg from 'pg'
import { describe, expect, test } from 'vitest'
import { canRun, isMysql, isOracle, isPostgres, openSubject } from '../subject.ts'
import { testOn } from '../test-on.ts'
import type { AnyTransaction } from '../subject.ts'
import { codeOf, thrownBy } from '@taskstream/task-testing/suite'

/** The dialect of this family of engines. */
const family = isMysql ? mariadb() : isOracle ? oracle() : isPostgres ? postgres() : sqlite()
const latest = family.schema.migrations.at(-1)?.version ?? 0

describe.skipIf(!canRun)('migrate', () => {
  test('does nothing the second time', async () => {
    await using subject = await openSubject()
    expect(await subject.tasks().migrate(subject.transactions)).toEqual({ from: latest, to: latest })
  })

  test('refuses tables of a later release, and so do register, initialize and repair, with nothing written', async () => {
    await using subject = await openSubject()
    const tasks = subject.tasks()
    const table = raw(subject.engine === 'postgres' ? 'taskstream.task_migration' : 'task_migration')
    await subject.transactions((transaction) =>
      subject.execute(transaction, sql`insert into ${table} (version, name, applied) values (99, 'from the future', 'today')`),
    )
    const newer = { code: 'SCHEMA_NEWER', data: { found: 99, known: latest } }
    expect(await thrownBy(() => tasks.migrate(subject.transactions))).toMatchObject(newer)
    expect(await thrownBy(() => subject.transactions((transaction) => tasks.register(transaction)))).toMatchObject(newer)
    expect(await thrownBy(() => subject.transactions((transaction) => tasks.initialize(transaction, 'a')))).toMatchObject(newer)
    expect(await thrownBy(() => subject.transactions((transaction) => tasks.repair(transaction)))).toMatchObject(newer)
    await expect(tasks.migrate(subject.transactions)).rejects.toThrow(/version 99.*upgrade/)
    expect(await subject.transactions((transaction) => tasks.topics(transaction))).toEqual([])
    const older = { code: 'SCHEMA_OLDER', data: { found: 1, known: latest } }
    const missing = { code: 'SCHEMA_MISSING', data: { known: latest } }
    for (const [version, refused] of [...(latest > 1 ? ([[1, older]] as const) : []), [0, missing]] as const) {
      await subject.transactions((transaction) =>
        subject.execute(transaction, sql`delete from ${table} where version > ${version}`),
      )
      const registering = subject.transactions((transaction) => thrownBy(() => tasks.register(transaction)))
      expect(await registering).toMatchObject(refused)
    }
  })

  test.runIf(isMysql)('leaves no index with a column that the server computes: MariaDB breaks those when it purges', async () => {
    await using subject = await openSubject()
    const found = await subject.transactions((transaction) =>
      subject.execute(
        transaction,
        sql`select c.table_name, c.column_name
              from information_schema.columns c
              join information_schema.statistics s
                on s.table_schema = c.table_schema and s.table_name = c.table_name and s.column_name = c.column_name
             where c.table_schema = database() and c.extra like '%VIRTUAL%'`,
      ),
    )
    expect(found).toEqual([])
  })

  test('notes for each step from which release on its tables can be worked with', async () => {
    await using subject = await openSubject()
    const table = raw(subject.engine === 'postgres' ? 'taskstream.task_migration' : 'task_migration')
    const noted = await subject.transactions((transaction) =>
      subject.execute(transaction, sql`select version, works_from, name from ${table} where version > 1 order by version`),
    )
    expect(noted.map((row) => [Number(row['version']), Number(row['works_from']), row['name']])).toEqual(
      family.schema.migrations.slice(1).map(({ version, worksFrom, name }) => [version, worksFrom, name]),
    )
  })

  testOn(['postgres'])("of ten connections at once applies each step once, in a schema of the user's choice", async () => {
    await using subject = await openSubject()
    const { at } = subject.owner
    const pools = Array.from({ length: 10 }, () => new pg.Pool({ connectionString: at, max: 1 }))
    // The database is dropped while the pools' connections are still closing, so errors of idle connections are expected.
    for (const pool of pools) pool.on('error', () => {})
    try {
      const tasks = sqlTaskRepository({ dialect: postgres({ schema: 'another_one' }), adapter: fromPg })
      expect(await codeOf(() => pgTransactions(pools[0]!)((transaction) => tasks.topics(transaction)))).toBe('SCHEMA_MISSING')
      const migrations = await Promise.all(pools.map((pool) => tasks.migrate(pgTransactions(pool))))
      expect(migrations.filter(({ from }) => from === 0)).toHaveLength(1)
      expect(migrations.every(({ to }) => to === latest)).toBe(true)
    } finally {
      await Promise.all(pools.map((pool) => pool.end()))
    }
  })

  testOn(['sqlite-file'])('of ten connections to one file at once applies each step once', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'taskstream-test-'))
    const file = join(folder, 'tasks.db')
    try {
      const tasks = sqlTaskRepository({ dialect: sqlite(), adapter: fromBetterSqlite3 })
      const databases = await Promise.all(Array.from({ length: 10 }, () => openBetterSqlite3(file)))
      expect(await codeOf(() => tasks.topics(databases[0]!))).toBe('SCHEMA_MISSING')
      const sources: TransactionSource<(typeof databases)[number]>[] = databases.map((database) => sqliteTransactions(database))
      const migrations = await Promise.all(sources.map((source) => tasks.migrate(source)))
      expect(migrations.filter(({ from }) => from === 0)).toHaveLength(1)
      for (const database of databases) database.close()
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })

  testOn(['sqlite-memory', 'sqlite-file'])(
    'an upgrade keeps the tasks of the first release, and works on with them',
    async () => {
      const database = await openBetterSqlite3(':memory:')
      const transactions = sqliteTransactions(database)
      const dialect = sqlite()
      const later = sqlTaskRepository({ dialect, adapter: fromBetterSqlite3 })
      const first = sqlTaskRepository({
        dialect: { ...dialect, schema: { ...dialect.schema, migrations: dialect.schema.migrations.slice(0, 1) } },
        adapter: fromBetterSqlite3,
      })
      expect(await first.migrate(transactions)).toEqual({ from: 0, to: 1 })
      database.exec(`insert into task_topic (topic) values ('old')`)
      database.exec(`insert into task (topic, identifier, input, created) values ('old', 'a', 'x', 1)`)
      expect(await codeOf(() => later.register(database))).toBe('SCHEMA_OLDER')
      expect(await later.plan(transactions)).toMatchObject({ from: 1, to: latest, text: expect.stringContaining('task') })
      expect(await later.migrate(transactions)).toEqual({ from: 1, to: latest })
      expect(await later.plan(transactions)).toEqual({ from: latest, to: latest, text: '' })
      later.register(database)
      expect(later.poll(database, 'old', { size: 9 })).toMatchObject([{ identifier: 'a', input: 'x' }])
      expect(await codeOf(() => first.register(database))).toBe('SCHEMA_NEWER')
    },
  )

  testOn(['postgres', 'pglite'])('refuses a schema whose name could be taken for SQL', () => {
    for (const schema of ['', 'a;b', 'a"b', "a'b", 'a b', '1a', 'x'.repeat(41)]) {
      expect(() => postgres({ schema })).toThrow(expect.objectContaining({ code: 'ARGUMENT_INVALID' }))
    }
  })

  test('works on tables of a later release that says so, and leaves them as they are', async () => {
    await using subject = await openSubject()
    const tasks = subject.tasks()
    const table = raw(subject.engine === 'postgres' ? 'taskstream.task_migration' : 'task_migration')
    await subject.transactions((transaction) =>
      subject.execute(
        transaction,
        sql`insert into ${table} (version, name, applied, works_from) values (99, 'adds only', 'today', ${latest})`,
      ),
    )
    expect(await tasks.schemaStatus(subject.transactions)).toEqual({ found: 99, known: latest, works: true })
    expect(await tasks.migrate(subject.transactions)).toEqual({ from: 99, to: 99 })
    expect(await tasks.plan(subject.transactions)).toEqual({ from: 99, to: 99, text: '' })
    expect(await subject.transactions((transaction) => tasks.initialize(transaction, 'a'))).toBe(true)
    await subject.transactions((transaction) =>
      subject.execute(transaction, sql`update ${table} set works_from = ${latest + 1} where version = 99`),
    )
    expect(await tasks.schemaStatus(subject.transactions)).toMatchObject({ found: 99, works: false })
    expect(await codeOf(() => subject.transactions((transaction) => tasks.register(transaction)))).toBe('SCHEMA_NEWER')
    expect(await codeOf(() => tasks.plan(subject.transactions))).toBe('SCHEMA_NEWER')
  })

  testOn(['postgres'])('a plan run by hand makes what migrate makes, and making it writes nothing', async () => {
    await using subject = await openSubject()
    const client = new pg.Client({ connectionString: subject.owner.at })
    await client.connect()
    const made = async (schema: string): Promise<unknown> => {
      const { rows } = await client.query(
        `select 'column' as kind, table_name || '.' || column_name as name, data_type || coalesce(column_default, '') || is_nullable as told
           from information_schema.columns where table_schema = $1
         union all select 'index', indexname, indexdef from pg_indexes where schemaname = $1
         union all select 'view', viewname, definition from pg_views where schemaname = $1
         union all select 'function', proname, prosrc from pg_proc where pronamespace = to_regnamespace($1)
         union all select 'option', relname, reloptions::text from pg_class where relnamespace = to_regnamespace($1)
         order by 1, 2`,
        [schema],
      )
      return JSON.parse(JSON.stringify(rows).replaceAll(schema, 'x'))
    }
    const transactions = subject.owner.transactions as TransactionSource<pg.PoolClient>
    const tasksIn = (schema: string, partitioned: boolean): ReturnType<typeof sqlTaskRepository<pg.PoolClient, 'async'>> =>
      sqlTaskRepository({ dialect: postgres({ schema, partitioned }), adapter: fromPg })
    for (const partitioned of [false, true]) {
      const [planned, migrated] = [`planned_${partitioned}`, `migrated_${partitioned}`]
      const plan = await tasksIn(planned, partitioned).plan(transactions)
      expect(plan).toMatchObject({ from: 0, to: latest })
      expect(await made(planned)).toEqual([])
      await client.query(plan.text)
      await tasksIn(migrated, partitioned).migrate(transactions)
      expect(await made(planned)).toEqual(await made(migrated))
      expect(await tasksIn(planned, partitioned).migrate(transactions)).toEqual({ from: latest, to: latest })
    }
    await client.end()
  })

  testOn(['sqlite-memory', 'sqlite-file'])(
    'a plan run by hand makes what migrate makes, and making it writes nothing',
    async () => {
      const tasks = sqlTaskRepository({ dialect: sqlite(), adapter: fromBetterSqlite3 })
      const [planned, migrated] = [await openBetterSqlite3(':memory:'), await openBetterSqlite3(':memory:')]
      const made = (database: typeof planned): unknown[] =>
        database.prepare('select type, name, sql from sqlite_master order by type, name').all() as unknown[]
      const { from, to, text } = await tasks.plan(sqliteTransactions(planned))
      expect([from, to, made(planned)]).toEqual([0, latest, []])
      planned.exec(text)
      await tasks.migrate(sqliteTransactions(migrated))
      const plain = (rows: unknown[]): unknown =>
        JSON.parse(
          JSON.stringify(rows)
            .replaceAll(String.raw`\n`, ' ')
            .replaceAll(/ +/g, ' '),
        )
      expect(plain(made(planned))).toEqual(plain(made(migrated)))
      expect(await tasks.schemaStatus(sqliteTransactions(planned))).toEqual({ found: latest, known: latest, works: true })
    },
  )

  testOn(['postgres', 'pglite'])('an upgrade keeps the tasks of the first release, and works on with them', async () => {
    await using subject = await openSubject()
    // A schema of its own has the tables of release 1, with a task as release 1 pushed it.
    const dialect = postgres({ schema: 'first' })
    const adapter = fromPg
    const later = sqlTaskRepository({ dialect, adapter })
    const first = sqlTaskRepository({
      dialect: { ...dialect, schema: { ...dialect.schema, migrations: dialect.schema.migrations.slice(0, 1) } },
      adapter,
    })
    const transactions = subject.owner.transactions as TransactionSource<pg.PoolClient>
    expect(await first.migrate(transactions)).toEqual({ from: 0, to: 1 })
    await transactions(async (client) => {
      await client.query(`insert into first.task_topic (topic) values ('old')`)
      await client.query(`insert into first.task (topic, identifier, input) values ('old', 'a', 'x')`)
    })
    expect(await codeOf(() => transactions((transaction) => later.register(transaction)))).toBe('SCHEMA_OLDER')
    expect(await later.plan(transactions)).toMatchObject({ from: 1, to: latest })
    expect(await later.migrate(transactions)).toEqual({ from: 1, to: latest })
    await transactions((transaction) => later.register(transaction))
    expect(await transactions((transaction) => later.poll(transaction, 'old', { size: 9 }))).toMatchObject([
      { identifier: 'a', input: 'x' },
    ])
    expect(await codeOf(() => transactions((transaction) => first.register(transaction)))).toBe('SCHEMA_NEWER')
  })

  testOn(['postgres', 'pglite'])('where nothing is to be done, whoever may read the tables may run it', async () => {
    await using subject = await openSubject()
    const role = `reader_${randomBytes(6).toString('hex')}`
    const execute = (text: string): Promise<unknown> =>
      subject.transactions((transaction) => subject.execute(transaction, raw(text)))
    await execute(`create role ${role}`)
    try {
      await execute(`grant usage on schema taskstream to ${role}`)
      await execute(`grant select on all tables in schema taskstream to ${role}`)
      await execute(`grant ${role} to session_user`)
      const asReader: TransactionSource<AnyTransaction> = (work) =>
        subject.transactions(async (transaction) => {
          await (transaction as pg.PoolClient).query(`set local role ${role}`)
          return work(transaction)
        })
      expect(await subject.tasks().migrate(asReader)).toEqual({ from: latest, to: latest })
    } finally {
      await execute(`drop owned by ${role}`)
      await execute(`drop role ${role}`)
    }
  })
})
