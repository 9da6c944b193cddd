/** What an operator asks in an incident, each answered by one command. */
import { TaskDecision } from '@taskstream/task-api'
import type { ErrorGroup } from '@taskstream/task-api'
import { raw, sql } from '@taskstream/task-sql'
import { periodicTasks } from '@taskstream/task-scheduler'
import { useFixture } from '@taskstream/task-testing/suite'
import { beforeAll, describe, expect, test } from 'vitest'
import { canRun, engine } from '../subject.ts'
import type { Tasks } from '../subject.ts'
import { run, urlOf } from './command-line.ts'

describe.skipIf(!canRun)('an operator in an incident', () => {
  const fixture = useFixture(engine)
  let url = ''
  beforeAll(() => void (url = urlOf(fixture.subject)))

  const ask = async (
    ...args: readonly string[]
  ): Promise<{ readonly code: number | null; readonly out: string; readonly err: string }> => {
    const { code, out, err } = await run([...args, '--url', url])
    return { code, out, err }
  }
  const json = async <Value>(...args: readonly string[]): Promise<Value> =>
    JSON.parse((await ask(...args, '--json')).out) as Value
  const ownerOf = async (release: string): Promise<Tasks> => {
    const tasks = fixture.subject.tasks({ release, owner: `worker-${release}` })
    await fixture.commit((transaction) => tasks.register(transaction))
    await fixture.commit((transaction) =>
      tasks.report(transaction, { kind: 'node', host: 'h', pid: 1, leaseMs: 30_000, topics: [{ topic: fixture.topic }] }),
    )
    return tasks
  }
  /** Moves a row's instant into the past. */
  const age = (table: 'owner' | 'activation' | 'task' | 'periodic', column: string, ms: number): Promise<unknown> => {
    const set = fixture.tasks.verb(function* ({ dialect }) {
      const earlier = dialect.expr.instant(sql`${Date.now() - ms}`)
      yield sql`update ${dialect.tables[table]} set ${raw(column)} = ${earlier}`
    })
    return fixture.commit((transaction) => set(transaction))
  }

  test('finds a worker that has died: what it holds, and that nobody took it', async () => {
    const worker = await ownerOf('1')
    const [task] = await fixture.push('a')
    await fixture.poll(1, worker)
    await age('owner', 'heartbeat', 600_000)
    const { out } = await ask('why', fixture.topic, `@${task!.sequence}`)
    expect(out).toMatch(/^owner-dead: a @\d+ held by worker-1:\w+ \(release 1\), which is dead/)
    expect(out).toContain(`try: start a process that processes topic ${fixture.topic}`)
    expect((await ask('nodes', 'worker-1')).out).toMatch(new RegExp(`${fixture.topic} .* a `))
    expect(await ask('attention')).toMatchObject({
      code: 4,
      out: expect.stringMatching(/owner-silent +worker-1 died without a word/),
    })
  })

  test('sees who fires timers, and means a node by the beginning of its name, not the scheduler beside it', async () => {
    const worker = await ownerOf('timed')
    const report = { kind: 'scheduler', host: 'h', pid: 1, leaseMs: 90_000, topics: [] } as const
    await fixture.commit((transaction) => worker.report(transaction, report))
    const [, line = ''] = /^(.*\/timers .*)$/m.exec((await ask('nodes')).out) ?? []
    expect(line).toMatch(/living .*\(timers\)/)
    expect(await json('nodes', 'worker-timed')).toMatchObject({ owner: worker.owner, report: { kind: 'node' } })
    expect(await json('nodes', `${worker.owner}/timers`)).toMatchObject({ report: { kind: 'scheduler' } })
    expect(await ask('node', 'quiet', `${worker.owner}/ti`)).toMatchObject({ code: 0 })
    expect(await json('nodes', `${worker.owner}/timers`)).toMatchObject({ quiet: true })
  })

  test('finds the task that poisons an identifier, and goes on', async () => {
    await fixture.nextTopic({ condition: 'singular-by-identifier-suspend-on-failure' })
    const worker = await ownerOf('2')
    const [first, second] = await fixture.push('inv-7', 'inv-7')
    await fixture.complete(await fixture.poll(1, worker), TaskDecision.failure(new Error('insufficient funds')), worker)
    const { out } = await ask('why', fixture.topic, 'inv-7')
    expect(out).toContain(
      `out-of-turn: inv-7 @${second!.sequence} waits for its turn: ${fixture.topic}/inv-7@${first!.sequence} comes first`,
    )
    expect(out).toMatch(/failed .* ago \(Error: insufficient funds\)/)
    const [, command] = /try: taskstream (redrive .*)/.exec(out)!
    expect(await ask(...command!.split(' '))).toMatchObject({ code: 0 })
    expect(await ask('why', fixture.topic, `@${first!.sequence}`, '--expect', 'next')).toMatchObject({ code: 0 })
    expect(await ask('why', fixture.topic, `@${second!.sequence}`, '--expect', 'next')).toMatchObject({ code: 4 })
  })

  test('finds the deploy that broke something: the error, its first release, and what it has failed', async () => {
    await fixture.nextTopic()
    const [old, bad] = [await ownerOf('4.2.0'), await ownerOf('4.2.1')]
    await fixture.push('a', 'b', 'c')
    await fixture.complete(await fixture.poll(1, old), TaskDecision.success(), old)
    await fixture.complete(await fixture.poll(2, bad), TaskDecision.failure(new TypeError('no total of order 12')), bad)
    const [group] = await json<ErrorGroup[]>('errors', fixture.topic)
    expect(group).toMatchObject({ count: 2, open: 2, firstRelease: '4.2.1', error: 'TypeError: no total of order 12' })
    expect((await ask('changes')).out).toMatch(/TypeError: no total of order 12, first seen in release 4\.2\.1/)
    const redrive = ['redrive', fixture.topic, '--error', group!.fingerprint] as const
    expect(await ask(...redrive, '--dry-run')).toMatchObject({ code: 0, out: expect.stringContaining('2') })
    expect(await ask('errors', fixture.topic, 'nobody')).toMatchObject({ code: 3 })
  })

  test('finds a topic that was paused and forgotten: by whom, and why', async () => {
    await fixture.nextTopic()
    await ownerOf('5')
    const [task] = await fixture.push('a')
    expect(await ask('pause', fixture.topic, '--note', 'the bank is down')).toMatchObject({ code: 0 })
    await age('activation', 'changed', 3 * 86_400_000)
    const { out } = await ask('why', fixture.topic, `@${task!.sequence}`)
    expect(out).toMatch(/^paused: a @\d+ topic \S+ was paused 3 d ago by \S+@\S+: the bank is down\n/)
    expect(out).toContain(`try: taskstream resume ${fixture.topic}`)
    expect((await ask('attention')).out).toMatch(/paused-long +.*the bank is down/)
    expect((await ask('audit', fixture.topic)).out).toMatch(/pause +\S+ .*the bank is down/)
    await ask('resume', fixture.topic)
  })

  test('finds a storm of retries', async () => {
    await fixture.nextTopic()
    const worker = await ownerOf('6')
    await fixture.push(...Array.from({ length: 30 }, (_, index) => `t${index}`))
    await fixture.complete(
      await fixture.poll(30, worker),
      TaskDecision.retry({ afterMs: 60_000 }, new Error('HTTP 503 from bank')),
      worker,
    )
    expect((await ask('attention')).out).toMatch(
      /crit +failing-new +\S+: 30 × Error: HTTP 503 from bank, first seen .* in release 6/,
    )
    expect((await ask('next', fixture.topic)).out).toMatch(/due +\d+ +t0/)
  })

  test('finds a timer that nobody fires', async () => {
    await fixture.nextTopic()
    const timers = periodicTasks(fixture.tasks)
    await fixture.commit((transaction) => timers.schedule(transaction, { id: 'nightly', timer: 'hourly', topic: fixture.topic }))
    await age('periodic', 'due', 3_600_000)
    expect((await ask('attention')).out).toMatch(/crit +timer-overdue +timer nightly .* was due 1 h ago/)
    await fixture.commit((transaction) => timers.remove(transaction, 'nightly'))
  })

  test('is told what there is not, and nothing that would disturb a terminal', async () => {
    await fixture.nextTopic()
    expect(await ask('why', fixture.topic, '@4711')).toMatchObject({ code: 3 })
    expect(await ask('why', 'nobody', '@4711')).toMatchObject({ code: 3 })
    expect(await ask('nodes', 'nobody')).toMatchObject({ code: 3 })
    expect(await ask('why', fixture.topic, '@1', '--expect', 'nonsense')).toMatchObject({ code: 2 })
    const worker = await ownerOf('7')
    const [task] = await fixture.push('\u001B[2Jwipe\u202E')
    await fixture.complete(await fixture.poll(1, worker), TaskDecision.failure('\u001B[31mred\nline'), worker)
    for (const args of [
      ['why', fixture.topic, `@${task!.sequence}`],
      ['errors', fixture.topic],
      ['changes'],
      ['next'],
      ['attention'],
      ['nodes'],
    ]) {
      const { out } = await ask(...args)
      // oxlint-disable-next-line no-control-regex -- these are what must not be there
      expect(out).not.toMatch(/[\u001B\u202E]/)
    }
  })
})
