/** What was done by mistake is undone by one command, and without a command the command line says what needs attention. */
import { TaskDecision } from '@taskstream/task-api'
import { useFixture } from '@taskstream/task-testing/suite'
import { beforeAll, describe, expect, test } from 'vitest'
import { canRun, engine } from '../subject.ts'
import { follow, run, urlOf } from './command-line.ts'
import type { Run } from './command-line.ts'

describe.skipIf(!canRun)('undoing on the command line', () => {
  const fixture = useFixture(engine)
  let url = ''
  beforeAll(() => void (url = urlOf(fixture.subject)))
  const taskstream = (...args: readonly string[]): Promise<Run> => run([...args, '--url', url])
  const failed = async (count: number): Promise<string> => {
    await fixture.nextTopic()
    await fixture.push(...Array.from({ length: count }, (_, index) => `i${index}`))
    await fixture.complete(await fixture.poll(count), TaskDecision.failure('no'))
    return fixture.topic
  }
  /** The id in `audit: …; undo: taskstream undo …`. */
  const auditOf = ({ err }: Run): string => /audit: (\w+); undo: taskstream undo \1\n/.exec(err)![1]!

  test('takes a redrive back, but for the tasks that have run since, and the audit shows it', async () => {
    const topic = await failed(3)
    const id = auditOf(await taskstream('redrive', topic, '--yes'))
    await fixture.complete(await fixture.poll(1))
    const left = 'left as they are: 1, run since, or at work now\n'
    expect(await taskstream('undo', id, '--dry-run')).toEqual({
      code: 0,
      out: `would be undone: 2 of 3 (redrive of ${topic})\n${left}`,
      err: '',
    })
    expect(await fixture.states()).toEqual({ ready: 2, succeeded: 1 })
    expect(await taskstream('undo', id, '--note', 'too early')).toEqual({
      code: 0,
      out: `undone: 2 of 3 (redrive of ${topic})\n${left}`,
      err: '',
    })
    expect(await fixture.states()).toEqual({ failed: 2, succeeded: 1 })
    expect(JSON.parse((await taskstream('audit', topic, '-o', 'json')).out)).toMatchObject([
      { action: 'undo', undoes: id, count: 2, note: 'too early', via: 'cli' },
      { action: 'redrive', id, count: 3, undone: 'yes' },
    ])
    expect((await taskstream('audit', topic)).out).toMatch(/redrive .* 3 .*yes/)
    expect(await taskstream('undo', id)).toMatchObject({ code: 5, err: expect.stringContaining('ACTION_UNDONE') })
    expect(await taskstream('undo', `${id}u`)).toMatchObject({ code: 5, err: expect.stringContaining('ACTION_FINAL') })
    expect(await taskstream('undo', 'nothing')).toMatchObject({ code: 3, err: expect.stringContaining('ACTION_UNKNOWN') })
  })

  test('takes back what was cancelled, moved, paused and limited, and says why a purge stays', async () => {
    const topic = await failed(1)
    await fixture.push('a', { identifier: 'b', delayMs: 3_600_000 })
    const before = await fixture.page()
    const b = `@${before[2]!.sequence}`
    for (const command of [
      ['cancel', topic, '--state', 'ready', '--yes'],
      ['cancel', topic, b],
      ['run-now', topic, b],
      ['reschedule', topic, b, '--priority', '3'],
    ]) {
      const id = auditOf(await taskstream(...command))
      expect(await taskstream('undo', id)).toMatchObject({ code: 0, out: expect.stringMatching(/^undone: 1 of 1 \(/) })
      expect(await fixture.page()).toEqual(before)
    }
    const paused = auditOf(await taskstream('pause', topic))
    expect((await taskstream('undo', paused)).code).toBe(0)
    expect((await taskstream('resume', topic)).out).toBe(`already resumed: ${topic}\n`)
    const limited = auditOf(await taskstream('limits', topic, '--total', '3'))
    expect((await taskstream('undo', limited)).code).toBe(0)
    const purged = await taskstream('purge', topic, '--state', 'failed', '--yes')
    const id = /audit: (\w+); nothing undoes it\n/.exec(purged.err)![1]!
    expect(await taskstream('undo', id)).toMatchObject({
      code: 5,
      err: expect.stringMatching(/cannot be undone: the tasks are deleted.*ACTION_FINAL/),
    })
  })

  test('takes back that a process takes no more tasks, and says of timers and topics why that stays', async () => {
    const topic = await failed(1)
    const node = await fixture.owner('worker')
    const report = { kind: 'node', host: 'h', pid: 1, leaseMs: 30_000, topics: [{ topic }] } as const
    await fixture.commit((transaction) => node.report(transaction, report))
    const quieted = await taskstream('node', 'quiet', node.owner, '--note', 'moves')
    expect(quieted.out).toBe(`${node.owner} is asked to take no more tasks, and does so when it reports next\n`)
    expect(await taskstream('node', 'quiet', node.owner)).toEqual({
      code: 0,
      out: `${node.owner} is already asked to take no more tasks\n`,
      err: '',
    })
    const id = auditOf(quieted)
    expect((await taskstream('audit', '--limit', '1')).out).toMatch(new RegExp(`node quiet .*${node.owner} .*moves .*${id}`))
    expect((await taskstream('undo', id)).out).toBe('undone: 1 of 1 (node quiet)\n')
    expect(await taskstream('node', 'resume', node.owner)).toMatchObject({
      out: expect.stringContaining('already asked to take tasks'),
    })
    for (const [command, why] of [
      [['periodic', 'add', topic, 'daily', topic], /remove the timer: taskstream periodic rm/],
      [['periodic', 'add', topic, 'yearly', topic, '--replace'], /what the timer was before is not kept/],
      [['periodic', 'rm', topic], /what the timer was is not kept/],
      [['topic', 'create', `beside ${topic}`], /taskstream topic destroy/],
    ] as const) {
      const final = /audit: (\w+); nothing undoes it\n/.exec((await taskstream(...command)).err)![1]!
      expect(await taskstream('undo', final)).toMatchObject({ code: 5, err: expect.stringMatching(why) })
    }
    expect((await taskstream('audit', topic)).out).toMatch(new RegExp(`timer change +${topic} +${topic} `))
  })

  test('says no if nothing can be undone any more', async () => {
    const topic = await failed(1)
    const id = auditOf(await taskstream('redrive', topic, '--yes'))
    await fixture.complete(await fixture.poll())
    expect(await taskstream('undo', id)).toMatchObject({ code: 4, out: expect.stringMatching(/^undone: 0 of 1 /) })
  })

  test('takes back what was done before Ctrl-C', async () => {
    const topic = await failed(150)
    await using redrive = follow(['redrive', topic, '--yes', '--rate', '25/s', '--url', url])
    await expect.poll(async () => (await fixture.states())['ready'] ?? 0).toBeGreaterThan(0)
    const { err } = await redrive.interrupt()
    const id = auditOf({ code: 130, out: '', err })
    const { ready } = await fixture.states()
    expect((await taskstream('undo', id)).out).toMatch(new RegExp(`^undone: ${ready} of ${ready} `))
    expect(await fixture.states()).toEqual({ failed: 150 })
  })

  test('is not needed to see what needs attention: without a command that is said, or the help', async () => {
    await failed(1)
    expect(await run([], { url })).toMatchObject({ code: 4, out: expect.stringContaining('failing-new') })
    const without = await run([])
    expect(without.err + without.out).toMatch(/Usage: taskstream/)
  })
})
