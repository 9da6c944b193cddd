/** A database is restored, cloned, moved or loaded anew while processes that have worked on it live on. */
import { execFileSync } from 'node:child_process'
import { renameSync } from 'node:fs'
import { eachTask, TaskNode } from '@taskstream/task-processor'
import { sqlTaskRepository } from '@taskstream/task-sql'
import { openBetterSqlite3 } from '@taskstream/task-sql/better-sqlite3'
import { openNodeSqlite } from '@taskstream/task-sql/node-sqlite'
import { fromPg, postgres } from '@taskstream/task-sql/pg'
import { describe, expect, test } from 'vitest'
import { administratorOf } from '../databases/least-privilege.ts'
import { findMariaDb } from '../databases/mariadb-server.ts'
import { canRun, openSubject, reopenSubject, subjectName } from '../subject.ts'
import type { Tasks } from '../subject.ts'
import { testOn } from '../test-on.ts'
import { findPgDump, openReplaced } from './replaced.ts'
import { expectReady, identifiersOf, prepare, push, topic, work, workOff } from './restored.ts'

/** What one process remembers, and from how many tasks on it is written down for all. */
const few = 3_000
const many = 12_000
const notInstalled = 'The pg_dump of PostgreSQL 15 is not installed: apt-get install postgresql-client-15.'

describe.skipIf(!canRun)('under a process that lives on', () => {
  for (const count of [few, many]) {
    testOn(['postgres'])(`a database that is dropped and restored loses none of its ${count} ready tasks`, async () => {
      await using fixture = await openReplaced()
      const living = await fixture.open()
      await push(living, identifiersOf(count))
      await fixture.save('backup')
      await workOff(living, identifiersOf(count))
      await fixture.drop()
      await fixture.restore('backup')
      await expectReady(identifiersOf(count), living, await fixture.open())
    })

    testOn(['postgres'])(`a database that a clone takes the place of loses none of its ${count} ready tasks`, async () => {
      await using fixture = await openReplaced()
      const living = await fixture.open()
      await push(living, identifiersOf(count))
      await fixture.save('clone')
      await workOff(living, identifiersOf(count))
      await fixture.rename('former')
      await fixture.restore('clone')
      await expectReady(identifiersOf(count), living, await fixture.open())
    })

    testOn(['postgres'])(`tables that are emptied and loaded again lose none of their ${count} ready tasks`, async () => {
      await using fixture = await openReplaced()
      const living = await fixture.open()
      await push(living, identifiersOf(count))
      const reload = await fixture.copyTables()
      await workOff(living, identifiersOf(count))
      await reload()
      await expectReady(identifiersOf(count), living, await fixture.open())
    })

    testOn(['postgres'])(`a sequence that falls back behind ${count} finished tasks hides none of the next`, async () => {
      await using fixture = await openReplaced()
      const living = await fixture.open()
      await push(living, identifiersOf(count))
      await workOff(living, identifiersOf(count))
      // As a promoted replica has it, to which sequences are not copied; what is finished was purged.
      await fixture.run('delete from taskstream.task')
      await fixture.run(`select setval('taskstream.task_sequence', 1, false)`)
      await push(living, ['a', 'b', 'c', 'd'])
      await expectReady(['a', 'b', 'c', 'd'], living, await fixture.open())
    })
  }

  testOn(['postgres'])('two databases of one template, behind one repository, are not taken for each other', async () => {
    await using fixture = await openReplaced()
    await push(await fixture.open(), identifiersOf(few))
    await fixture.save('tenant')
    const tasks = sqlTaskRepository({ dialect: postgres(), adapter: fromPg }) as unknown as Tasks
    const [one, other] = [await fixture.open(tasks), await fixture.open(tasks, 'tenant')]
    await workOff(one, identifiersOf(few))
    await expectReady(identifiersOf(few), other, await fixture.open(undefined, 'tenant'))
  })

  testOn(['postgres'])('a database that is dropped and restored is worked off by a node that runs on', async () => {
    await using fixture = await openReplaced()
    const { tasks, transactions } = await fixture.open()
    const handled: string[] = []
    const node = new TaskNode({ repository: tasks, transactions, heartbeatIntervalMs: 100 })
    node.process(topic, { size: 500, idleMs: 100, handler: eachTask(({ identifier }) => void handled.push(identifier)) })
    await push({ tasks, transactions }, identifiersOf(few))
    await fixture.save('backup')
    await node.start()
    await expect.poll(() => handled.length).toBe(few)
    await fixture.drop()
    await fixture.restore('backup')
    // Once more each, as the backup is from before.
    await expect.poll(() => handled.length).toBe(2 * few)
    await node.stop()
    expect(handled.slice(few)).toEqual(identifiersOf(few))
    expect(await work(await fixture.open())).toEqual([])
  })

  testOn(['sqlite-file', 'node-sqlite'])(
    'a SQLite file that a backup is written into loses none of its ready tasks',
    async () => {
      await using subject = await openSubject()
      const { at: file } = subject.location
      const living = { tasks: subject.tasks(), transactions: subject.transactions }
      await prepare(living)
      await push(living, identifiersOf(few))
      await backUp(file, `${file}.backup`)
      await workOff(living, identifiersOf(few))
      await backUp(`${file}.backup`, file)
      await using other = await reopenSubject(subject.location)
      await expectReady(identifiersOf(few), living, { tasks: other.tasks(), transactions: other.transactions })
    },
  )

  testOn(['sqlite-file', 'node-sqlite'])('a SQLite file that is replaced, and opened again, loses no ready task', async () => {
    await using subject = await openSubject()
    const location = { ...subject.location, at: `${subject.location.at}.replaced` }
    const tasks = subject.tasks()
    {
      await using former = await reopenSubject(location)
      const living = { tasks, transactions: former.transactions }
      await tasks.migrate(former.transactions)
      await prepare(living)
      await push(living, identifiersOf(few))
      await backUp(location.at, `${location.at}.backup`)
      await workOff(living, identifiersOf(few))
    }
    renameSync(`${location.at}.backup`, location.at)
    await using again = await reopenSubject(location)
    await using other = await reopenSubject(location)
    await expectReady(
      identifiersOf(few),
      { tasks, transactions: again.transactions },
      { tasks: other.tasks(), transactions: other.transactions },
    )
  })

  testOn(['mariadb'])('a MariaDB database that is dropped and restored loses none of its ready tasks', async () => {
    await using subject = await openSubject()
    const living = { tasks: subject.tasks(), transactions: subject.transactions }
    await prepare(living)
    await push(living, identifiersOf(few))
    const restore = dumpMariaDb(administratorOf(subject.location.at))
    await workOff(living, identifiersOf(few))
    restore()
    await using other = await reopenSubject(subject.location)
    await expectReady(identifiersOf(few), living, { tasks: other.tasks(), transactions: other.transactions })
  })

  // The command must be of the server's release.
  if (subjectName === 'postgres-15') {
    test('what pg_dump has saved is restored into a database of that name', async ({ skip }) => {
      skip(!findPgDump(), notInstalled)
      await using fixture = await openReplaced()
      const living = await fixture.open()
      await push(living, identifiersOf(many))
      const load = fixture.dump()
      await workOff(living, identifiersOf(many))
      await fixture.drop()
      await fixture.create()
      load()
      await expectReady(identifiersOf(many), living, await fixture.open())
    })

    test('what pg_dump has saved of the data alone is loaded into emptied tables', async ({ skip }) => {
      skip(!findPgDump(), notInstalled)
      await using fixture = await openReplaced()
      const living = await fixture.open()
      await push(living, identifiersOf(many))
      const load = fixture.dump('--data-only', '--schema=taskstream')
      await workOff(living, identifiersOf(many))
      await fixture.empty()
      load()
      await expectReady(identifiersOf(many), living, await fixture.open())
    })
  }
})

/** Copies one file into another, which may be there and open: by the driver's own SQLite, as two of them do not see each other's locks. */
async function backUp(from: string, to: string): Promise<void> {
  if (subjectName === 'node-sqlite') {
    const { backup } = await import('node:sqlite')
    const database = await openNodeSqlite(from)
    await backup(database, to).finally(() => database.close())
  } else {
    const database = (await openBetterSqlite3(from)) as unknown as { backup(to: string): Promise<unknown>; close(): void }
    await database.backup(to).finally(() => database.close())
  }
}

/** @returns what drops the database and loads it again */
function dumpMariaDb(url: string): () => void {
  const { hostname, port, username, pathname } = new URL(url)
  const name = pathname.slice(1)
  const connect = ['--no-defaults', `--host=${hostname}`, `--port=${port}`, `--user=${username}`]
  const dump = execFileSync(findMariaDb('mariadb-dump'), [...connect, '--single-transaction', name])
  return () => {
    execFileSync(findMariaDb('mariadb'), connect, { input: `drop database ${name}; create database ${name};` })
    execFileSync(findMariaDb('mariadb'), [...connect, name], { input: dump })
  }
}
