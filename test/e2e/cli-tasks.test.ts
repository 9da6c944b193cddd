/** The command line on single tasks: shows, counts, exports, waits for and follows them. */
import { TaskDecision } from '@taskstream/task-api'
import type { TaskInfo } from '@taskstream/task-api'
import { beforeAll, describe, expect, test } from 'vitest'
import { useFixture } from '@taskstream/task-testing/suite'
import { canRun, engine } from '../subject.ts'
import { follow, run, urlOf } from './command-line.ts'
import type { Run } from './command-line.ts'

describe.skipIf(!canRun)('the command line, of tasks', () => {
  const fixture = useFixture(engine)
  let url = ''
  beforeAll(async () => {
    url = urlOf(fixture.subject)
  })
  const taskstream = (...args: readonly string[]): Promise<Run> => run([...args, '--url', url])
  const json = async (...args: readonly string[]): Promise<unknown> => {
    const { code, out, err } = await taskstream(...args, '-o', 'json')
    expect([code, err]).toEqual([0, ''])
    return JSON.parse(out)
  }
  const lines = (out: string): unknown[] =>
    out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown)

  test('shows a task by any of its names, its attempts, and its payload only if asked to', async () => {
    await fixture.nextTopic({ keyed: true })
    const { topic } = fixture
    const [a] = await fixture.push({
      identifier: 'inv-7',
      externalId: 'order 7',
      input: 'hidden-input',
      headers: { h: 'hidden-header' },
    })
    await fixture.complete(await fixture.poll(1), TaskDecision.failure(new Error('card declined')))
    const [b] = await fixture.push({ identifier: 'inv-7', input: 'later-input' })
    for (const name of [`${a!.sequence}`, `@${a!.sequence}`, 'ext:order 7']) {
      const { out, code } = await taskstream('show', topic, name)
      expect([name, code]).toEqual([name, 0])
      expect(out).toMatch(new RegExp(`^task +${topic}/inv-7@${a!.sequence}\nstate +failed\n`))
      expect(out).toMatch(/input +12 characters; --reveal shows them\n/)
      expect(out).toMatch(/attempt +outcome +ended.*\n +1 +failed +\d+s? .*Error: card declined/)
      expect(out).not.toMatch(/hidden-|at file:/)
    }
    // Of an identifier the task that is still to be done, and if there is none the latest.
    expect(await json('show', topic, 'inv-7')).toMatchObject({ sequence: b!.sequence })
    await fixture.complete(await fixture.poll(1), TaskDecision.success())
    expect(await json('show', topic, 'id:inv-7')).toMatchObject({ sequence: b!.sequence, state: 'succeeded' })
    const revealed = (await taskstream('show', topic, `@${a!.sequence}`, '--reveal')).out
    expect(revealed).toMatch(/input, 12 characters\nhidden-input\n/)
    expect(revealed).toMatch(/\{"h":"hidden-header"\}/)
    expect(await json('show', topic, `@${a!.sequence}`)).toEqual(expect.not.objectContaining({ input: expect.anything() }))
    expect(await json('show', topic, `@${a!.sequence}`, '--reveal')).toMatchObject({
      input: 'hidden-input',
      attempts: [{ attempt: 1, outcome: 'failed', message: expect.stringContaining('card declined') }],
    })
    for (const name of ['@9007199254740991', 'ext:nobody', 'id:nobody'])
      expect(await taskstream('show', topic, name)).toMatchObject({
        code: 3,
        out: '',
        err: expect.stringMatching(/^error: no task .* in topic .*taskstream ls/),
      })
  })

  test('counts up to a limit, or exactly if asked to', async () => {
    await fixture.nextTopic()
    await fixture.push('a', 'b', 'c', { identifier: 'd', delayMs: 3_600_000 })
    expect(await json('count', fixture.topic, '--limit', '2')).toEqual([
      { topic: fixture.topic, state: 'ready', count: 2, isLeast: true },
      { topic: fixture.topic, state: 'active', count: 0 },
      { topic: fixture.topic, state: 'delayed', count: 1 },
    ])
    expect((await taskstream('count', fixture.topic, '--limit', '2')).out).toMatch(/ready +2\+\n.* active +0\n/)
    expect(await json('count', fixture.topic, '--exact', '--recent', '--state', 'ready')).toMatchObject([
      { state: 'ready', count: 3 },
    ])
  })

  test('exports every task that meets a filter, in portions, and goes on after the last one', async () => {
    await fixture.nextTopic()
    await fixture.push(...Array.from({ length: 120 }, (_, index) => ({ identifier: `i${index}`, input: `in-${index}` })))
    const all = await fixture.commit<TaskInfo[]>((transaction) => fixture.tasks.page(transaction, fixture.topic, { size: 200 }))
    const plain = lines((await taskstream('export', fixture.topic)).out) as { sequence: number }[]
    expect(plain.map(({ sequence }) => sequence)).toEqual(all.map(({ sequence }) => sequence))
    expect(plain[0]).not.toHaveProperty('input')
    const revealed = lines((await taskstream('export', fixture.topic, '--reveal', '--identifier', 'i7')).out)
    expect(revealed).toMatchObject([{ identifier: 'i7', input: 'in-7' }])
    const rest = lines(
      (await taskstream('export', fixture.topic, '--reveal', '--after', `${all[9]!.sequence}`, '--limit', '101')).out,
    )
    expect(rest).toHaveLength(101)
    expect(rest[0]).toMatchObject({ identifier: 'i10', input: 'in-10' })
    const last = `${all.at(-1)!.sequence}`
    expect(await taskstream('export', fixture.topic, '--after', last)).toEqual({ code: 0, out: '', err: '' })
  })

  test('makes delayed tasks ready now', async () => {
    await fixture.nextTopic()
    const [a] = await fixture.push({ identifier: 'a', externalId: 'x', delayMs: 3_600_000 })
    expect((await taskstream('run-now', fixture.topic, 'ext:x')).out).toMatch(/^rescheduled .*\/a@\d+\nrescheduled: 1\n$/)
    expect(await fixture.states()).toEqual({ ready: 1 })
    expect(await taskstream('run-now', fixture.topic, `@${a!.sequence}`, 'ext:gone')).toMatchObject({
      code: 3,
      err: expect.stringMatching(/no task ext:gone/),
    })
  })

  test('waits until a task has ended, and says so if it does not or ends otherwise', async () => {
    await fixture.nextTopic()
    const [a] = await fixture.push('a')
    const name = `${fixture.topic}/a@${a!.sequence}`
    expect(await taskstream('wait', fixture.topic, `@${a!.sequence}`, '--timeout', '10ms')).toEqual({
      code: 4,
      out: '',
      err: `error: ${name} is still ready after 10ms, not ended\n`,
    })
    expect((await taskstream('wait', fixture.topic, `@${a!.sequence}`, '--for', 'ready')).out).toBe(`ready: ${name}\n`)
    await using waiting = follow(['wait', fixture.topic, `@${a!.sequence}`, '--timeout', '600s', '--url', url])
    await fixture.complete(await fixture.poll(1), TaskDecision.failure())
    expect(await waiting.ended).toMatchObject({ code: 0, out: `failed: ${name}\n` })
    expect(await taskstream('wait', fixture.topic, `@${a!.sequence}`, '--for', 'succeeded')).toMatchObject({
      code: 4,
      err: `error: ${name} has ended, and is failed, not succeeded\n`,
    })
    expect(await taskstream('wait', fixture.topic, '@9007199254740991')).toMatchObject({ code: 3 })
    expect(await taskstream('wait', fixture.topic, '@1', '--timeout', 'soon')).toMatchObject({ code: 2 })
  })

  test('follows a topic: the last tasks first, then each new one once, until Ctrl-C', async () => {
    await fixture.nextTopic()
    await fixture.push('a', 'b', { identifier: 'c', input: 'hidden' })
    await using tail = follow(['tail', fixture.topic, '--lines', '2', '-n', '0.1', '-o', 'ndjson', '--url', url])
    await tail.until(/"c"/)
    await fixture.push('d')
    await tail.until(/"d"/)
    await fixture.push('e')
    await tail.until(/"e"/)
    const { code, out } = await tail.interrupt()
    expect(code).toBe(130)
    expect(lines(out).map((task) => (task as { identifier: string }).identifier)).toEqual(['b', 'c', 'd', 'e'])
    expect(out).not.toContain('hidden')
  })

  test('watches topics: without a terminal, a line for each change', async () => {
    await fixture.nextTopic()
    const { topic } = fixture
    await using watch = follow(['watch', topic, '-n', '0.1', '--url', url])
    await watch.until(/ready 0 active 0/)
    await fixture.push('a')
    await watch.until(/ready 1 active 0/)
    await fixture.poll(1)
    await watch.until(/ready 0 active 1/)
    const { code, out } = await watch.interrupt()
    expect(code).toBe(130)
    expect(out.replaceAll(/^\S+ /gm, '')).toBe(
      [`ready 0 active 0`, `ready 1 active 0`, `ready 0 active 1`].map((counts) => `${topic} ${counts} delayed 0\n`).join(''),
    )
    expect(await taskstream('watch', 'nowhere')).toMatchObject({ code: 3 })
  })

  test('shows the options of a topic, and destroys it only if that is confirmed', async () => {
    await fixture.nextTopic({ order: 'priority', condition: 'singular-by-identifier' })
    const { topic } = fixture
    await fixture.push('a')
    await taskstream('limits', topic, '--rate', '100/60000')
    expect((await taskstream('topic', 'options', topic)).out).toMatch(
      /^order +priority\ncondition +singular-by-identifier\n[^]*state +processed\n[^]*rate +100 in 1min\n/,
    )
    expect(await json('topic', 'options', topic)).toMatchObject({ order: 'priority', keyed: true, rate: { count: 100 } })
    expect((await taskstream('topic', 'destroy', topic, '--dry-run')).out).toMatch(/has 1 ready, 0 active and 0 delayed/)
    expect(await taskstream('topic', 'destroy', topic)).toMatchObject({ code: 5, err: expect.stringMatching(/give --yes/) })
    expect(await fixture.states()).toEqual({ ready: 1 })
    expect((await taskstream('topic', 'destroy', topic, '--yes')).out).toBe(`destroyed: ${topic}\n`)
    expect(await taskstream('topic', 'options', topic)).toMatchObject({ code: 3 })
    expect(await taskstream('topic', 'destroy', topic, '--yes')).toMatchObject({ code: 3 })
  })

  test('says which topic may have been meant', async () => {
    await fixture.nextTopic()
    await taskstream('topic', 'create', 'payments')
    expect((await taskstream('ls', 'paymnets')).err).toMatch(
      /^error: no topic "paymnets" in \S+; did you mean payments\? \(create it: taskstream topic create paymnets\) \(TOPIC_UNKNOWN\)\n$/,
    )
    expect((await taskstream('ls', 'elsewhere')).err).not.toMatch(/did you mean/)
    await taskstream('periodic', 'add', 'report', 'daily', 'payments')
    expect((await taskstream('periodic', 'run', 'reprot')).err).toMatch(/did you mean report\?/)
  })
})
