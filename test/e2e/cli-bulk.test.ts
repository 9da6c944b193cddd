/** Commands that write many tasks: what was previewed is the most that happens, in portions, whoever else is at work. */
import { TaskDecision } from '@taskstream/task-api'
import { beforeAll, describe, expect, test } from 'vitest'
import { useFixture } from '@taskstream/task-testing/suite'
import { canRun, engine } from '../subject.ts'
import { follow, run, urlOf } from './command-line.ts'
import type { Run } from './command-line.ts'

describe.skipIf(!canRun)('the command line, on many tasks', () => {
  const fixture = useFixture(engine)
  let url = ''
  beforeAll(async () => {
    url = urlOf(fixture.subject)
  })
  const taskstream = (...args: readonly string[]): Promise<Run> => run([...args, '--url', url])
  const many = (count: number, given: object = {}): object[] =>
    Array.from({ length: count }, (_, index) => ({ identifier: `i${index}`, ...given }))
  /** Pushes tasks to a topic of their own, and has them fail. */
  const failed = async (count: number): Promise<void> => {
    await fixture.nextTopic()
    await fixture.push(...(many(count) as Parameters<typeof fixture.push>))
    await fixture.complete(await fixture.poll(count), TaskDecision.failure())
  }

  test('write only what is confirmed, up to a limit, and nothing in a dry run', async () => {
    await failed(5)
    const { topic } = fixture
    expect(await taskstream('redrive', topic)).toEqual({
      code: 5,
      out: '',
      err: expect.stringMatching(/^5 tasks of \S+ would be ready again, sequences \d+ to \d+\nerror: not confirmed.*give --yes/),
    })
    for (const command of [
      ['redrive', topic],
      ['purge', topic],
      ['reassign', topic, '--state', 'failed', '--result', 'success'],
      ['cancel', topic, '--state', 'ready'],
    ])
      expect(await taskstream(...command, '--dry-run', '-o', 'json')).toMatchObject({
        code: 0,
        err: '',
        out: expect.stringMatching(command[0] === 'cancel' ? /"count": 0,/ : /"count": 5,/),
      })
    expect(await fixture.states()).toEqual({ failed: 5 })
    expect((await taskstream('redrive', topic, '--limit', '2', '--yes')).out).toMatch(/^ready again: 2, /)
    expect((await taskstream('reassign', topic, '--state', 'failed', '--result', 'success', '--limit', '1', '--yes')).out).toBe(
      'now succeeded: 1\n',
    )
    expect((await taskstream('purge', topic, '--state', 'failed', '--limit', '1', '--yes')).out).toBe('deleted: 1\n')
    expect((await taskstream('cancel', topic, '--state', 'ready', '--limit', '1', '--yes')).out).toBe('cancelled: 1\n')
    expect(await fixture.states()).toEqual({ failed: 1, ready: 1, succeeded: 1, filtered: 1 })
  })

  test('go through more tasks than one portion has, and leave those that the filter leaves out', async () => {
    await failed(1_300)
    const { topic } = fixture
    await fixture.push(...(many(300, { reference: 'run-7' }) as Parameters<typeof fixture.push>))
    expect((await taskstream('redrive', topic, '--yes')).out).toMatch(/^ready again: 1300, /)
    expect((await taskstream('cancel', topic, '--reference', 'run-7', '--yes')).out).toBe('cancelled: 300\n')
    expect(await fixture.states()).toEqual({ ready: 1_300, filtered: 300 })
    expect((await taskstream('reassign', topic, '--state', 'filtered', '--result', 'success', '--yes')).out).toBe(
      'now succeeded: 300\n',
    )
    expect((await taskstream('cancel', topic, '--state', 'ready', '--yes')).out).toBe('cancelled: 1300\n')
    expect((await taskstream('purge', topic, '--state', 'filtered', '--yes')).out).toBe('deleted: 1300\n')
    expect(await fixture.states()).toEqual({ succeeded: 300 })
  })

  test('leave what has changed after the preview, or after the instant that is given', async () => {
    await failed(2)
    const { topic } = fixture
    const [first] = await fixture.page()
    const before = ['--changed-before', first!.completed!.toISOString()]
    expect((await taskstream('redrive', topic, ...before, '--yes')).out).toBe('ready again: 0\n')
    expect((await taskstream('purge', topic, ...before, '--yes')).out).toBe('deleted: 0\n')
    expect((await taskstream('purge', topic, '--older-than', '1d', '--yes')).out).toBe('deleted: 0\n')
    expect((await taskstream('purge', topic, '--older-than', '0s', '--yes')).out).toBe('deleted: 2\n')
  })

  test('stop after the running portion on Ctrl-C, and say how to go on, which does the rest', async () => {
    await failed(150)
    const { topic } = fixture
    await using redrive = follow(['redrive', topic, '--yes', '--rate', '25/s', '--url', url])
    await expect.poll(async () => (await fixture.states())['ready'] ?? 0).toBeGreaterThan(0)
    const { code, out, err } = await redrive.interrupt()
    expect([code, err]).toEqual([130, expect.stringMatching(/stopped after \d+ of 150; go on with: taskstream redrive /)])
    const done = Number(/stopped after (\d+)/.exec(err)![1])
    expect(done % 25).toBe(0)
    expect(done).toBeLessThan(150)
    expect(out).toMatch(new RegExp(`^ready again: ${done}, sequences`))
    expect(await fixture.states()).toEqual({ ready: done, failed: 150 - done })
    // A task that fails again belongs to no rest of what was previewed.
    await fixture.complete(await fixture.poll(1), TaskDecision.failure())
    const words = /go on with: taskstream (.*)\n/.exec(err)![1]!.split(' ')
    // The address of a server may have a password, which the command that is printed does not have.
    const rest = words.slice(0, words.indexOf('--rate'))
    const bounds = ['--changed-before', '--from'].flatMap((option) => words.slice(words.indexOf(option)).slice(0, 2))
    expect((await taskstream(...rest, ...bounds)).out).toMatch(new RegExp(`^ready again: ${150 - done}, `))
    expect(await fixture.states()).toEqual({ ready: 149, failed: 1 })
  })

  test('do no harm if two operators redrive the same tasks', async () => {
    await failed(1_200)
    const { topic } = fixture
    const both = await Promise.all([1, 2].map(() => taskstream('redrive', topic, '--yes', '--rate', '600/s')))
    const counts = both.map(({ out }) => Number(/^ready again: (\d+)/.exec(out)?.[1]))
    expect(both.map(({ code }) => code)).toEqual([0, 0])
    expect(counts[0]! + counts[1]!).toBe(1_200)
    expect(await fixture.states()).toEqual({ ready: 1_200 })
    expect((await fixture.page()).every(({ tries }) => tries === 0)).toBe(true)
  })

  test('try the newest task, or those that are named, before the rest', async () => {
    await failed(3)
    const { topic } = fixture
    const [a, b, c] = await fixture.page()
    expect(await taskstream('redrive', topic, '--try', '1', '--yes')).toEqual({
      code: 0,
      out: `ready again: 1, sequences ${c!.sequence} to ${c!.sequence}\n`,
      err: expect.stringMatching(
        /^1 task of \S+ would be ready again, of 3, .*\naudit: (\w+); undo: taskstream undo \1\nsee what becomes of it: taskstream wait \S+ @\d+\n$/,
      ),
    })
    expect(await taskstream('redrive', topic, `@${a!.sequence}`, `@${c!.sequence}`)).toEqual({
      code: 0,
      out: `ready again: @${a!.sequence}\n`,
      err: expect.stringMatching(new RegExp(`^@${c!.sequence} stays as it is: it is ready\naudit: \\w+; undo: .*\n$`)),
    })
    expect(await taskstream('redrive', topic, `@${b!.sequence}`, '@9007199254740991')).toMatchObject({
      code: 3,
      err: expect.stringMatching(/no task @9007199254740991/),
    })
    expect(await fixture.states()).toEqual({ ready: 2, failed: 1 })
  })
})
