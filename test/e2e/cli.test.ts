/** Every command of the command line works as a process, on a database of its own. */
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { TaskDecision } from '@taskstream/task-api'
import { raw, sql } from '@taskstream/task-sql'
import { beforeAll, describe, expect, test } from 'vitest'
import { names, useFixture } from '@taskstream/task-testing/suite'
import { canRun, engine } from '../subject.ts'
import { testOn } from '../test-on.ts'
import { run, urlOf } from './command-line.ts'
import type { Run } from './command-line.ts'

describe.skipIf(!canRun)('the command line', () => {
  const fixture = useFixture(engine)
  let url = ''
  beforeAll(async () => {
    url = urlOf(fixture.subject)
  })
  const taskstream = (...args: readonly string[]): Promise<Run> => run([...args, '--url', url])
  const json = async (...args: readonly string[]): Promise<unknown> => {
    const { code, out, err } = await taskstream(...args, '--json')
    // What is recorded is said beside the answer.
    expect([code, err.replace(/^audit: .*\n$/, '')]).toEqual([0, ''])
    return JSON.parse(out)
  }

  test('pushes what is named and what is read, in one transaction, and says what became of each', async () => {
    await fixture.nextTopic()
    const { code, out } = await taskstream('push', fixture.topic, 'a', 'b', '--input', "it's; drop table", '--external-id', 'x')
    expect(code).toBe(0)
    expect(out).toMatch(/^created .*\/a@\d+\nduplicate .*\/a@\d+\n$/)
    const lines = '{"identifier":"c","priority":3}\n\n{"identifier":"d","due":"2100-01-01T00:00:00Z"}\n'
    const read = await run(['push', fixture.topic, '--stdin', '-o', 'ndjson', '--url', url], { stdin: lines })
    expect(
      read.out
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line)),
    ).toMatchObject([{ identifier: 'c', outcome: 'created' }, { identifier: 'd' }])
    expect(await fixture.page()).toMatchObject([
      { identifier: 'a', input: "it's; drop table" },
      { identifier: 'c', priority: 3 },
      { state: 'suspended' },
    ])
    for (const due of ['2026-02-30T00:00:00Z', '1', 'soon', 1, null]) {
      const odd = await run(['push', fixture.topic, '--stdin', '--url', url], {
        stdin: JSON.stringify({ identifier: 'odd', due }),
      })
      expect(odd).toMatchObject({ code: 2, err: expect.stringContaining('due of line 1 must be an instant') as string })
    }
    const none = await run(['push', fixture.topic, '--stdin', '--url', url], { stdin: 'null' })
    expect(none).toMatchObject({ code: 2, err: expect.stringContaining('line 1 must be a JSON object') as string })
    const bad = await run(['push', fixture.topic, '--stdin', '--url', url], { stdin: '{"identifier":"e"}\n{oops' })
    expect(bad).toMatchObject({ code: 2, out: '' })
    expect(bad.err).toMatch(/^error: line 2 must be a JSON object.*ARGUMENT_INVALID/)
    expect(await fixture.page()).toHaveLength(3)
  })

  test('shows topics, tasks and counts, to people and to programs', async () => {
    await fixture.nextTopic({ order: 'lifo' })
    await fixture.push('a', 'b', 'c')
    await fixture.complete(await fixture.poll(1), TaskDecision.failure('no'))
    const topics = (await json('topics')) as { topic: string }[]
    expect(topics.find(({ topic }) => topic === fixture.topic)).toMatchObject({ order: 'lifo', ready: 2, active: 0 })
    expect((await taskstream('topics')).out).toMatch(new RegExp(`${fixture.topic} +2 +0 +0 .* lifo +none`))
    expect(await json('count', fixture.topic, '--exact')).toMatchObject([
      { state: 'ready', count: 2 },
      { state: 'failed', count: 1 },
    ])
    expect((await taskstream('count', fixture.topic, '--exact')).out).toMatch(/failed +1 /)
    expect(await json('ls', fixture.topic, '--state', 'failed')).toEqual([expect.not.objectContaining({ output: 'no' })])
    expect((await taskstream('ls', fixture.topic, '--before', '9007199254740991', '--size', '1')).out).toMatch(/\d+ {2}c +failed/)
  })

  test('tells what waits for its time from what is suspended', async () => {
    await fixture.nextTopic()
    await fixture.push(
      { identifier: 'reminder', due: new Date('2100-01-01T00:00:00Z') },
      { identifier: 'branch', suspended: true },
    )
    expect(await json('count', fixture.topic, '--exact')).toMatchObject([
      { state: 'suspended', count: 1 },
      { state: 'delayed', count: 1 },
    ])
    expect(await json('ls', fixture.topic, '--state', 'delayed')).toMatchObject([{ identifier: 'reminder' }])
    expect((await taskstream('ls', fixture.topic)).out).toMatch(/reminder +delayed .* in \d+d.*\n.*branch +suspended/)
    expect((await taskstream('topics')).out).toMatch(/ delayed /)
    expect(await json('redrive', fixture.topic, '--state', 'suspended', '--state', 'failed', '--dry-run')).toMatchObject({
      count: 1,
    })
  })

  test('redrives what failed, once it has said how many that would be', async () => {
    await fixture.nextTopic()
    await fixture.push('a', 'b')
    await fixture.complete(await fixture.poll(2), TaskDecision.failure())
    expect(await json('redrive', fixture.topic, '--dry-run')).toMatchObject({ count: 2, dryRun: true })
    expect(await fixture.states()).toEqual({ failed: 2 })
    expect((await taskstream('redrive', fixture.topic, '--identifier', 'a', '--yes')).out).toMatch(/^ready again: 1, sequences/)
    expect(names(await fixture.poll(9))).toEqual(['a'])
  })

  test('repairs what was written by hand, topic by topic, and says what was wrong', async () => {
    await fixture.nextTopic({ order: 'lifo' })
    await fixture.push('a', 'b')
    const table = raw(fixture.subject.engine === 'postgres' ? 'taskstream.task' : 'task')
    const off = raw(fixture.subject.engine === 'postgres' ? 'false' : '0')
    await fixture.commit((transaction) =>
      fixture.subject.execute(transaction, sql`update ${table} set listed = ${off} where topic = ${fixture.topic}`),
    )
    expect(await fixture.poll()).toEqual([])
    const wrong = { topic: fixture.topic, corrected: 2, listed: 2, noted: 0, held: 0, left: 0 }
    expect(await json('repair', fixture.topic)).toEqual({ topics: [wrong], sequence: 'ahead' })
    expect(names(await fixture.poll())).toEqual(['b', 'a'])
    const { code, out } = await taskstream('repair')
    expect(code).toBe(0)
    expect(out).toMatch(new RegExp(`${fixture.topic} +0 `))
    expect(out).toMatch(/new tasks are numbered after all existing tasks\n$/)
    expect(await taskstream('repair', 'none')).toMatchObject({ code: 3, err: expect.stringContaining('TOPIC_UNKNOWN') })
  })

  testOn(['postgres-18'])('moves a sequence that is behind a floor', async () => {
    await fixture.nextTopic()
    await fixture.push('a')
    await fixture.commit((transaction) =>
      fixture.subject.execute(
        transaction,
        raw('update taskstream.task_topic set floor = (select last_value + 1 from taskstream.task_sequence)'),
      ),
    )
    await fixture.commit((transaction) =>
      fixture.subject.execute(
        transaction,
        sql`update taskstream.task set sequence = sequence + 1000 where topic = ${fixture.topic}`,
      ),
    )
    expect((await taskstream('repair')).out).toMatch(/the sequence was behind, and is now ahead of all tasks\n$/)
    await fixture.push('b')
    expect(names(await fixture.poll())).toEqual(['a', 'b'])
  })

  testOn(['sqlite-file'])('looks without waiting for anybody who writes', async () => {
    await fixture.nextTopic()
    await fixture.push('a')
    const writer = await fixture.subject.session()
    await writer.begin()
    try {
      expect(await json('count', fixture.topic, '--exact')).toMatchObject([{ state: 'ready', count: 1 }])
      expect((await taskstream('topics')).out).toContain(fixture.topic)
      expect((await taskstream('ls', fixture.topic)).out).toMatch(/ a +ready/)
    } finally {
      await writer.rollback()
    }
  })

  testOn(['postgres-18'])('says that a server cannot be reached, and not that it went away', async () => {
    const refused = await run(['topics', '--url', 'postgres://127.0.0.1:1/nowhere'])
    expect(refused).toMatchObject({ code: 75, err: expect.stringMatching(/cannot be reached.*DATABASE_UNAVAILABLE/s) })
  })

  test('pauses a topic and resumes it, and shows which are paused', async () => {
    await fixture.nextTopic()
    expect((await taskstream('pause', fixture.topic)).out).toBe(`paused: ${fixture.topic}\n`)
    expect((await taskstream('pause', fixture.topic)).out).toBe(`already paused: ${fixture.topic}\n`)
    expect((await json('topics')) as unknown[]).toContainEqual(expect.objectContaining({ topic: fixture.topic, paused: true }))
    expect((await taskstream('topics')).out).toMatch(new RegExp(`${fixture.topic} .*paused`))
    expect(JSON.parse((await taskstream('resume', fixture.topic, '-o', 'json')).out)).toEqual({
      topic: fixture.topic,
      active: true,
      changed: true,
      audit: expect.any(String),
    })
    expect((await taskstream('topics')).out).not.toMatch(/paused/)
    expect(await taskstream('pause', 'never-there')).toMatchObject({ code: 3, err: expect.stringContaining('TOPIC_UNKNOWN') })
  })

  test('keeps timers: adds, lists, pauses, resumes, runs and removes them', async () => {
    await fixture.nextTopic()
    const added = await taskstream('periodic', 'add', 'report', 'Mon..Fri 09:00 Europe/Oslo', fixture.topic, '--input', '{"a":1}')
    expect([added.code, added.out]).toEqual([
      0,
      expect.stringMatching(/^added: report, next \d{4}-\d\d-\d\dT0[78]:00:00.000Z\n$/),
    ])
    const again = await taskstream('periodic', 'add', 'report', 'daily', fixture.topic)
    expect([again.code, again.err]).toEqual([1, expect.stringContaining('TIMER_DUPLICATE')])
    expect(await json('periodic', 'add', 'report', 'hourly', fixture.topic, '--replace', '--max-count', '3')).toMatchObject({
      done: 'changed',
      timer: 'hourly',
      maxCount: 3,
    })
    expect((await taskstream('periodic', 'ls')).out).toContain('report')
    expect((await taskstream('periodic', 'pause', '--all')).out).toBe('paused: 1\n')
    expect(await json('periodic', 'ls', '--scope', 'system')).toMatchObject([{ id: 'report', status: 'paused' }])
    expect((await taskstream('periodic', 'resume', 'report')).out).toBe('resumed: 1\n')
    expect((await taskstream('periodic', 'run', 'report')).out).toMatch(/^submitted: .*\/report@\d+\n$/)
    const behind = await taskstream('periodic', 'run', 'report')
    expect([behind.code, behind.out]).toEqual([4, expect.stringContaining('has not ended')])
    expect((await taskstream('periodic', 'rm', 'report')).out).toBe('removed: report\n')
    const gone = await taskstream('periodic', 'rm', 'report')
    expect([gone.code, gone.err]).toEqual([3, expect.stringContaining('TIMER_UNKNOWN')])
    const wrong = await taskstream('periodic', 'add', 'wrong', '*:*/10', fixture.topic)
    expect([wrong.code, wrong.err]).toEqual([2, expect.stringContaining('*:0/10')])
    expect((await taskstream('periodic', 'pause')).code).toBe(2)
    expect((await run(['periodic', 'ls', '--help'])).out).not.toMatch(/default:\s+system/)
  })

  test('migrates: plans without writing, makes the tables, and tells whether they fit', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'taskstream-cli-'))
    const at = join(folder, 'new.db')
    try {
      const on = (...args: readonly string[]): Promise<Run> => run([...args, '--url', `sqlite:${at}`])
      expect(await on('migrate', 'status')).toMatchObject({ code: 1, err: expect.stringMatching(/There is no file/) })
      expect((await on('migrate', 'plan')).out).toMatch(/^begin;[\s\S]*create table task [\s\S]*commit;/)
      expect(existsSync(at)).toBe(false)
      expect((await on('migrate', 'up')).out).toMatch(/^from version 0 to \d+\n$/)
      expect((await on('migrate', 'up')).out).toMatch(/^nothing to do/)
      expect((await on('migrate', 'plan')).out).toMatch(/^-- nothing to do/)
      expect(await on('migrate', 'status', '--json')).toMatchObject({ code: 0, out: expect.stringMatching(/"works": true/) })
      expect((await on('push', 'new', 'a', '--initialize')).out).toMatch(/^created new\/a@1/)
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })

  test('says what is wrong and what to do, and ends with a code that scripts can tell apart', async () => {
    await fixture.nextTopic()
    const cases: readonly (readonly [readonly string[], number, RegExp])[] = [
      [['frob'], 2, /unknown command 'frob'/],
      [['ls'], 2, /missing required argument 'topic'/],
      [['ls', fixture.topic, '--after', 'x', '--url', url], 2, /must be a whole number/],
      [['ls', fixture.topic, '--frob'], 2, /unknown option '--frob'/],
      [['topics'], 2, /Which database\? Give --url, --url-file or --context, or set TASKSTREAM_URL/],
      [['topics', '--url', 'redis://localhost'], 2, /No engine for redis/],
      [['topics', '--url', 'foo'], 2, /--url names no engine/],
      [['topics', '--url', 'postgres://nobody@127.0.0.1:1/none'], 75, /DATABASE_UNAVAILABLE/],
      [['push', 'nowhere', 'a', '--url', url], 3, /no topic "nowhere".*TOPIC_UNKNOWN/],
      [['ls', 'nowhere', '--url', url], 3, /no topic "nowhere".*TOPIC_UNKNOWN/],
      [['count', 'nowhere', '--url', url], 3, /no topic "nowhere".*TOPIC_UNKNOWN/],
      [['redrive', 'nowhere', '--url', url], 3, /no topic "nowhere".*TOPIC_UNKNOWN/],
      [['push', fixture.topic, '--url', url], 2, /identifier must be given, or --stdin/],
      [['push', fixture.topic, 'a', '--insertion', 'upsert', '--url', url], 2, /ARGUMENT_INVALID/],
      [['ls', fixture.topic, '--state', 'gone', '--url', url], 2, /states must be one of/],
      [['count', '--from', '2', '--url', url], 2, /--exact must be given/],
      [['count', '--exact', '--from', '2', '--to', '1', '--url', url], 2, /must not be after to/],
    ]
    for (const [args, code, error] of cases) {
      const result = await run(args)
      expect([args, result.code, result.out]).toEqual([args, code, ''])
      expect(result.err).toMatch(error)
    }
    expect(await fixture.page()).toEqual([])
  })

  test('helps, with examples', async () => {
    for (const command of [[], ['push'], ['ls'], ['redrive'], ['cancel'], ['reschedule'], ['repair']]) {
      const { code, out } = await run([...command, '--help'])
      expect(code).toBe(0)
      expect(out).toMatch(/Usage: taskstream[\s\S]*Examples:\n {2}\S/)
    }
  })

  test('does not mind a reader that has read enough', async () => {
    await fixture.nextTopic()
    await fixture.push(...Array.from({ length: 5_000 }, (_, index) => ({ identifier: `i${index}`, input: 'x'.repeat(100) })))
    const { code, err } = await run(['ls', fixture.topic, '--size', '5000', '-o', 'ndjson', '--url', url], { closeEarly: true })
    expect([code, err]).toEqual([0, ''])
  })
})
