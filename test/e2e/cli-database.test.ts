/** The command reports a database that it cannot use in one line, and never changes a database that it should not change. */
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { raw, sql } from '@taskstream/task-sql'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openFixture } from '@taskstream/task-testing/suite'
import type { Fixture } from '@taskstream/task-testing/suite'
import { canRun, isPostgres, openSubject, engine } from '../subject.ts'
import type { Subject } from '../subject.ts'
import { testOn } from '../test-on.ts'
import { administratorOf } from '../databases/least-privilege.ts'
import { run, urlOf } from './command-line.ts'
import type { Run } from './command-line.ts'

const secret = 'correct-horse'

describe.skipIf(!canRun)('the command line, of databases', () => {
  let fixture: Fixture<Subject>
  let url = ''
  let folder = ''
  beforeAll(async () => {
    fixture = await openFixture(engine)
    url = urlOf(fixture.subject)
    folder = mkdtempSync(join(tmpdir(), 'taskstream-cli-'))
  })
  afterAll(async () => {
    await fixture[Symbol.asyncDispose]()
    rmSync(folder, { recursive: true, force: true })
  })

  /** Expects one line with an error code, without a stack or a secret. */
  const expectRefusal = ({ code, out, err }: Run, words: RegExp, ending: number = 5): void => {
    expect([code, out, err]).toEqual([ending, '', expect.stringMatching(words)])
    expect(err).toMatch(/^error: [^\n]+ \([A-Z_]+\)\n$/)
    expect(err).not.toContain(secret)
  }
  /** Returns the URL of the suite's server with changes, such as another user or database. */
  const changed = (change: (url: URL) => void): string => {
    const there = new URL(url)
    change(there)
    return there.href
  }
  const execute = (statement: string): Promise<unknown> =>
    fixture.subject.transactions((transaction) => fixture.subject.execute(transaction, sql`${raw(statement)}`))

  testOn(['sqlite-file'])('prints no password: not in help, not in errors, not of an address that cannot be read', async () => {
    const safe = async (args: readonly string[], given?: string): Promise<void> => {
      const { out, err } = await run(args, given === undefined ? {} : { url: given })
      expect([args, out + err]).toEqual([args, expect.not.stringContaining(secret)])
    }
    for (const command of ['topics', 'push', 'migrate up'])
      await safe([...command.split(' '), '--help'], `postgres://shop:${secret}@127.0.0.1:1/shop`)
    for (const wrong of [
      `postgres://shop:${secret}@nowhere.invalid/shop`,
      `postgres://shop:${secret}@127.0.0.1:port/shop`,
      `postgres://shop:${secret}/2@127.0.0.1/shop`,
      `postgres://shop:${secret}#2@127.0.0.1/shop`,
      `postgres://shop:%${secret}@127.0.0.1/shop`,
      `postgres:/shop:${secret}@127.0.0.1/shop`,
      `mysql://shop:${secret}@127.0.0.1:1/shop`,
      `mariadb://shop:1/${secret}@127.0.0.1:1/shop`,
      `redis://shop:${secret}@127.0.0.1/shop`,
    ]) {
      await safe(['topics'], wrong)
    }
    const right = `postgres://shop:${secret}@127.0.0.1:1/shop`
    await safe(['topics', '--url', right])
    // Here the URL stands in a wrong place.
    await safe([right])
    await safe(['frob', `--url=${right}`])
  })

  testOn(['sqlite-file'])('takes nothing for a file of SQLite that does not say so, and makes no file by mistake', async () => {
    const before = readdirSync(folder)
    for (const [given, words] of [
      ['foo', /sqlite:foo/],
      ['tasks.db', /sqlite:tasks\.db/],
      ['./tasks.db', /sqlite:\.\/tasks\.db/],
      ['postgres:/localhost/shop', /postgres:\/\//],
      ['sqlite:', /which file/i],
      ['sqlite::memory:', /:memory:/],
      ['sqlite:tasks.db?mode=ro', /mode=ro/],
      ['sqllite:tasks.db', /No engine for sqllite/],
      ['file://elsewhere/tasks.db', /file:/],
    ] as const)
      expectRefusal(await run(['migrate', 'up', '--url', given], { cwd: folder }), words, 2)
    expect(readdirSync(folder)).toEqual(before)
    const spaced = join(folder, 'a b.db')
    expect(await run(['migrate', 'up', '--url', `file://${folder}/a%20b.db`])).toMatchObject({ code: 0 })
    expect(existsSync(spaced)).toBe(true)
  })

  testOn(['sqlite-file'])('says of a file of SQLite that cannot be opened what is wrong with it', async () => {
    const noDatabase = join(folder, 'letter.txt')
    writeFileSync(noDatabase, 'Dear database, this is a letter, and no database at all.'.repeat(100))
    expectRefusal(
      await run(['topics', '--url', `sqlite:${folder}/gone.db`]),
      /There is no file .*migrate up.*DATABASE_MISSING/,
      1,
    )
    expectRefusal(await run(['topics', '--url', `sqlite:${folder}`]), /DATABASE_MISSING/, 1)
    expectRefusal(await run(['migrate', 'up', '--url', `sqlite:${folder}/gone/tasks.db`]), /folder.*DATABASE_MISSING/, 1)
    expectRefusal(await run(['topics', '--url', `sqlite:${noDatabase}`]), /no SQLite database.*DATABASE_MISSING/, 1)
  })

  testOn(['postgres-18', 'mariadb'])('says that a database is missing, a login wrong, or a permission', async () => {
    // MariaDB does not tell a user without rights whether a database exists.
    const missing = changed((there) => {
      there.pathname = '/not_there'
      there.username = new URL(administratorOf(fixture.subject.location.at)).username
    })
    expectRefusal(await run(['topics', '--url', missing]), /not_there.*DATABASE_MISSING/, 1)
    const name = 'taskstream_by_password'
    const host = isPostgres ? '' : "@'127.0.0.1'"
    await execute(
      isPostgres ? `create role ${name} login password '${secret}'` : `create user ${name}${host} identified by '${secret}'`,
    )
    try {
      const as = (password: string): string =>
        changed((there) => {
          there.username = name
          there.password = password
        })
      if (!isPostgres) await execute(`grant usage on *.* to ${name}${host}`)
      expectRefusal(await run(['topics', '--url', as(`${secret}-wrong`)]), /password.*AUTHENTICATION_FAILED/)
      expectRefusal(await run(['topics', '--url', as('')]), /password.*AUTHENTICATION_FAILED/)
      expectRefusal(await run(['topics', '--url', as(secret)]), /grant.*PERMISSION_DENIED/)
      expectRefusal(await run(['push', 'a', 'b', '--initialize', '--url', as(secret)]), /grant.*PERMISSION_DENIED/)
      const stranger = changed((there) => (there.username = 'nobody_at_all'))
      expectRefusal(await run(['topics', '--url', stranger]), /AUTHENTICATION_FAILED/)
      // This user may read, but not write.
      const database = new URL(url).pathname.slice(1)
      await execute(
        isPostgres ? `grant usage on schema taskstream to ${name}` : `grant select on ${database}.* to ${name}${host}`,
      )
      if (isPostgres) await execute(`grant select on all tables in schema taskstream to ${name}`)
      expect(await run(['topics', '--url', as(secret)])).toMatchObject({ code: 0, err: '' })
      expectRefusal(await run(['push', fixture.topic, 'a', '--url', as(secret)]), /grant.*PERMISSION_DENIED/)
    } finally {
      if (isPostgres) await execute(`drop owned by ${name}`)
      await execute(isPostgres ? `drop role ${name}` : `drop user ${name}${host}`)
    }
  })

  test('works on no tables but those of its release, whatever the command', async () => {
    await using subject = await openSubject()
    const there = urlOf(subject)
    const commands = [
      ['topics'],
      ['topic', 'create', 'b'],
      ['topic', 'options', 'a'],
      ['topic', 'destroy', 'a', '--yes'],
      ['show', 'a', '@1'],
      ['export', 'a'],
      ['tail', 'a'],
      ['watch'],
      ['wait', 'a', '@1'],
      ['run-now', 'a', '@1'],
      ['ls', 'a'],
      ['count'],
      ['push', 'a', 'x'],
      ['push', 'b', 'x', '--initialize'],
      ['redrive', 'a'],
      ['purge', 'a'],
      ['reassign', 'a', '--state', 'failed', '--result', 'success'],
      ['cancel', 'a', '--state', 'ready'],
      ['cancel', 'a', '@1'],
      ['reschedule', 'a', '@1', '--delay-ms', '0'],
      ['limits'],
      ['limits', 'a', '--total', '1'],
      ['pause', 'a'],
      ['resume', 'a'],
      ['periodic', 'ls'],
      ['periodic', 'add', 'report', 'daily', 'a'],
      ['periodic', 'pause', '--all'],
      ['periodic', 'resume', '--all'],
      ['periodic', 'run', 'report'],
      ['periodic', 'rm', 'report'],
      ['migrate', 'up'],
      ['migrate', 'plan'],
    ]
    const tasks = subject.tasks()
    await subject.transactions((transaction) => tasks.initialize(transaction, 'a'))
    const table = raw(isPostgres ? 'taskstream.task_migration' : 'task_migration')
    await subject.transactions((transaction) =>
      subject.execute(transaction, sql`insert into ${table} (version, name, applied) values (99, 'from the future', 'today')`),
    )
    for (const command of commands)
      expectRefusal(await run([...command, '--url', there]), /upgrade @taskstream\/task-cli \(SCHEMA_NEWER\)/)
    expect(await subject.transactions((transaction) => tasks.topics(transaction))).toEqual(['a'])
    expect(await subject.transactions((transaction) => tasks.page(transaction, 'a'))).toEqual([])
  })

  test('speaks of commands where it says what to do', async () => {
    await fixture.nextTopic()
    const empty = join(folder, 'empty.db')
    writeFileSync(empty, '')
    const command = (...args: readonly string[]): Promise<Run> => run([...args, '--url', url])
    expectRefusal(await run(['topics', '--url', `sqlite:${empty}`]), /Run: taskstream migrate up \(SCHEMA_MISSING\)/)
    expectRefusal(await command('push', 'nowhere', 'a'), /"nowhere".*: taskstream topic create nowhere\) \(TOPIC_UNKNOWN\)/, 3)
    expectRefusal(await command('push', 'two words', 'a'), /: taskstream topic create 'two words'\) \(TOPIC_UNKNOWN\)/, 3)
    expectRefusal(
      await command('periodic', 'add', 'x', 'daily', 'nowhere'),
      /: taskstream topic create nowhere\) \(TOPIC_UNKNOWN\)/,
      3,
    )
    expectRefusal(await command('periodic', 'run', 'x'), /: taskstream periodic ls.*\(TIMER_UNKNOWN\)/, 3)
    await command('periodic', 'add', 'x', 'daily', fixture.topic)
    expectRefusal(await command('periodic', 'add', 'x', 'daily', fixture.topic), /--replace.*\(TIMER_DUPLICATE\)/, 1)
    expectRefusal(await command('topic', 'create', fixture.topic, '--order', 'lifo'), /topic options .*TOPIC_DIFFERENT/, 1)
    expectRefusal(
      await command('push', fixture.topic, 'a', '--insertion', 'supersede'),
      /topic create .* --keyed.*TOPIC_NOT_KEYED/,
      1,
    )
  })

  test('makes topics known, with their order and condition', async () => {
    const add = (...args: readonly string[]): Promise<Run> => run(['topic', 'create', ...args, '--url', url])
    expect(await add('urgent', '--order', 'priority', '--condition', 'singular-by-identifier')).toEqual({
      code: 0,
      out: 'created: urgent\n',
      err: expect.stringMatching(/^audit: \w+; nothing undoes it\n$/),
    })
    expect((await add('urgent')).out).toBe('already there: urgent\n')
    expect(JSON.parse((await add('found', '--keyed', '--json')).out)).toEqual({
      topic: 'found',
      created: true,
      audit: expect.any(String),
    })
    const { out } = await run(['topics', '--json', '--url', url])
    expect(JSON.parse(out)).toContainEqual(
      expect.objectContaining({ topic: 'urgent', order: 'priority', condition: 'singular-by-identifier' }),
    )
  })
})
