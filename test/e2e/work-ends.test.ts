/** How `taskstream work` and its programs end: nothing of a program goes on, no task is lost, and nothing is taken that cannot be handled. */
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { describe, expect, test } from 'vitest'
import { canRun } from '../subject.ts'
import { testOn } from '../test-on.ts'
import { urlOf } from './command-line.ts'
import { useWorkers } from './work-process.ts'

describe.skipIf(!canRun)('a worker', () => {
  const { fixture, folder, mark, sleeps, start, work } = useWorkers()
  const script = (text: string): readonly string[] => ['--shell', '--exec', text]

  test('whose program is missing does not begin', async () => {
    await fixture.push('a')
    writeFileSync(join(folder(), 'data.txt'), 'no program')
    for (const [program, why] of [
      ['./nowhere', /^error: The program ".\/nowhere" cannot be started: .*nowhere is not there \(PROGRAM_NOT_STARTED\)\n$/],
      ['./data.txt', /data\.txt may not be executed by this user/],
      ['no-such-program', /"no-such-program" cannot be started: no folder in PATH has it/],
    ] as const) {
      const { code, err } = await start('--', program).ended
      expect([program, code, err]).toEqual([program, 1, expect.stringMatching(why)])
    }
    expect(await fixture.page()).toMatchObject([{ state: 'ready', attempt: 0 }])
  })

  test('whose program goes missing stops, and hands the task back untried', async () => {
    await fixture.push('a', 'b')
    const program = join(folder(), 'once.sh')
    writeFileSync(program, '#!/bin/sh\nrm "$0"\n', { mode: 0o755 })
    const { code, err } = await start('--exec', './once.sh').ended
    expect([code, err]).toEqual([1, expect.stringMatching(/stopped: 1 succeeded, 1 returned\nerror: .*once\.sh is not there\n$/)])
    expect(await fixture.page()).toMatchObject([{ state: 'succeeded' }, { state: 'ready', tries: 0 }])
  })

  test.each([126, 127])('stops at the exit code %i, by which a shell says that a program is missing', async (exit) => {
    await fixture.push('a', 'b')
    const { code, err } = await start(...script(`echo not found >&2; exit ${exit}`)).ended
    expect(code).toBe(1)
    expect(err).toMatch(new RegExp(`error: The program "/bin/sh" has ended with the exit code ${exit}: not found\n$`))
    expect(await fixture.page()).toMatchObject([
      { state: 'ready', tries: 0 },
      { state: 'ready', tries: 0 },
    ])
  })

  test('puts a task off, and counts no try, if the machine has no room for it', async () => {
    await fixture.push('a', 'b')
    await work(...script('rm -r "$(dirname "$TASKSTREAM_FILE")"'))
    const output = expect.stringContaining('ENOENT') as string
    expect(await fixture.page()).toMatchObject([
      { state: 'succeeded' },
      { state: 'suspended', tries: 0, due: expect.any(Date) as Date, output },
    ])
  })

  test('has a program that takes too long ended, with all that it has started, before its task is decided', async () => {
    await fixture.push('a')
    const program = `trap '' TERM; sleep ${mark} & sh -c 'sleep ${mark} & wait' & echo both sleep >&2; wait; wait`
    await work('--timeout', '3s', '--kill-after', '200ms', '--retry', 'none', ...script(program))
    expect(sleeps()).toEqual([])
    const [task] = await fixture.page()
    expect(task).toMatchObject({ state: 'failed', reason: 'timeout' })
    expect(task!.output).toMatch(/^The program "\/bin\/sh" of .* took longer than 3000 ms, and was ended: both sleep$/)
  })

  test('ends the program of a task that was cancelled', async () => {
    await fixture.push('a')
    const worker = start('--lease', '2s', ...script(`sleep ${mark}`))
    await expect.poll(sleeps).toHaveLength(1)
    const [task] = await fixture.page()
    await fixture.commit((transaction) => fixture.tasks.cancel(transaction, fixture.topic, [task!.sequence]))
    await expect.poll(sleeps).toEqual([])
    worker.kill('SIGTERM')
    expect(await worker.ended).toMatchObject({ code: 0 })
    expect(await fixture.page()).toMatchObject([{ state: 'filtered', reason: 'cancelled' }])
  })

  test('that is killed loses no task: another takes what it held when its lease has run out', async () => {
    await fixture.push('a', 'b', 'c')
    const program = `if [ "$TASKSTREAM_ATTEMPT" = 1 ] && [ "$TASKSTREAM_IDENTIFIER" = b ]; then sleep ${mark}; fi`
    const killed = start(...script(program))
    await expect.poll(sleeps).toHaveLength(1)
    killed.kill('SIGKILL')
    await killed.ended
    expect(await fixture.page()).toMatchObject([{ state: 'succeeded' }, { state: 'active' }, { state: 'ready' }])
    const other = start('--lease', '5s', ...script(program))
    await expect.poll(() => fixture.states()).toEqual({ succeeded: 3 })
    other.kill('SIGTERM')
    expect((await other.ended).err).toMatch(/\nstopped: 2 succeeded\n$/)
    expect((await fixture.page()).map(({ attempt }) => attempt)).toEqual([1, 2, 1])
    // The program of the one that was killed runs on: there was nobody to end it.
    for (const id of sleeps()) process.kill(id)
  })

  test('ends its programs when it has lost its lease, as another works on their tasks by then', async () => {
    await fixture.push('a')
    const program = `if [ "$TASKSTREAM_ATTEMPT" = 1 ]; then sleep ${mark}; fi`
    const paused = start('--lease', '5s', ...script(program))
    await expect.poll(sleeps).toHaveLength(1)
    paused.kill('SIGSTOP')
    const other = start('--lease', '5s', ...script(program))
    await expect.poll(() => fixture.page()).toMatchObject([{ state: 'succeeded', attempt: 2 }])
    expect(sleeps()).toHaveLength(1)
    paused.kill('SIGCONT')
    await expect.poll(sleeps).toEqual([])
    for (const worker of [paused, other]) worker.kill('SIGTERM')
    expect((await other.ended).code).toBe(0)
    // The first may be asked to stop before it has written that the task is not its own any more.
    expect((await paused.ended).err).toMatch(/\nstopped: /)
    expect(await fixture.page()).toMatchObject([{ state: 'succeeded', attempt: 2 }])
  })

  test('lets programs end at Ctrl-C, and takes no more tasks', async () => {
    await fixture.push('a', 'b')
    const go = join(folder(), 'go')
    const worker = start(...script(`sleep ${mark} & while [ ! -e go ]; do sleep 0.05; done`))
    await expect.poll(sleeps).toHaveLength(1)
    worker.kill('SIGINT')
    await expect.poll(worker.err).toContain('SIGINT: takes no more tasks; 1 at work may go on for 10s\n')
    writeFileSync(go, '')
    expect(await worker.ended).toMatchObject({ code: 0, err: expect.stringMatching(/\nstopped: 1 succeeded\n$/) as string })
    expect(await fixture.page()).toMatchObject([{ state: 'succeeded' }, { state: 'ready', attempt: 0 }])
  })

  test('hands back what has not ended in its time, and ends the program', async () => {
    await fixture.push('a')
    const worker = start('--grace', '0s', ...script(`sleep ${mark}`))
    await expect.poll(sleeps).toHaveLength(1)
    worker.kill('SIGTERM')
    expect(await worker.ended).toMatchObject({ code: 0, err: expect.stringMatching(/\nstopped: 1 returned\n$/) as string })
    expect(sleeps()).toEqual([])
    expect(await fixture.page()).toMatchObject([{ state: 'ready', tries: 0 }])
  })

  test('ends at once at a second Ctrl-C: programs are killed, files are removed, and others take the task', async () => {
    await fixture.push('a')
    const program = `trap '' TERM INT; if [ "$TASKSTREAM_ATTEMPT" = 1 ]; then sleep ${mark}; fi`
    const worker = start(...script(program))
    await expect.poll(sleeps).toHaveLength(1)
    expect(readdirSync(folder())).toHaveLength(1)
    worker.kill('SIGINT')
    await expect.poll(worker.err).toContain('SIGINT: takes no more tasks')
    // What comes within a moment of the first signal is the same Ctrl-C.
    await expect.poll(() => (worker.kill('SIGINT'), worker.err())).toContain('SIGINT again: ended at once')
    expect(await worker.ended).toMatchObject({ code: 130 })
    await expect.poll(sleeps).toEqual([])
    expect(readdirSync(folder())).toEqual([])
    expect(await fixture.page()).toMatchObject([{ state: 'active' }])
    const other = start('--lease', '5s', '--retry', 'none', ...script(program))
    await expect.poll(() => fixture.page()).toMatchObject([{ state: 'succeeded', attempt: 2 }])
    other.kill('SIGTERM')
    await other.ended
  })

  test('ends by itself when nothing is ready, when its time is up, or when there was nothing to do for a while', async () => {
    await fixture.push('a', 'b')
    const one = (option: readonly string[]): Promise<{ code: number | null; err: string }> =>
      start(...option, ...script('true')).ended
    expect((await one(['--until-empty'])).err).toMatch(/nothing is ready any more: .*\nstopped: 2 succeeded\n$/)
    expect((await one(['--for', '50ms'])).err).toMatch(/its time is up: .*\nstopped: nothing to do\n$/)
    await fixture.push('c')
    expect((await one(['--quiet-after', '1s'])).err).toMatch(/there was nothing to do: .*\nstopped: 1 succeeded\n$/)
  })

  test('says of each task what has become of it, if it is asked to, on one line that no identifier can break', async () => {
    await fixture.push('a\n\u001B[31mb', { identifier: 'c', maxTries: 1 })
    const { err } = await work('--verbose', ...script('echo oh >&2; test "$TASKSTREAM_IDENTIFIER" != c'))
    const lines = err.split('\n').filter((line) => line.includes('@'))
    expect(lines).toEqual([
      expect.stringMatching(/^topic-\d+\/a b@\d+ succeeded, try 1 \(.*s\)$/),
      expect.stringMatching(
        /^topic-\d+\/c@\d+ failed, try 1: The program "\/bin\/sh" has ended with the exit code 1: oh \(.*s\)$/,
      ),
    ])
  })

  testOn(['postgres'])('listens, so that a push wakes it', async () => {
    const client = new pg.Client({ connectionString: urlOf(fixture.subject) })
    await client.connect()
    const listens = async (): Promise<boolean> => {
      const { rows } = await client.query(
        "select 1 from pg_stat_activity where datname = current_database() and query ilike 'listen %'",
      )
      return rows.length > 0
    }
    expect(await listens()).toBe(false)
    start('--exec', 'true')
    await expect.poll(listens).toBe(true)
    await client.end()
  })

  test('tells probes that it lives, and whether it takes tasks', async () => {
    await fixture.push('a')
    const worker = start('--health', '127.0.0.1:0', '--shell', '--exec', `echo; sleep ${mark}`)
    await expect.poll(sleeps).toHaveLength(1)
    await expect.poll(worker.err).toContain('/readyz')
    const [, probes] = /^health: (http:\S+)\/livez and \/readyz, and \/metrics$/m.exec(worker.err())!
    const probe = async (path: string, method = 'GET'): Promise<unknown> => {
      const response = await fetch(`${probes}${path}`, { method })
      return [response.status, await response.text()]
    }
    expect(await probe('/livez')).toEqual([200, 'alive\n'])
    expect(await probe('/readyz')).toEqual([200, 'ready\n'])
    expect(await probe('/nothing')).toEqual([404, expect.anything()])
    const [status, metrics] = (await probe('/metrics')) as [number, string]
    expect(status).toBe(200)
    expect(metrics).toContain(`taskstream_node_slots_used{messaging_destination_name="${fixture.topic}"} 1\n`)
    expect(metrics).toContain('taskstream_fleet_up 1\n')
    expect(await probe('/livez', 'POST')).toEqual([405, expect.anything()])
    worker.kill('SIGTERM')
    await expect.poll(() => probe('/readyz')).toEqual([503, 'stopping\n'])
    expect(await probe('/livez')).toEqual([200, 'alive\n'])
    for (const id of sleeps()) process.kill(id)
    await worker.ended
  })
})
