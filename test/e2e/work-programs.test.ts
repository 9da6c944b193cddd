/** `taskstream work` has programs handle tasks: what their ends mean, what they are given, and what is kept of what they write. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { canRun } from '../subject.ts'
import { useWorkers } from './work-process.ts'

/** The arguments that run a program of JavaScript. */
const node = (program: string): readonly string[] => ['--', process.execPath, '-e', program]

describe.skipIf(!canRun)('a program that handles tasks', () => {
  const { fixture, folder, work, start } = useWorkers({ PGPASSWORD: 'correct-horse', MYSQL_PWD: 'correct-horse', GREETING: 'hi' })
  const exits = ['--shell', '--exec', 'echo out; echo why >&2; exit "$TASKSTREAM_IDENTIFIER"'] as const

  test('ends each as its exit code says', async () => {
    await fixture.push('0', '65', '75', '77', '78', '3')
    const { err } = await work(...exits, '--retry', 'fixed(1h, 2)')
    expect(err).toMatch(/\nstopped: 1 succeeded, 1 filtered, 2 to be retried, 1 suspended, 1 failed\n$/)
    const why = (exit: number): unknown => `The program "/bin/sh" has ended with the exit code ${exit}: why`
    const pages = await fixture.page()
    expect(pages).toMatchObject([
      { identifier: '0', state: 'succeeded', output: 'out' },
      { identifier: '65', state: 'failed', reason: 'terminated', output: why(65) },
      { identifier: '75', state: 'suspended', output: why(75), tries: 1 },
      { identifier: '77', state: 'filtered', output: why(77) },
      { identifier: '78', state: 'suspended', output: why(78) },
      { identifier: '3', state: 'suspended', output: why(3), tries: 1 },
    ])
    expect(pages.map(({ due }) => due !== undefined)).toEqual([false, false, true, false, false, true])
  })

  test('fails a task for good when the policy has no more tries for it, or when it is none', async () => {
    await fixture.push('75', '3')
    expect((await work(...exits, '--retry', 'none')).err).toMatch(/2 failed\n$/)
    expect(await fixture.page()).toMatchObject([{ state: 'failed' }, { state: 'failed', tries: 1 }])
    await fixture.nextTopic()
    await fixture.push('1')
    const worker = start(...exits, '--retry', 'exponential(1ms, 2ms, 3)')
    await expect.poll(() => fixture.page()).toMatchObject([{ state: 'failed', reason: 'tries', tries: 3 }])
    worker.kill('SIGTERM')
    expect((await worker.ended).err).toMatch(/stopped: 2 to be retried, 1 failed\n$/)
  })

  test('that a signal ends has failed', async () => {
    await fixture.push({ identifier: 'a', input: 'KILL' }, { identifier: 'b', input: 'SEGV' })
    await work('--retry', 'none', '--shell', '--exec', 'echo oh >&2; kill -"$(cat)" $$')
    expect(await fixture.page()).toMatchObject([
      { state: 'failed', output: 'The program "/bin/sh" was ended by the signal SIGKILL: oh' },
      { state: 'failed', output: 'The program "/bin/sh" was ended by the signal SIGSEGV: oh' },
    ])
  })

  test('is given the input on standard input, the task in its environment and in a file, which is gone afterwards', async () => {
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
    const input = 'quote " and 日 😀\n'
    await fixture.push({ identifier: 'a; $(b)', input, reference: 'r', externalId: 'order 7', headers: { traceparent, n: 1 } })
    await fixture.push({ identifier: 'bare', headers: { traceparent: 'x\ny' } })
    await work(
      ...node(`
        const { readdirSync, readFileSync, statSync } = require('node:fs')
        const folder = require('node:path').dirname(process.env.TASKSTREAM_FILE)
        const { TASKSTREAM_FILE: file, ...env } = process.env
        const mode = (path) => (statSync(path).mode & 0o777).toString(8)
        console.log(JSON.stringify({
          env, input: readFileSync(0, 'utf8'), file, task: JSON.parse(readFileSync(file)), modes: [mode(file), mode(folder)], files: readdirSync(folder).length,
        }))`),
    )
    const [first, second] = (await fixture.page()).map(({ output, sequence }) => ({ ...JSON.parse(output!), sequence }))
    const { PATH: _path, HOME: _home, TMPDIR: _tmp, LANG: _l, LC_ALL: _a, LC_CTYPE: _c, TZ: _tz, ...env } = first.env
    expect(env).toEqual({
      TASKSTREAM_TOPIC: fixture.topic,
      TASKSTREAM_SEQUENCE: String(first.sequence),
      TASKSTREAM_IDENTIFIER: 'a; $(b)',
      TASKSTREAM_ATTEMPT: '1',
      TASKSTREAM_TRIES: '1',
      TASKSTREAM_EXTERNAL_ID: 'order 7',
      TASKSTREAM_REFERENCE: 'r',
      TRACEPARENT: traceparent,
    })
    expect(first).toMatchObject({ input, modes: ['600', '700'] })
    const [topic, sequence] = [fixture.topic, first.sequence]
    const common = { topic, attempt: 1, tries: 1, maxTries: null, priority: 0, deadline: null }
    expect(first.task).toEqual({
      ...common,
      sequence,
      identifier: 'a; $(b)',
      externalId: 'order 7',
      reference: 'r',
      headers: { traceparent, n: 1 },
      input,
    })
    expect(second.task).toMatchObject({ ...common, identifier: 'bare', externalId: null, reference: null, input: null })
    expect(second.input).toBe('')
    expect(Object.keys(second.env)).not.toContain('TRACEPARENT')
    expect(Object.keys(second.env)).not.toContain('TASKSTREAM_REFERENCE')
    // The file of the first task was gone when the second began.
    expect([first.files, second.files]).toEqual([1, 1])
    expect([existsSync(first.file), existsSync(second.file)]).toEqual([false, false])
    expect(readdirSync(folder())).toEqual([])
  })

  test('is given no other variable, and no address of the database, unless it is named', async () => {
    await fixture.push('a')
    await work('--env', 'GREETING', '--env', 'WORD=a=b', ...node('console.log(JSON.stringify(process.env))'))
    const [{ output } = {}] = await fixture.page()
    expect(JSON.parse(output!)).toMatchObject({ GREETING: 'hi', WORD: 'a=b' })
    expect(output).not.toMatch(/correct-horse|TASKSTREAM_URL|PGPASSWORD|MYSQL_PWD/)
    await fixture.nextTopic()
    await fixture.push('a')
    await work(
      '--env',
      'TASKSTREAM_URL',
      ...node('console.log(Object.keys(process.env).filter((name) => name.endsWith("_URL")).join())'),
    )
    expect(await fixture.page()).toMatchObject([{ output: 'TASKSTREAM_URL' }])
  })

  test('has its arguments as they were written, without a shell', async () => {
    await fixture.push('a')
    writeFileSync(join(folder(), 'print.mjs'), 'console.log(JSON.stringify(process.argv.slice(2)))')
    await work('--exec', String.raw`"${process.execPath}" print.mjs two\ words '$HOME; "x"' "" --flag`)
    expect(JSON.parse((await fixture.page())[0]!.output!)).toEqual(['two words', '$HOME; "x"', '', '--flag'])
  })

  test('may write what it likes: the last 64 KiB are kept, as text that no terminal obeys', async () => {
    await fixture.push('0', '65')
    await work(
      ...node(`
        const { randomFillSync } = require('node:crypto')
        const fail = process.env.TASKSTREAM_IDENTIFIER !== '0'
        const to = fail ? process.stderr : process.stdout
        const noise = randomFillSync(Buffer.alloc(1 << 20))
        for (let i = 0; i < 16; i++) to.write(noise)
        to.write('\\n' + '日'.repeat(20000) + '\\n\\x1b[31mred\\x1b[0m \\x1b]0;title\\x07 \\0 \\x9b2J \\ud800 25%\\r 50%\\r\\nthe end\\n', () => {
          process.exitCode = Number(process.env.TASKSTREAM_IDENTIFIER)
        })`),
    )
    const [kept, failed] = await fixture.page()
    expect([kept!.state, failed!.state]).toEqual(['succeeded', 'failed'])
    for (const { output = '' } of [kept!, failed!]) {
      expect(output.length).toBeLessThanOrEqual(65_536)
      expect(output).toContain('日'.repeat(20_000))
      // oxlint-disable-next-line no-control-regex
      expect(output).not.toMatch(/[\0-\u0008\u000B-\u001F\u007F-\u009F]/)
      expect(output).toMatch(/red {2}� .* 25%\n 50%\nthe end$/)
    }
    expect(failed!.output).toMatch(/^The program ".*" has ended with the exit code 65: the end\n/)
  })

  test('may decide by its last line, and has failed if nobody understands the decision', async () => {
    const lines = {
      retry: '{"decision":"retry","afterMs":3600000,"message":"later"}',
      snooze: '{"decision":"snooze","afterMs":3600000}',
      filter: '{"decision":"filter","message":"gone"}',
      suspension: '{"decision":"suspension"}',
      failure: '{"decision":"failure","message":"no"}',
      success: '{"decision":"success","value":{"pages":3}}',
      plain: '{"pages":3}',
      misspelt: '{"decision":"retyr"}',
      halved: '{"decision":"retry"}',
    }
    await fixture.push(...Object.entries(lines).map(([identifier, input]) => ({ identifier, input })))
    await work('--decisions', '--retry', 'none', '--shell', '--exec', 'echo working; cat; echo')
    expect(await fixture.page()).toMatchObject([
      { identifier: 'retry', state: 'suspended', tries: 1, output: 'later', due: expect.any(Date) as Date },
      { identifier: 'snooze', state: 'suspended', tries: 0, due: expect.any(Date) as Date },
      { identifier: 'filter', state: 'filtered', output: 'gone' },
      { identifier: 'suspension', state: 'suspended', tries: 1 },
      { identifier: 'failure', state: 'failed', output: 'no' },
      { identifier: 'success', state: 'succeeded', output: 'working' },
      { identifier: 'plain', state: 'succeeded', output: 'working\n{"pages":3}' },
      { identifier: 'misspelt', state: 'failed', output: expect.stringContaining('decision must be one of') as string },
      { identifier: 'halved', state: 'failed', output: expect.stringContaining('afterMs must be') as string },
    ])
  })

  test('may return a value, and has failed if it prints none', async () => {
    await fixture.push({ identifier: 'a', input: ' {"pages": 3}\n' }, { identifier: 'b', input: 'three pages' })
    await work('--value', '--retry', 'none', '--exec', 'cat')
    const [first, second] = await fixture.page()
    expect([first!.state, second!.state]).toEqual(['succeeded', 'failed'])
    expect(second!.output).toMatch(/^What the program "cat" has printed is no JSON/)
    const results = await fixture.commit((transaction) => fixture.tasks.endings(transaction, [first!]))
    expect(results).toMatchObject([{ value: '{"pages": 3}' }])
  })

  test('runs so many times at a time as is said, of all topics together', async () => {
    const first = fixture.topic
    await fixture.push('a', 'b', 'c')
    await fixture.nextTopic()
    await fixture.push('d', 'e', 'f')
    // Each waits until two have begun, so that a worker that runs only one at a time never ends.
    const program = `
      mkdir -p running seen; touch seen/$TASKSTREAM_IDENTIFIER running/$TASKSTREAM_IDENTIFIER; ls running | wc -l >> counts
      until [ $(ls seen | wc -l) -ge 2 ]; do sleep 0.02; done; sleep 0.1; rm running/$TASKSTREAM_IDENTIFIER`
    await work(first, '--concurrency', '2', '--shell', '--exec', program)
    expect(await fixture.states()).toEqual({ succeeded: 3 })
    const counts = readFileSync(join(folder(), 'counts'), 'utf8').trim().split('\n').map(Number)
    expect([counts.length, Math.max(...counts)]).toEqual([6, 2])
  })
})
