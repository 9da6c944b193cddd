/** A program handles a job: what its end means, what it is given, and that nothing of it survives its handler. */
import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { TaskError } from '@taskstream/task-api'
import { thrownBy } from '@taskstream/task-testing/suite'
import { externalProcess } from 'taskstream'
import type { ExternalHandler, ExternalJob, ExternalProcessOptions } from 'taskstream'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { newMark, processesOf } from '../processes.ts'
import { jobOf, outcomeOf } from './outside.ts'

const root = join(import.meta.dirname, '..', '..')
const mark = newMark()
let folder = ''

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'programs-'))
})
afterAll(() => rmSync(folder, { recursive: true }))
// Whatever a test does, nothing of it goes on.
afterEach(() => expect(processesOf(mark)).toEqual([]))

/** A handler that runs a script. `$1` is the mark of these tests. */
function script(text: string, options: Partial<ExternalProcessOptions> = {}): ExternalHandler {
  return externalProcess({ command: ['sh', '-c', text, 'sh', mark], ...options })
}

/** Begins a try, waits until its program sleeps, and aborts it. @returns what the handler throws */
async function aborted(handler: ExternalHandler): Promise<unknown> {
  const controller = new AbortController()
  const thrown = thrownBy(() => handler(jobOf({ signal: controller.signal })))
  await expect.poll(() => processesOf(`sleep ${mark}`)).toHaveLength(1)
  controller.abort(reason)
  return thrown
}
const reason = new TaskError('TASK_TIMEOUT', 'too long')

describe('a program that ends', () => {
  const failed = (data: object): unknown => expect.objectContaining({ code: 'PROGRAM_FAILED', data: { program: 'sh', ...data } })

  test.each<[string, unknown]>([
    ['exit 0', 'success'],
    ['exit 1', failed({ exitCode: 1 })],
    ['exit 64', failed({ exitCode: 64 })],
    ['exit 65', { 'failure, terminated': failed({ exitCode: 65 }) }],
    ['exit 75', failed({ exitCode: 75 })],
    ['exit 127', failed({ exitCode: 127 })],
    ['kill -KILL $$', failed({ signal: 'SIGKILL' })],
    ['kill -TERM $$', failed({ signal: 'SIGTERM' })],
  ])('by "%s" ends its try as the table says', async (text, outcome) => {
    expect(await outcomeOf(script(text), jobOf())).toEqual(outcome)
  })

  test('without success is told with its code or signal, and the last it has said', async () => {
    const lines = `i=0; while [ $i -lt 2000 ]; do i=$((i+1)); echo "line $i" >&2; done`
    const error = (await outcomeOf(script(`${lines}; exit 3`), jobOf())) as TaskError
    expect(error.message).toMatch(
      /^The program "sh" of the job "render" order 7 has ended with the exit code 3: line 2000\nline \d+\n(line \d+\n)*line 2000$/,
    )
    expect(error.message.length).toBeLessThan(4_300)
    const killed = (await outcomeOf(script('echo oh >&2; kill -9 $$'), jobOf())) as TaskError
    expect(killed.message).toBe('The program "sh" of the job "render" order 7 was ended by the signal SIGKILL: oh')
    const oneLine = (await outcomeOf(script(`head -c 3000000 /dev/zero | tr '\\0' x >&2; exit 3`), jobOf())) as TaskError
    expect(oneLine.message.length).toBeLessThan(4_300)
    expect(oneLine.message).toMatch(/: x{4096}$/)
  })

  test('leaves nothing behind: what it has started ends with it, and is killed if it does not', async () => {
    expect(await outcomeOf(script('sleep "$1" & exit 0'), jobOf())).toBe('success')
    expect(processesOf(mark)).toEqual([])
    const deaf = script(`(trap '' TERM; sleep "$1") & exit 0`, { killAfterMs: 50 })
    expect(await outcomeOf(deaf, jobOf())).toBe('success')
    await expect.poll(() => processesOf(mark)).toEqual([])
  })

  test.skipIf(process.platform !== 'linux' || !existsSync('/usr/bin/perl'))(
    'is not waited for any longer because of a part that has ended, of which nobody has taken note',
    async () => {
      const file = join(folder, 'parent')
      // The grandchild stays in the group. Its parent leaves the group, and does not ask after its child.
      const orphan = `
        use POSIX; pipe my $in, my $out; $| = 1;
        if (!fork) { exit 0 if !fork; POSIX::setpgid(0, 0); open my $f, '>', '${file}'; print $f $$; close $f;
          close STDOUT; close STDERR; print $out "x"; close $out; exec 'sleep', '${mark}' }
        close $out; read $in, my $byte, 1; exit 0`
      const handler = externalProcess({ command: ['/usr/bin/perl', '-e', orphan], killAfterMs: 3_600_000 })
      try {
        expect(await outcomeOf(handler, jobOf())).toBe('success')
      } finally {
        process.kill(Number(readFileSync(file, 'utf8')))
        await expect.poll(() => processesOf(mark)).toEqual([])
      }
    },
  )

  test.skipIf(process.platform !== 'linux')(
    'is not waited for any longer if a part of it left its group and keeps its pipes open',
    async () => {
      const file = join(folder, 'left')
      const handler = script(
        `setsid sh -c 'echo $$ > "$2"; exec sleep "$1"' sh "$1" '${file}' & while [ ! -s '${file}' ]; do sleep 0.01; done; echo 7`,
      )
      try {
        expect(await outcomeOf(handler, jobOf({ hasOutput: true }))).toBe(7)
      } finally {
        process.kill(Number(readFileSync(file, 'utf8')))
        await expect.poll(() => processesOf(mark)).toEqual([])
      }
    },
  )
})

describe('a program', () => {
  test('is given the job as JSON, each field with a value or null', async () => {
    const echo = script('cat')
    const job: Partial<ExternalJob> = {
      key: 'ann',
      input: { text: 'quote " and 日 😀' },
      maxTries: 3,
      deadline: new Date('2026-12-01T00:00:00Z'),
      tags: { tenant: 7 },
      hasOutput: true,
    }
    expect(await outcomeOf(echo, jobOf(job))).toEqual({
      id: 'order 7',
      name: 'render',
      key: 'ann',
      input: { text: 'quote " and 日 😀' },
      tries: 1,
      attempt: 2,
      maxTries: 3,
      deadline: '2026-12-01T00:00:00.000Z',
      tags: { tenant: 7 },
    })
    expect(await outcomeOf(echo, jobOf({ input: undefined, hasOutput: true }))).toMatchObject({
      key: null,
      input: null,
      maxTries: null,
      deadline: null,
    })
  })

  test('is not started for a job that JSON cannot express: that ends the job', async () => {
    const file = join(folder, 'never')
    expect(await outcomeOf(script(`touch '${file}'`), jobOf({ input: { big: 7n } }))).toMatchObject({
      'failure, terminated': { code: 'ARGUMENT_INVALID' },
    })
    expect(existsSync(file)).toBe(false)
  })

  test('need not read its input, however long that is', async () => {
    const input = 'x'.repeat(4_000_000)
    expect(await outcomeOf(script('exec <&-; exit 0'), jobOf({ input }))).toBe('success')
    expect(await outcomeOf(script('exit 65'), jobOf({ input }))).toMatchObject({ 'failure, terminated': {} })
  })

  test.each([
    ['nothing', 'true', 'is empty'],
    ['no JSON', 'echo hello', 'is no JSON'],
    ['two values', 'echo 1 2', 'is no JSON'],
    ['no UTF-8', String.raw`printf '"\377"'`, 'is no JSON in UTF-8'],
  ])('that prints %s has failed if its job has an output, and not otherwise', async (_, text, message) => {
    expect(await outcomeOf(script(text), jobOf({ hasOutput: true }))).toMatchObject({
      code: 'OUTPUT_INVALID',
      message: expect.stringContaining(`What the program "sh" has printed for the job "render" order 7 ${message}`) as unknown,
      data: { name: 'render' },
    })
    expect(await outcomeOf(script(text), jobOf())).toBe('success')
  })

  test('that prints more than it may is ended, even if it ignores its signal', async () => {
    const tooLong = { code: 'OUTPUT_TOO_LONG', data: { program: 'sh', mostBytes: 1_000 } }
    expect(await outcomeOf(script('exec yes "$1"', { outputBytes: 1_000 }), jobOf())).toMatchObject(tooLong)
    const deaf = script(`trap '' TERM PIPE; while :; do echo "$1"; done 2> /dev/null`, { outputBytes: 1_000, killAfterMs: 50 })
    expect(await outcomeOf(deaf, jobOf({ hasOutput: true }))).toMatchObject(tooLong)
    await expect.poll(() => processesOf(mark)).toEqual([])
    const exactly = script(`printf '"%998s"' x`, { outputBytes: 1_000 })
    expect(await outcomeOf(exactly, jobOf({ hasOutput: true }))).toMatch(/^ {997}x$/)
    expect(await outcomeOf(script(`printf '"%999s"' x`, { outputBytes: 1_000 }), jobOf())).toMatchObject(tooLong)
  })

  test('gets its arguments as they are: no shell reads them', async () => {
    const argument = '$HOME; $(exit 3) && `id` * | > &'
    const handler = externalProcess({ command: ['printf', '"%s"', argument] })
    expect(await outcomeOf(handler, jobOf({ hasOutput: true }))).toBe(argument)
  })

  test('gets no variable of this process but those that say where things are, and those that are given', async () => {
    process.env['TASKSTREAM_TEST_SECRET'] = 'secret'
    try {
      const handler = externalProcess({
        command: ['sh', '-c', `env | tr '\\n' ' ' | sed 's/.*/"&"/'`],
        env: { GIVEN: 'given', TZ: 'UTC' },
      })
      const variables = String(await outcomeOf(handler, jobOf({ hasOutput: true })))
      expect(variables).toContain(`PATH=${process.env['PATH']} `)
      expect(variables).toContain('GIVEN=given ')
      expect(variables).toContain('TZ=UTC ')
      expect(variables).not.toContain('secret')
    } finally {
      delete process.env['TASKSTREAM_TEST_SECRET']
    }
  })

  test('runs in the folder that is said, where a relative path begins too', async () => {
    writeFileSync(join(folder, 'where'), '#!/bin/sh\necho "\\"$(pwd -P)\\""\n', { mode: 0o755 })
    const handler = externalProcess({ command: ['./where'], cwd: folder })
    const where = String(await outcomeOf(handler, jobOf({ hasOutput: true })))
    expect(where.endsWith(folder)).toBe(true)
  })
})

describe('a program that is asked to end', () => {
  test('ends with all that it has started, and its handler throws why', async () => {
    expect(await aborted(script('sleep "$1"; exit 0'))).toBe(reason)
    expect(processesOf(mark)).toEqual([])
  })

  test('has the time to tidy up, before its handler ends, and has not succeeded whatever its exit code', async () => {
    const file = join(folder, 'tidy')
    const tidy = `trap "sleep 0.1; echo done > '${file}'; exit 0" TERM; sleep "$1" & wait $!`
    expect(await aborted(script(tidy))).toBe(reason)
    expect(readFileSync(file, 'utf8')).toBe('done\n')
  })

  test('is killed if it ignores that', async () => {
    const deaf = script(`trap '' TERM; sleep "$1"; sleep "$1"`, { killAfterMs: 100 })
    expect(await aborted(deaf)).toBe(reason)
    await expect.poll(() => processesOf(mark)).toEqual([])
  })

  test('is killed with a part of it that ignores that, though the program itself has ended', async () => {
    const deaf = script(`(trap '' TERM; exec sleep "$1") & wait`, { killAfterMs: 100 })
    expect(await aborted(deaf)).toBe(reason)
    await expect.poll(() => processesOf(mark)).toEqual([])
  })

  test('before it was started is not started', async () => {
    const handler = externalProcess({ command: ['no-such-program-here'] })
    expect(await thrownBy(() => handler(jobOf({ signal: AbortSignal.abort(reason) })))).toBe(reason)
  })

  test('does not survive a process that exits without waiting for it', async () => {
    const main = `
      import { externalProcess } from 'taskstream'
      const handler = externalProcess({ command: ['sh', '-c', 'trap "" TERM; echo $$ >&2; sleep "$1"; exit 3', 'sh', '${mark}'] })
      const job = { name: 'a', id: 'b', tries: 1, attempt: 1, tags: {}, hasOutput: false, signal: new AbortController().signal, task: {} }
      handler(job)
      const { execFileSync } = await import('node:child_process')
      while (!execFileSync('ps', ['-A', '-o', 'args='], { encoding: 'utf8' }).includes('sleep ${mark}')) {}
      process.exit(0)`
    await promisify(execFile)(process.execPath, ['--conditions=@taskstream/source', '--input-type=module', '-e', main], {
      cwd: root,
    })
    await expect.poll(() => processesOf(mark)).toEqual([])
  })
})
