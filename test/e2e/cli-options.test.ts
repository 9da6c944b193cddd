/** The options of the command line for tasks, filters and timers reach the repository. */
import { TaskDecision } from '@taskstream/task-api'
import type { Task } from '@taskstream/task-api'
import { useFixture } from '@taskstream/task-testing/suite'
import { beforeAll, describe, expect, test } from 'vitest'
import { canRun, engine } from '../subject.ts'
import { run, urlOf } from './command-line.ts'
import type { Run } from './command-line.ts'

/** What is said of an action that has a record, and how its id looks. */
const undoLine = /^audit: \w+; (undo: taskstream undo \w+|nothing undoes it)\n$/
const anId = expect.stringMatching(/^[\w-]+$/) as unknown

describe.skipIf(!canRun)('the command line', () => {
  const fixture = useFixture(engine)
  let url = ''
  beforeAll(async () => {
    url = urlOf(fixture.subject)
  })
  const taskstream = (...args: readonly string[]): Promise<Run> => run([...args, '--url', url])
  const json = async (...args: readonly string[]): Promise<unknown> => {
    const { code, out, err } = await taskstream(...args, '--json')
    expect([code, err.replace(undoLine, '')]).toEqual([0, ''])
    return JSON.parse(out)
  }

  test('hands on what is said of tasks', async () => {
    await fixture.nextTopic({ order: 'priority', keyed: true })
    await taskstream('push', fixture.topic, 'late', '--delay-ms', '3600000', '--priority', '7', '--input', 'first')
    await taskstream('push', fixture.topic, 'late', '--insertion', 'replace', '--priority', '2')
    const line = '{"identifier":"read","reference":"r","deadline":"2100-01-01T00:00:00Z","priority":5}'
    await run(['push', fixture.topic, 'named', '--stdin', '--url', url], { stdin: line })
    expect(await fixture.page()).toMatchObject([
      { identifier: 'late', state: 'redundant', input: 'first', priority: 7 },
      { identifier: 'late', state: 'ready', priority: 2 },
      { identifier: 'named', state: 'ready', priority: 0 },
      { identifier: 'read', reference: 'r', deadline: new Date('2100-01-01T00:00:00Z'), priority: 5 },
    ])
    expect((await taskstream('topics', '--limit', '2')).out).toMatch(new RegExp(`${fixture.topic} +2\\+ +0 +0 .*priority +none`))
  })

  test('hands on what is said of each task that is read, too', async () => {
    await fixture.nextTopic()
    const stdin = '{"identifier":"plain"}\n{"identifier":"own","input":"mine","due":"2100-01-01T00:00:00Z"}\n'
    const options = ['--delay-ms', '3600000', '--input', 'each', '--priority', '4', '--url', url]
    await run(['push', fixture.topic, '--stdin', ...options], { stdin })
    expect(await fixture.page()).toMatchObject([
      { identifier: 'plain', state: 'suspended', input: 'each', priority: 4 },
      { identifier: 'own', state: 'suspended', input: 'mine', priority: 4, due: new Date('2100-01-01T00:00:00Z') },
    ])
  })

  test('hands on what is said of which tasks are meant', async () => {
    await fixture.nextTopic()
    await fixture.push('a', 'b', { identifier: 'c', reference: 'r' })
    const [first, second, third] = (await fixture.page()).map(({ sequence }) => sequence)
    const listed = async (...args: readonly string[]): Promise<unknown[]> => {
      const { out } = await taskstream('ls', fixture.topic, '-o', 'ndjson', ...args)
      const lines = out.split('\n').filter((each) => each !== '')
      return lines.map((each) => (JSON.parse(each) as { sequence: number }).sequence)
    }
    expect(await listed('--after', `${first}`, '--state', 'ready')).toEqual([second, third])
    expect(await listed('--before', `${second}`)).toEqual([first])
    expect(await listed('--reference', 'r')).toEqual([third])
    expect(await listed('--from', `${first}`, '--to', `${second}`, '--identifier', 'b')).toEqual([second])
    await fixture.complete(await fixture.poll(3), TaskDecision.failure())
    expect((await taskstream('redrive', fixture.topic, '--dry-run', '--limit', '2')).out).toBe(
      `would be ready again: 2, sequences ${first} to ${second}\n`,
    )
    expect(await listed('--state', 'failed, ready')).toEqual([first, second, third])
    const { out } = await taskstream('redrive', fixture.topic, '--from', `${third}`, '--yes', '-o', 'json')
    expect(JSON.parse(out)).toEqual({ count: 1, first: third, last: third, audit: anId, dryRun: false })
    expect((await taskstream('redrive', fixture.topic, '--identifier', 'nobody')).out).toBe('ready again: 0\n')
  })

  test('cancels and reschedules the tasks that are named, and says which', async () => {
    await fixture.nextTopic({ keyed: true })
    const [a, b, c, d] = await fixture.push('a', 'b', { identifier: 'c', externalId: 'x 1' }, 'd')
    const [held] = await fixture.poll(1)
    const name = (task: Task): string => `${task.topic}/${task.identifier}@${task.sequence}`
    const key = ({ topic, sequence, identifier }: Task): Task => ({ topic, sequence, identifier })
    const when = ['--due', '2100-01-01T00:00:00Z', '--deadline', '2100-01-02', '--priority', '7']
    expect((await taskstream('reschedule', fixture.topic, `@${a!.sequence}`, `${b!.sequence}`, ...when)).out).toBe(
      `rescheduled ${name(b!)}\nrescheduled: 1\n`,
    )
    expect(await json('reschedule', fixture.topic, 'ext:x 1', '--delay-ms', '0', '--deadline', 'none')).toEqual({
      rescheduled: [key(c!)],
      audit: anId,
    })
    const due = new Date('2100-01-01T00:00:00Z')
    expect((await fixture.page())[1]).toMatchObject({ state: 'suspended', due, deadline: new Date('2100-01-02'), priority: 7 })
    expect((await taskstream('cancel', fixture.topic, `@${held!.sequence}`, `@${b!.sequence}`)).out).toBe(
      `cancelled ${name(a!)}, which was at work\ncancelled ${name(b!)}\ncancelled: 2\n`,
    )
    expect(await json('cancel', fixture.topic, 'd')).toEqual({ cancelled: [key(d!)], taken: [], audit: anId })
    expect(await taskstream('cancel', fixture.topic, 'ext:nobody', 'id:c')).toEqual({
      code: 3,
      out: `cancelled ${name(c!)}\ncancelled: 1\n`,
      err: expect.stringMatching(/^audit: .*\nerror: no task ext:nobody in topic/),
    })
    expect(await taskstream('cancel', fixture.topic, 'a')).toEqual({
      code: 0,
      out: 'cancelled: 0\n',
      err: `a stays as it is: @${a!.sequence} is filtered\n`,
    })
    expect(await fixture.states()).toEqual({ filtered: 4 })
  })

  test('refuses what names no tasks or no instant, and says how to', async () => {
    await fixture.nextTopic()
    await fixture.push('a')
    const before = await fixture.page()
    const cases: readonly (readonly [readonly string[], number, RegExp])[] = [
      [['cancel', fixture.topic], 2, /which tasks\? Name them, or choose them by --state/],
      [['cancel', fixture.topic, '@1', '--state', 'ready'], 2, /give tasks, or a filter, but not both/],
      [['cancel', fixture.topic, '--state', 'succeeded'], 2, /succeeded cannot be cancelled, only active/],
      [['reassign', fixture.topic, '--result', 'success'], 2, /Give one --state/],
      [['reassign', fixture.topic, '--result', 'success', '--state', 'succeeded'], 2, /are succeeded already/],
      [['purge', fixture.topic, '--older-than', '1d', '--changed-before', '2027-01-01'], 2, /cannot be given together/],
      [['purge', fixture.topic, '--rate', '50'], 2, /such as 50\/s/],
      [['redrive', fixture.topic, '--limit', '0'], 2, /at least 1/],
      [['redrive', fixture.topic, '--try', '-1'], 2, /at least 1/],
      [['cancel', fixture.topic, '@a'], 2, /task must be @4711, ext:<external id>.*: "@a"/],
      [['cancel', fixture.topic, 'id:'], 2, /task must be/],
      [['cancel', fixture.topic, 'a'], 1, /Name the task by its sequence.*TOPIC_NOT_KEYED/],
      [['cancel', 'nowhere', '@1'], 3, /no topic "nowhere".*TOPIC_UNKNOWN/],
      [['reschedule', fixture.topic, '@1'], 2, /must say what is to change/],
      [['reschedule', fixture.topic, '@1', '--due', 'soon'], 2, /--due must be an instant such as/],
      [['reschedule', fixture.topic, '@1', '--deadline', 'never'], 2, /--deadline must be an instant such as/],
    ]
    for (const [args, ending, error] of cases) {
      const { code, out, err } = await taskstream(...args)
      expect([args, code, out]).toEqual([args, ending, ''])
      expect(err).toMatch(error)
    }
    expect(await fixture.page()).toEqual(before)
  })

  test('shows the limits of topics, and changes those that are given', async () => {
    await fixture.nextTopic()
    const { topic } = fixture
    expect(await json('limits', topic)).toEqual({})
    expect(await json('limits', topic, '--total', '10', '--rate', '100/60000', '--max-entries', '5')).toEqual({
      [topic]: { total: 10, rate: { count: 100, perMs: 60_000 }, maxEntries: { count: 5, whenFull: 'reject' } },
    })
    expect((await taskstream('limits', topic, '--total', 'none', '--when-full', 'drop-oldest')).out).toMatch(
      new RegExp(`${topic} +100 in 1min +5 {2}drop-oldest\n`),
    )
    expect(await json('limits')).toMatchObject({ [topic]: { maxEntries: { count: 5, whenFull: 'drop-oldest' } } })
    const cases: readonly (readonly [readonly string[], number, RegExp])[] = [
      [['limits', '--total', '1'], 2, /topic must be given with --total/],
      [['limits', topic, '--total', 'ten'], 2, /--total must be a whole number, or "none"/],
      [['limits', topic, '--rate', '5'], 2, /--rate must be a count and milliseconds, such as 100\/60000/],
      [['limits', topic, '--max-entries', 'none', '--when-full', 'reject'], 2, /--when-full must stand beside --max-entries/],
      [['limits', 'nowhere'], 3, /no topic "nowhere".*TOPIC_UNKNOWN/],
      [['limits', topic, '--dead-letter', 'nowhere'], 3, /no topic "nowhere".*TOPIC_UNKNOWN/],
    ]
    for (const [args, ending, error] of cases) {
      const { code, err } = await taskstream(...args)
      expect([args, code]).toEqual([args, ending])
      expect(err).toMatch(error)
    }
    expect(await json('limits', topic, '--rate', 'none', '--max-entries', 'none')).toEqual({ [topic]: {} })
  })

  test('hands on what is said of a timer', async () => {
    await fixture.nextTopic()
    const said = {
      input: 'in',
      identifier: 'who',
      name: 'kind',
      summary: 'for what',
      priority: 3,
      maxTries: 4,
      misfire: 'catch-up',
      lateMs: 5_000,
      whileUnfinished: 'push',
      jitterMs: 6,
      start: '2100-01-01T00:00:00.000Z',
      end: '2101-01-01T00:00:00.000Z',
      maxCount: 7,
    }
    const options = Object.entries(said).flatMap(([name, value]) => [
      `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`,
      String(value),
    ])
    const add = ['periodic', 'add', 'all', 'daily', fixture.topic, '--scope', 'own']
    expect(await json(...add, ...options, '--paused')).toMatchObject({
      done: 'added',
      id: 'all',
      scope: 'own',
      status: 'paused',
      ...said,
    })
    expect((await taskstream(...add, '--replace', '--paused')).out).toBe('changed: all, next when it is resumed\n')
    expect((await taskstream('periodic', 'ls', '--name', 'kind')).out).not.toContain('all')
    expect((await taskstream('periodic', 'ls')).out).toMatch(/own +all +daily /)
    expect((await taskstream('periodic', 'add', 'x', 'daily', fixture.topic, '--start', 'soon')).err).toMatch(
      /^error: --start must be an instant, such as .*: "soon" \(ARGUMENT_INVALID\)/,
    )
    expect((await taskstream('periodic', 'add', 'x', 'daily', fixture.topic, '--misfire', 'never')).code).toBe(2)
    expect(await json('periodic', 'rm', 'all', '--scope', 'own')).toEqual({ removed: ['all'], audit: expect.any(String) })
  })
})
