/** Functions, operators and tables of others, with the names of PostgreSQL's own or of ours, are never used by our statements. */
import { TaskDecision } from '@taskstream/task-api'
import type { HeldTask, PushedTask } from '@taskstream/task-api'
import { periodicTasks } from '@taskstream/task-scheduler'
import { raw, sqlTaskRepository } from '@taskstream/task-sql'
import type { SqlAdapter, Statement } from '@taskstream/task-sql'
import { detachPartition, fromPg, postgres } from '@taskstream/task-sql/pg'
import pg from 'pg'
import { beforeAll, describe, expect, test } from 'vitest'
import { canRun, engine } from '../subject.ts'
import type { AnyTransaction, Tasks } from '../subject.ts'
import { testOn } from '../test-on.ts'
import { openFixture, whileTested } from '@taskstream/task-testing/suite'

/** Matches the functions that a statement calls by a name without a schema. */
const called = /(?<![\w.])([a-z_][a-z_0-9]*)\(/g

/** The server's own tables and views that our statements read. */
const catalogs = ['pg_class', 'pg_locks', 'pg_tables', 'pg_database', 'pg_inherits', 'pg_namespace', 'pg_policy']

type Transact = (each: (transaction: AnyTransaction) => unknown) => Promise<unknown>

/** Argument types with which PostgreSQL prefers a trap: the trap takes exactly the given type, while the right function needs a conversion. */
const tempting: Readonly<Record<string, string>> = {
  text: 'varchar',
  bigint: 'int4',
  '"any"': 'text',
  anyelement: 'text',
  anyarray: 'text[]',
}

describe.skipIf(!canRun)("somebody else's schema, first in the search path", () => {
  const fixture = whileTested(() => openFixture(engine))
  let tasks: Tasks
  const texts = new Set<string>()
  const run = (text: string): Promise<readonly Readonly<Record<string, unknown>>[]> =>
    fixture.commit((transaction) => fixture.subject.execute(transaction, raw(text)))

  /** Returns an adapter that notes every statement's text. */
  const noting = (adapter: SqlAdapter<AnyTransaction>): SqlAdapter<AnyTransaction> =>
    ({
      execution: 'async',
      execute: (transaction: AnyTransaction, statement: Statement, plan?: string) => {
        texts.add(statement.texts.join('$'))
        return adapter.execute(transaction, statement, plan)
      },
    }) as SqlAdapter<AnyTransaction, 'async'>
  const work = async (transact: Transact): Promise<void> => {
    await transact((transaction) => tasks.register(transaction))
    await transact((transaction) => tasks.heartbeat(transaction))
    for (const [order, condition] of [
      ['fifo', 'none'],
      ['priority', 'none'],
      ['lifo', 'singular-by-identifier'],
    ] as const) {
      const topic = `lured ${order}`
      await transact((transaction) => tasks.initialize(transaction, topic, { order, condition, keyed: true }))
      const push = (...identifiers: string[]): Promise<PushedTask[]> =>
        transact((transaction) => tasks.push(transaction, topic, identifiers)) as Promise<PushedTask[]>
      const [needed] = await push('needed')
      const [waiting] = (await transact((transaction) =>
        tasks.push(transaction, topic, { identifier: 'waiting', suspended: true }),
      )) as PushedTask[]
      await transact((transaction) => tasks.depend(transaction, waiting!, [{ need: 'x', on: needed! }]))
      await transact((transaction) => tasks.settle(transaction, topic))
      await transact((transaction) => tasks.dependencies(transaction, [waiting!]))
      const dead = `${topic} dead`
      await transact((transaction) => tasks.initialize(transaction, dead))
      await transact((transaction) =>
        tasks.limit(transaction, topic, { total: 9, rate: { count: 999, perMs: 1 }, maxEntries: { count: 3 } }),
      )
      await transact((transaction) => tasks.takeSlots(transaction, topic, { held: 0, wanted: 1 }))
      await transact((transaction) => tasks.holdSlots(transaction, topic))
      await transact((transaction) => tasks.freeSlots(transaction, 0))
      await transact((transaction) => tasks.takeTokens(transaction, topic, 2))
      await transact((transaction) => tasks.giveTokens(transaction, topic, 1))
      await transact((transaction) => tasks.admit(transaction, topic, 1))
      await transact((transaction) =>
        tasks.limit(transaction, topic, { maxEntries: { count: 2, whenFull: 'drop-oldest' }, deadLetter: dead }),
      )
      await transact((transaction) => tasks.admit(transaction, topic, 1))
      await transact((transaction) => tasks.limits(transaction))
      const poll = (): Promise<HeldTask[]> =>
        transact((transaction) => tasks.poll(transaction, topic, { size: 50 })) as Promise<HeldTask[]>
      const complete = async (batch: readonly HeldTask[]): Promise<unknown> =>
        transact((transaction) =>
          tasks.complete(transaction, topic, new Map(batch.map((task, index) => [task, TaskDecision.success(`${index}`)]))),
        )
      await push('a')
      await push(...Array.from({ length: 40 }, (_, index) => `i${index}`))
      await transact((transaction) => tasks.push(transaction, topic, [{ identifier: 'x', externalId: 'x', headers: { a: '1' } }]))
      await transact((transaction) => tasks.push(transaction, topic, [{ identifier: 'z', delayMs: 1 }]))
      await transact((transaction) => tasks.push(transaction, topic, ['a'], { insertion: 'supersede' }))
      const [first, ...others] = await poll()
      await complete(others)
      await transact((transaction) => tasks.handBack(transaction, topic, [first!]))
      await complete(await poll())
      await poll()
      await push('b')
      const locked = transact(async (transaction) => {
        const batch = (await tasks.poll(transaction, topic, { size: 1, hold: 'transaction' })) as HeldTask[]
        return tasks.complete(transaction, topic, new Map(batch.map((task) => [task, TaskDecision.failure('no')])))
      })
      await locked
      await transact((transaction) => tasks.promoteDue(transaction, topic))
      await transact((transaction) => tasks.redrive(transaction, topic, { states: ['failed'] }))
      await transact((transaction) => tasks.junction(transaction, topic, 'singular', [['m', 'n']]))
      await transact((transaction) => tasks.expire(transaction, { olderThanMs: 0, then: 'ready' }))
      await transact((transaction) => tasks.repair(transaction, topic))
      await transact((transaction) => tasks.deactivate(transaction, topic))
      await transact((transaction) => tasks.overview(transaction))
      await transact((transaction) => tasks.count(transaction, { recent: true }))
      await transact((transaction) => tasks.page(transaction, topic))
      await transact((transaction) => tasks.purge(transaction, topic, { olderThanMs: 0 }))
      await transact((transaction) => tasks.destroy(transaction, topic))
    }
    const timers = periodicTasks(tasks)
    await transact((transaction) => tasks.initialize(transaction, 'by the clock'))
    await transact((transaction) => timers.schedule(transaction, { id: 'x', timer: 'hourly', topic: 'by the clock' }))
    await transact((transaction) => timers.runNow(transaction, 'x'))
    await transact((transaction) => timers.list(transaction))
    await transact((transaction) => timers.remove(transaction, 'x'))
    await transact((transaction) => tasks.unregister(transaction))
  }
  const lured: Transact = (each) =>
    fixture.commit(async (transaction: pg.PoolClient) => {
      await transaction.query('set local search_path = hostile, public')
      return each(transaction)
    })

  beforeAll(async () => {
    tasks = fixture.subject.tasks({ adapt: noting })
    // One run without traps shows which functions are called.
    await work((each) => fixture.commit(each))
    await run('create schema hostile')
    await run('grant usage on schema hostile to public')
    await run('create sequence hostile.called')
    await run('grant usage on sequence hostile.called to public')
    const names = [...new Set([...texts].flatMap((text) => [...text.matchAll(/([a-z_][a-z_0-9]*)\(/g)].map(([, name]) => name)))]
    const found = await run(`
      select p.proname as name, array(select format_type(a, null) from unnest(p.proargtypes) with ordinality t (a, i) order by i)::text[] as types
        from pg_proc p
       where p.pronamespace = 'pg_catalog'::regnamespace and p.prokind in ('f', 'a')
         and p.proname in (${names.map((name) => `'${name}'`).join(', ')})`)
    for (const { name, types } of found) {
      const given = (types as string[]).map((type) => tempting[type] ?? type)
      const variants = [given, given.map((type) => (type === 'text[]' ? 'int8[]' : type)), ['text', 'text'], ['varchar', 'int4']]
      for (const variant of variants) await trap(String(name), variant)
    }
    for (const name of catalogs)
      await run(`create table hostile.${name} as select nextval('hostile.called') from generate_series(1, 0)`)
  })

  async function trap(name: string, types: readonly string[]): Promise<void> {
    const parameters = types.filter((type) => !/^(internal|any.*)$/.test(type)).join(', ')
    await fixture.commit(async (transaction) => {
      await fixture.subject.execute(
        transaction,
        raw(`do $do$ begin
               create function hostile."${name}"(${parameters}) returns text language plpgsql as
                 $f$ begin perform nextval('hostile.called'); raise exception 'hostile.${name}(${parameters}) was called'; end $f$;
             exception when duplicate_function then null; end $do$`),
      )
    })
  }

  test('is called by no verb', async () => {
    await work(lured)
    const [row] = await run('select is_called from hostile.called')
    expect(row).toEqual({ is_called: false })
  })

  test('would be called by who does not say what is meant', async () => {
    const careless = lured((transaction: pg.PoolClient) => transaction.query(`select hashtextextended('a'::varchar, 0)`))
    await expect(careless).rejects.toThrow('was called')
    await run(`select setval('hostile.called', 1, false)`)
  })

  test('has no function called by a name alone, but where no other could be meant', async () => {
    const alone = new Set([...texts].flatMap((text) => [...text.matchAll(called)].map(([, name]) => name)))
    // The remaining calls are words of SQL, and aggregates that PostgreSQL has for exactly these types of numbers and instants.
    const meant = ['count', 'max', 'min', 'sum']
    const words = ['array', 'cast', 'coalesce', 'extract', 'greatest', 'least', 'nullif', 'r', 'row_number', 'unnest']
    expect([...alone].filter((name) => ![...meant, ...words].includes(String(name)))).toEqual([])
  })

  // A pooler would give the session's connection, and its temporary tables, to other users.
  testOn(['postgres-18', 'postgres-given', 'postgres-15', 'postgres-partitioned'])(
    'takes no temporary table for one of ours, or of the server',
    async () => {
      const ours = [
        '',
        '_topic',
        '_owner',
        '_migration',
        '_turn',
        '_lane',
        '_holding',
        '_activation',
        '_periodic',
        '_range',
        '_result',
        '_attempt',
        '_dependency',
        '_limit',
        '_slot',
        '_node',
        '_audit',
      ].map((name) => `task${name}`)
      const made = await run(`select tablename from pg_tables where schemaname = 'taskstream' and tablename !~ '^task_p_'`)
      expect(made.map(({ tablename }) => tablename).toSorted()).toEqual(ours.toSorted())
      const tables = [...ours, ...catalogs]
      const session = await fixture.subject.session()
      const { transaction } = session
      for (const table of tables) await transaction.query(`create temporary table ${table} (nothing int)`)
      await work(async (each) => {
        await session.begin()
        const result = await each(transaction)
        await session.commit()
        return result
      })
      await session.close()
    },
  )

  /** Connects as the owner, with somebody else's schema first in the search path. */
  const luredPartitions = async (schema: string) => {
    const client = new pg.Client({ connectionString: fixture.subject.owner.at })
    await client.connect()
    await client.query('set search_path = hostile, public')
    const other = sqlTaskRepository({ dialect: postgres({ schema, partitioned: true }), adapter: fromPg })
    const transact = async <Result>(each: (transaction: pg.PoolClient) => Promise<Result> | Result): Promise<Result> => {
      await client.query('begin')
      const result = await each(client as unknown as pg.PoolClient)
      await client.query('commit')
      return result
    }
    return { client, other, transact }
  }

  testOn(['postgres'])('is not called by a migration, or by what a migration makes', async () => {
    const { client, other, transact } = await luredPartitions('lured')
    await other.migrate(transact)
    await transact((transaction) => other.initialize(transaction, 'partitioned'))
    await transact((transaction) => other.push(transaction, 'partitioned', 'a'))
    await transact((transaction) => other.register(transaction))
    expect(await transact((transaction) => other.poll(transaction, 'partitioned'))).toHaveLength(1)
    expect((await client.query('show search_path')).rows).toEqual([{ search_path: 'hostile, public' }])
    await client.end()
    const [row] = await run('select is_called from hostile.called')
    expect(row).toEqual({ is_called: false })
  })

  testOn(['postgres-18', 'postgres-given', 'postgres-15', 'postgres-partitioned'])(
    'is not asked, nor is a temporary table, where a partition is detached',
    async () => {
      const { client, other, transact } = await luredPartitions('detaching')
      await other.migrate(transact)
      await transact((transaction) => other.initialize(transaction, 'old'))
      await transact((transaction) => other.destroy(transaction, 'old'))
      for (const table of catalogs) await client.query(`create temporary table ${table} (nothing int)`)
      const texts: string[] = []
      const watched = { query: (text: string, values?: unknown[]) => (texts.push(text), client.query(text, values)) }
      expect(await detachPartition(watched, 'old', { schema: 'detaching' })).toBe(true)
      await client.end()
      const alone = texts.flatMap((text) => [...text.matchAll(called)].map(([, name]) => name))
      expect(alone).toEqual([])
    },
  )
})
