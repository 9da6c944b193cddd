/** Lists of the command line give what other commands and programs take: names, JSON and every fact of a task. */
import { TaskDecision } from '@taskstream/task-api'
import { useFixture } from '@taskstream/task-testing/suite'
import { beforeAll, describe, expect, test } from 'vitest'
import { canRun, engine } from '../subject.ts'
import { run, urlOf } from './command-line.ts'

describe.skipIf(!canRun)('lists of the command line', () => {
  const fixture = useFixture(engine)
  let url = ''
  beforeAll(() => void (url = urlOf(fixture.subject)))

  const outOf = async (...args: readonly string[]): Promise<string> => {
    const { code, out, err } = await run([...args, '--url', url])
    expect([code, err.replace(/^audit: .*\n$/, '')]).toEqual([0, ''])
    return out
  }
  const namesOf = async (...args: readonly string[]): Promise<string[]> => (await outOf(...args, '-o', 'name')).split('\n')
  const json = async (...args: readonly string[]): Promise<unknown> => JSON.parse(await outOf(...args, '--json')) as unknown

  test('name what they list as other commands take it', async () => {
    await fixture.nextTopic()
    const { topic } = fixture
    const [first, second] = await fixture.push('a', { identifier: 'b', delayMs: 3_600_000 })
    expect(await namesOf('ls', topic)).toEqual([`@${first!.sequence}`, `@${second!.sequence}`, ''])
    expect(await namesOf('next', topic)).toEqual([`@${first!.sequence}`, `@${second!.sequence}`, ''])
    expect(await namesOf('count', topic)).toEqual([topic, topic, topic, ''])
    expect(await namesOf('limits', topic, '--total', '3')).toEqual([topic, ''])
    expect(await namesOf('repair', topic)).toEqual([topic, ''])
    expect(await namesOf('topics')).toContain(topic)
    await outOf('periodic', 'add', `report-${topic}`, 'every:PT1H', topic)
    expect(await namesOf('next', topic)).toEqual([`@${first!.sequence}`, `@${second!.sequence}`, `report-${topic}`, ''])
    expect(await namesOf('periodic', 'ls')).toContain(`report-${topic}`)
    const [id] = JSON.parse(await outOf('audit', topic, '--limit', '1', '--json')) as readonly { readonly id: string }[]
    expect(await namesOf('audit', topic, '--limit', '1')).toEqual([id!.id, ''])
    const owner = `worker-${topic}`
    const tasks = fixture.subject.tasks({ owner })
    await fixture.commit((transaction) => tasks.register(transaction))
    await fixture.complete(await fixture.poll(1, tasks), TaskDecision.failure(new RangeError('no')), tasks)
    expect(await namesOf('nodes', '--since', '1h')).toContain(tasks.owner)
    const [group] = (await json('errors', topic)) as readonly { readonly fingerprint: string }[]
    expect(await namesOf('errors', topic)).toEqual([group!.fingerprint, ''])
    expect(await namesOf('show', topic, `@${first!.sequence}`)).toEqual([`@${first!.sequence}`, ''])
  })

  test('say what comes next: ready tasks, delayed ones with their instant, and timers, as many of each as asked for', async () => {
    await fixture.nextTopic()
    const { topic } = fixture
    const [first] = await fixture.push('a', 'b')
    const [later] = await fixture.push({ identifier: 'c', due: new Date('2099-01-01T00:00:00Z') })
    await outOf('periodic', 'add', `t-${topic}`, 'every:PT1H', topic)
    await outOf('periodic', 'add', `u-${topic}`, 'every:PT1H', topic)
    expect(await json('next', topic, '--limit', '1')).toEqual([
      { what: 'ready', topic, sequence: first!.sequence, identifier: 'a', at: expect.any(String) },
      { what: 'due', topic, sequence: later!.sequence, identifier: 'c', at: '2099-01-01T00:00:00.000Z' },
      { what: 'timer', topic, identifier: expect.stringMatching(`^[tu]-${topic}$`), at: expect.any(String) },
    ])
    expect(await json('next', topic)).toHaveLength(5)
    await outOf('periodic', 'pause', `t-${topic}`)
    expect(await json('next', topic)).toHaveLength(4)
  })

  test('are answered by what is done to a topic, too: with its name, and with what is recorded', async () => {
    await fixture.nextTopic()
    const topic = `${fixture.topic}-more`
    expect(await namesOf('topic', 'create', topic)).toEqual([topic, ''])
    expect(await json('topic', 'create', topic)).toMatchObject({ topic, created: false })
    expect(await namesOf('pause', topic)).toEqual([topic, ''])
    expect(await namesOf('resume', topic)).toEqual([topic, ''])
    expect(await outOf('topic', 'destroy', topic, '--dry-run')).toBe(
      `topic ${topic} has 0 ready, 0 active and 0 delayed tasks, and its history; all are deleted\n`,
    )
    expect(await json('topic', 'destroy', topic, '--dry-run')).toEqual({ topic, destroyed: false, dryRun: true })
    const destroyed = await run(['topic', 'destroy', topic, '--yes', '-o', 'name', '--url', url])
    expect(destroyed).toMatchObject({
      code: 0,
      out: `${topic}\n`,
      err: expect.stringMatching(/audit: \w+; nothing undoes it\n$/),
    })
    expect(await run(['work', topic, '--until-empty', '--url', url, '--', process.execPath])).toMatchObject({ code: 3, out: '' })
  })

  test('leave it to the exit code whether a task is as it was expected', async () => {
    await fixture.nextTopic()
    const [task] = await fixture.push('a')
    const why = ['why', fixture.topic, `@${task!.sequence}`]
    const { code } = (await json(...why)) as { readonly code: string }
    expect((await run([...why, '--url', url])).code).toBe(0)
    expect((await run([...why, '--expect', code, '--url', url])).code).toBe(0)
    // Of a task that there is not, there is nothing more to say.
    expect(await json('why', fixture.topic, '@9007199254740991', '--expect', 'unknown')).not.toHaveProperty('task')
    expect(await run([...why, '--expect', 'failed', '--url', url])).toMatchObject({
      code: 4,
      err: expect.stringContaining(`is ${code}, and not failed`) as string,
    })
  })

  test('show every fact of a task by its name, and none that it does not have', async () => {
    await fixture.nextTopic()
    const { topic } = fixture
    const tasks = fixture.subject.tasks({ owner: `shower-${topic}` })
    const [task] = await fixture.push({
      identifier: 'full',
      externalId: 'order 7',
      reference: 'run-7',
      priority: 3,
      deadline: new Date('2099-01-01T00:00:00Z'),
    })
    const factsOf = (out: string): readonly (readonly string[])[] =>
      out
        .trimEnd()
        .split('\n')
        .map((line) => [line.slice(0, 11).trimEnd(), line.slice(12)])
    const instant = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) as string
    const before = [
      ['task', `${topic}/full@${task!.sequence}`],
      ['state', 'ready'],
      ['tries', '0, taken 0 times'],
      ['priority', '3'],
      ['created', instant],
    ]
    const after = [
      ['deadline', '2099-01-01T00:00:00.000Z'],
      ['reference', 'run-7'],
      ['external id', 'order 7'],
    ]
    const show = ['show', topic, `@${task!.sequence}`, '-o', 'wide', '--utc']
    expect(factsOf(await outOf(...show))).toEqual([...before, ...after])
    await fixture.commit((transaction) => tasks.register(transaction))
    const polled = await fixture.poll(1, tasks)
    const active = factsOf(await outOf(...show))
    expect(active.map(([name]) => name)).toEqual([
      'task',
      'state',
      'tries',
      'priority',
      'created',
      'started',
      'deadline',
      'owner',
      'reference',
      'external id',
    ])
    expect(active).toContainEqual(['owner', tasks.owner])
    await fixture.complete(polled, TaskDecision.failure(new RangeError('no')), tasks)
    const ended = await outOf(...show)
    expect(
      factsOf(ended)
        .slice(0, 7)
        .map(([name]) => name),
    ).toEqual('task,state,tries,priority,created,started,ended'.split(','))
    expect(ended).toMatch(/^state {7}failed$/m)
    expect(ended).toMatch(/^ended {7}\d{4}-.*Z$/m)
    expect(ended).toMatch(/\n\nattempts that did not succeed\nattempt {2}outcome {2}ended .*owner\n {6}1 {2}failed {3}\d{4}-/)
    // On a terminal, too, an instant is followed by how long ago it was, or in how long it will be.
    expect(await outOf('show', topic, `@${task!.sequence}`)).toMatch(/^deadline {4}2099-\S+ .*\(in \d+\w+\)$/m)
    expect(await outOf('show', topic, `@${task!.sequence}`)).toMatch(/^created {5}\d{4}-\S+ .*\(\d+\w+ ago\)$/m)
  })

  test('show the options of a topic, each by its name', async () => {
    await fixture.nextTopic()
    const { topic } = fixture
    expect(await outOf('topic', 'options', topic)).toBe(
      'order         fifo\ncondition     none\nidentifiers   not in an index\nrecord        states\nstate         processed\ntotal         no limit\n' +
        'rate          no limit\nentries       no limit\ndead letters  nowhere\n',
    )
    await outOf('topic', 'create', 'dead')
    await outOf('limits', topic, '--total', '3', '--rate', '100/60000', '--max-entries', '50', '--dead-letter', 'dead')
    await outOf('pause', topic)
    const limits = {
      total: 3,
      rate: { count: 100, perMs: 60_000 },
      maxEntries: { count: 50, whenFull: 'reject' },
      deadLetter: 'dead',
    }
    expect(await json('topic', 'options', topic)).toEqual({
      topic,
      order: 'fifo',
      condition: 'none',
      keyed: false,
      record: 'states',
      paused: true,
      ...limits,
    })
    expect(await outOf('topic', 'options', topic)).toMatch(
      /state {9}paused\ntotal {9}3\nrate {10}100 in 1min\nentries {7}50, then reject\ndead letters {2}dead\n$/,
    )
    expect(await json('limits', topic)).toEqual({ [topic]: limits })
    await outOf('limits', topic, '--when-full', 'drop-oldest', '--total', 'none', '--dead-letter', 'none')
    expect(await json('limits', topic)).toEqual({
      [topic]: { rate: limits.rate, maxEntries: { count: 50, whenFull: 'drop-oldest' } },
    })
    await outOf('limits', topic, '--max-entries', '60')
    expect(await json('limits', topic)).toMatchObject({ [topic]: { maxEntries: { count: 60, whenFull: 'drop-oldest' } } })
    await outOf('limits', topic, '--rate', 'none', '--max-entries', 'none')
    expect(await json('limits', topic)).toEqual({})
    for (const wrong of [
      ['--when-full', 'reject'],
      ['--total', '3x'],
      ['--total', 'x3'],
      ['--rate', '100'],
      ['--rate', '1/2/3'],
      ['--rate', '/5'],
      ['--max-entries', 'none', '--when-full', 'reject'],
    ])
      expect([wrong, (await run(['limits', topic, ...wrong, '--url', url])).code]).toEqual([wrong, 2])
    expect(await run(['limits', '--total', '3', '--dead-letter', 'x', '--url', url])).toMatchObject({
      code: 2,
      err: expect.stringContaining('must be given with --total, --dead-letter') as string,
    })
  })
})
