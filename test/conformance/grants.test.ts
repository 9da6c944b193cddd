/** A missing right is reported by an error that says what to grant. The rights in docs/guides/grants.md are sufficient and necessary. */
import { TaskDecision } from '@taskstream/task-api'
import type { HeldTask, Task, TaskError } from '@taskstream/task-api'
import { periodicTasks } from '@taskstream/task-scheduler'
import { raw, sql, sqlTaskRepository } from '@taskstream/task-sql'
import type { Statement } from '@taskstream/task-sql'
import { fromPg, postgres } from '@taskstream/task-sql/pg'
import { beforeAll, describe, expect, test } from 'vitest'
import { grantsOf } from '../databases/grants.ts'
import { partsOf, workByRanges } from './granted.ts'
import { canRun, isPostgres, engine } from '../subject.ts'
import type { AnyTransaction, Session, Tasks } from '../subject.ts'
import { testOn } from '../test-on.ts'
import { codeOf, openFixture, whileTested } from '@taskstream/task-testing/suite'

const onPostgres = testOn(['postgres'])
const onMariadb = testOn(['mariadb'])

describe.skipIf(!canRun)('a right that is missing', () => {
  const fixture = whileTested(() => openFixture(engine))
  let database: string
  let worker: string
  beforeAll(async () => {
    const { pathname, username } = new URL(fixture.subject.location.at)
    database = pathname.slice(1)
    worker = isPostgres ? username : `${username}@'127.0.0.1'`
  })

  const run = async (text: string): Promise<readonly Readonly<Record<string, unknown>>[]> =>
    fixture.commit((transaction) => fixture.subject.execute(transaction, raw(text)))
  const errorOf = async (work: () => unknown): Promise<TaskError | undefined> => {
    try {
      await work()
      return undefined
    } catch (error) {
      return error as TaskError
    }
  }

  /** Lists the rights that the guide grants, one by one. */
  const rights = async (): Promise<string[]> => {
    const found = isPostgres
      ? await run(`
          select lower(privilege) || ' on ' || case kind when 'S' then 'sequence ' else '' end || 'taskstream.' || name as what
            from (select r.privilege_type as privilege, c.relkind as kind, c.relname as name
                    from pg_class c, aclexplode(c.relacl) r
                   where r.grantee = '${worker}'::regrole and c.relnamespace = 'taskstream'::regnamespace
                   union all
                  select r.privilege_type, 'f', p.oid::regprocedure::text
                    from pg_proc p, aclexplode(p.proacl) r
                   where r.grantee = '${worker}'::regrole) granted`)
      : await run(`
          select concat(lower(privilege_type), ' on ', table_schema, '.', table_name) as what
            from information_schema.table_privileges
           where table_schema = '${database}' and grantee like '%${worker.split('@')[0]}%'`)
    return found
      .map(({ what }) =>
        String(what)
          .replace(' on taskstream.taskstream.', ' on function taskstream.')
          .replaceAll(/,(?=\S)/g, ', '),
      )
      .toSorted()
  }

  /** Does a little of everything that a worker does. */
  const work = async (): Promise<void> => {
    const tasks = fixture.subject.tasks()
    const commit = fixture.subject.transactions
    await commit((transaction) => tasks.register(transaction))
    await commit((transaction) => tasks.heartbeat(transaction))
    const held = async (topic: string): Promise<HeldTask[]> =>
      commit<HeldTask[]>((transaction) => tasks.poll(transaction, topic, { size: 9 }))
    for (const condition of ['none', 'singular-by-identifier'] as const) {
      const topic = `of everything, ${condition}`
      await commit((transaction) => tasks.initialize(transaction, topic, { condition }))
      const pushed = await commit<Task[]>((transaction) => tasks.push(transaction, topic, ['a', 'a', 'b', 'c']))
      for (const total of [5, 6]) await commit((transaction) => tasks.limit(transaction, topic, { total }))
      for (const wanted of [2, 3, 0]) await commit((transaction) => tasks.takeSlots(transaction, topic, { held: 0, wanted }))
      await commit((transaction) => tasks.limit(transaction, topic, {}))
      const batch = await held(topic)
      const decide = (task: HeldTask): TaskDecision =>
        task === batch[0] ? TaskDecision.failure() : TaskDecision.success().withValue('1').withSuccessor(pushed[0]!)
      await commit(async (transaction) => {
        const [task] = await tasks.push(transaction, topic, { identifier: 'd', suspended: true })
        await tasks.depend(transaction, task!, [{ need: 'x', on: pushed[3]! }])
      })
      await commit((transaction) => tasks.complete(transaction, topic, new Map(batch.map((task) => [task, decide(task)]))))
      await commit((transaction) => tasks.settle(transaction, topic))
      await held(topic)
      for (const verb of [tasks.deactivate, tasks.activate, tasks.deactivate])
        await commit((transaction) => verb(transaction, topic))
      await commit((transaction) => tasks.activations(transaction))
      await commit((transaction) => tasks.expire(transaction, { olderThanMs: 60_000, then: 'ready' }))
      await commit((transaction) => tasks.purgeAttempts(transaction, { olderThanMs: 60_000 }))
      await commit((transaction) => tasks.endings(transaction, batch))
      await commit((transaction) => tasks.overview(transaction))
      const told = { kind: 'node', host: 'h', pid: 1, leaseMs: 30_000, topics: [] } as const
      await commit((transaction) => tasks.report(transaction, told))
      await commit((transaction) => tasks.record(transaction, { action: 'redrive', topic, count: 1 }))
      await commit((transaction) => tasks.actions(transaction, { topic }))
      await commit((transaction) => tasks.purgeActions(transaction, { olderThanMs: 0 }))
      // It is as if another process had told this a month ago.
      const node = isPostgres ? 'taskstream.task_node' : `${database}.task_node`
      await run(`delete from ${node} where owner = 'gone'`)
      await run(
        `update ${node} set owner = 'gone', seen = ${isPostgres ? `now() - interval '30 days'` : '0'} where owner = '${tasks.owner}'`,
      )
      await commit((transaction) => tasks.purgeOwners(transaction, 60_000))
      await commit((transaction) => tasks.repair(transaction, topic))
      await commit((transaction) => tasks.purge(transaction, topic))
      await commit((transaction) => tasks.destroy(transaction, topic))
    }
    if (isPostgres) await workByRanges(fixture.subject, tasks)
    const timers = periodicTasks(tasks)
    await commit((transaction) => tasks.initialize(transaction, 'by the clock'))
    await commit((transaction) => timers.schedule(transaction, { id: 'x', timer: 'hourly', topic: 'by the clock' }))
    await commit((transaction) => timers.pause(transaction, 'x'))
    await commit((transaction) => timers.remove(transaction, 'x'))
    await commit((transaction) => tasks.destroy(transaction, 'by the clock'))
    await commit((transaction) => tasks.unregister(transaction))
  }

  /** Works in a session of a user who has the rights that the guide grants to one of this kind. */
  const as = async (kind: 'producer' | 'reader', then: (session: Session) => Promise<void>): Promise<void> => {
    const name = `${database}_${kind}`
    const names = { app: database, [`taskstream_${kind}`]: name }
    await run(isPostgres ? `create role ${name} login` : `create user ${name}@'127.0.0.1'`)
    for (const statement of grantsOf(`${isPostgres ? 'postgres' : 'mariadb'}: ${kind}`, names)) await run(statement)
    const at = new URL(fixture.subject.location.at)
    at.username = name
    const session = await fixture.subject.session({ ...fixture.subject.owner, at: at.href })
    try {
      await then(session)
    } finally {
      await session.close()
      if (isPostgres) await run(`drop owned by ${name}`)
      await run(isPostgres ? `drop role ${name}` : `drop user ${name}@'127.0.0.1'`)
    }
  }

  test('is named with what it is on, whichever it is, and none is granted in vain', async () => {
    await work()
    const granted = await rights()
    expect(granted.length).toBeGreaterThan(20)
    const vain: string[] = []
    for (const right of granted) {
      await run(`revoke ${right} from ${worker}`)
      const error = await errorOf(work)
      await run(`grant ${right} to ${worker}`)
      if (!error) vain.push(right)
      else {
        expect(error, right).toMatchObject({ code: 'PERMISSION_DENIED', data: { needed: expect.any(String) } })
        const needed = String(error.data['needed'])
        const { privileges, on } = partsOf(needed)
        const missing = partsOf(right)
        // MariaDB leaves the database out where it misses a right on columns.
        expect(isPostgres ? [missing.on] : [missing.on, missing.on.split('.')[1]], right).toContain(on)
        // PostgreSQL does not say which right is missing, so the error names all that the guide grants on the object.
        const all = granted.map(partsOf).flatMap((other) => (other.on === missing.on ? other.privileges : []))
        expect(privileges.toSorted(), right).toEqual(isPostgres ? all.toSorted() : expect.arrayContaining(missing.privileges))
        expect(error.message, right).toContain(`grant ${needed}`)
      }
      // With the right granted again, the work succeeds, wherever the error has interrupted it.
      await work()
    }
    expect(vain).toEqual([])
  })

  test('is right again once what was said is granted', async () => {
    const topic = isPostgres ? 'taskstream.task' : `${database}.task`
    await run(`revoke select, insert, update, delete on ${topic} from ${worker}`)
    let grants = 0
    for (let error = await errorOf(work); error && grants < 9; error = await errorOf(work), grants++)
      await run(`grant ${String(error.data['needed'])} to ${worker}`)
    expect(grants).toBeGreaterThan(0)
    expect(await errorOf(work)).toBeUndefined()
  })

  test('to write does not keep who only reads from looking', async () => {
    const tasks: Tasks = fixture.subject.tasks()
    await as('reader', async (reader) => {
      await fixture.push('a')
      const { transaction } = reader
      expect(await tasks.topics(transaction)).toEqual([fixture.topic])
      expect(await tasks.overview(transaction)).toMatchObject([{ topic: fixture.topic, ready: 1 }])
      expect(await tasks.page(transaction, fixture.topic)).toMatchObject([{ identifier: 'a' }])
      expect((await tasks.count(transaction)).size).toBe(1)
      expect(await codeOf(() => tasks.push(transaction, fixture.topic, 'b'))).toBe('PERMISSION_DENIED')
      expect(await codeOf(() => tasks.register(transaction))).toBe('PERMISSION_DENIED')
      expect(await codeOf(() => tasks.destroy(transaction, fixture.topic))).toBe('PERMISSION_DENIED')
    })
  })

  test('to poll does not keep who only pushes from pushing', async () => {
    const tasks: Tasks = fixture.subject.tasks()
    await as('producer', async (producer) => {
      await producer.begin()
      await tasks.push(producer.transaction, fixture.topic, ['a', 'b'])
      await tasks.push(producer.transaction, fixture.topic, { identifier: 'c', delayMs: 60_000, externalId: 'c' })
      await producer.commit()
      expect(await codeOf(() => tasks.poll(producer.transaction, fixture.topic))).toBe('PERMISSION_DENIED')
      await producer.rollback()
      // `register` reads the version of the tables, which exist.
      expect(await codeOf(() => tasks.register(producer.transaction))).toBe('PERMISSION_DENIED')
      if (!isPostgres) return
      await producer.rollback()
      await fixture.nextTopic({ record: 'outcomes' })
      expect(await codeOf(() => tasks.push(producer.transaction, fixture.topic, 'd'))).toBe('PERMISSION_DENIED')
      const names = { app: database, taskstream_producer: `${database}_producer` }
      for (const statement of grantsOf('postgres: producer of outcomes', names)) await run(statement)
      await producer.rollback()
      expect(await tasks.push(producer.transaction, fixture.topic, 'd')).toMatchObject([{ identifier: 'd' }])
    })
  })

  test('to define is missed by name where the tables are to be changed, and not where they are as they should be', async () => {
    const table = isPostgres ? 'taskstream.task_migration' : 'task_migration'
    expect(await fixture.tasks.migrate(fixture.subject.transactions)).toMatchObject({ from: expect.any(Number) })
    const [last] = await run(`select version, name, applied, works_from from ${table} order by version desc limit 1`)
    const { version, name, applied, works_from } = last!
    await run(`delete from ${table} where version = ${Number(version)}`)
    const error = await errorOf(() => fixture.tasks.migrate(fixture.subject.transactions))
    const again: Statement = sql`insert into ${raw(table)} (version, name, applied, works_from)
      values (${Number(version)}, ${String(name)}, ${String(applied)}, ${Number(works_from)})`
    await fixture.commit((transaction) => fixture.subject.execute(transaction, again))
    expect(error).toMatchObject({ code: 'PERMISSION_DENIED', message: expect.stringMatching(/owner|CREATE/) })
  })

  onPostgres('to make a schema is missed by name', async () => {
    const other = sqlTaskRepository({ dialect: postgres({ schema: 'another_one' }), adapter: fromPg })
    expect(await errorOf(() => other.migrate(fixture.subject.transactions))).toMatchObject({
      code: 'PERMISSION_DENIED',
      data: { needed: `create on database ${database}` },
    })
  })

  onPostgres('to make a schema is not needed where an administrator has made it', async () => {
    const owner = new URL(fixture.subject.owner.at).username
    await run(`revoke create on database ${database} from ${owner}`)
    await run(`create schema made_before authorization ${owner}`)
    const other = sqlTaskRepository({ dialect: postgres({ schema: 'made_before' }), adapter: fromPg })
    expect(await other.migrate(fixture.subject.owner.transactions)).toMatchObject({ from: 0 })
    await run(`grant create on database ${database} to ${owner}`)
  })

  test('to renew statistics is missed by name, where the database itself would say nothing', async () => {
    const error = await errorOf(() => fixture.commit((transaction) => fixture.tasks.refresh(transaction)))
    if (isPostgres) expect(error).toMatchObject({ code: 'PERMISSION_DENIED', message: expect.stringContaining('owner') })
    await fixture.subject.owner.transactions<void>((transaction: AnyTransaction) => fixture.tasks.refresh(transaction))
  })

  // MariaDB has no row level security.
  if (isPostgres)
    describe('to see rows', () => {
      const alter = (tables: readonly string[], what: string): Promise<unknown> =>
        run(tables.map((table) => `alter table taskstream.${table} ${what}`).join('; '))
      const secured = async (table: string, policy: string, then: () => Promise<void>): Promise<void> => {
        await alter([table], 'enable row level security')
        if (policy !== '') await run(`create policy ours on taskstream.${table} ${policy}`)
        try {
          await then()
        } finally {
          if (policy !== '') await run(`drop policy ours on taskstream.${table}`)
          await alter([table], 'disable row level security')
        }
      }
      const hidden = (table: string): object => ({
        code: 'PERMISSION_DENIED',
        data: { tables: [`taskstream.${table}`] },
        message: expect.stringContaining(`create policy taskstream on taskstream.${table} using (true) with check (true)`),
      })

      for (const table of ['task', 'task_topic', 'task_owner', 'task_migration', 'task_lane', 'task_holding', 'task_periodic'])
        test(`of ${table} is missed by name, and nobody waits for ever for what is hidden`, async () => {
          await secured(table, '', async () => {
            expect(
              await errorOf(() => fixture.commit((transaction) => fixture.subject.tasks().register(transaction))),
            ).toMatchObject(hidden(table))
            // A repository that was open before the policies learns of them by the expiry that every node makes now and then.
            expect(
              await errorOf(() => fixture.commit((transaction) => fixture.tasks.expire(transaction, { olderThanMs: 60_000 }))),
            ).toMatchObject(hidden(table))
          })
        })

      test('of topics does not make a topic one that was never initialised', async () => {
        await secured('task_topic', '', async () => {
          expect(await errorOf(() => fixture.push('a'))).toMatchObject(hidden('task_topic'))
          expect(await errorOf(() => fixture.poll())).toMatchObject(hidden('task_topic'))
        })
      })

      test('to add them is missed by the same name', async () => {
        await secured('task', 'for select using (true)', async () => {
          expect(await errorOf(() => fixture.push('a'))).toMatchObject(hidden('task'))
        })
      })

      test('is there under policies that hide none', async () => {
        for (const policy of ['using (true)', 'using (true) with check (true)', `to ${worker} using (true)`])
          await secured('task', policy, async () => expect(await errorOf(work)).toBeUndefined())
      })

      test('is missing under policies that hide some, or are not for everything, or for another', async () => {
        for (const policy of [
          `using (topic = 'mine')`,
          'using (true) with check (false)',
          'for select using (true)',
          'to pg_monitor using (true)',
        ])
          await secured('task', policy, async () => {
            expect(
              await errorOf(() => fixture.commit((transaction) => fixture.subject.tasks().register(transaction))),
              policy,
            ).toMatchObject(hidden('task'))
          })
      })

      test('is there for a role that bypasses row security', async () => {
        await run(`alter role ${worker} bypassrls`)
        await secured('task', '', async () => expect(await errorOf(work)).toBeUndefined())
        await run(`alter role ${worker} nobypassrls`)
      })
    })

  onMariadb('to see which version the tables are of is missed by name, and not taken for tables that are missing', async () => {
    const table = `${database}.task_migration`
    await run(`revoke select on ${table} from ${worker}`)
    const error = await errorOf(() => fixture.commit((transaction) => fixture.subject.tasks().register(transaction)))
    await run(`grant select on ${table} to ${worker}`)
    expect(error).toMatchObject({ code: 'PERMISSION_DENIED', message: expect.stringContaining('task_migration') })
  })
})
