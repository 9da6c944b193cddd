/** `taskstream work` refuses what does not go together before it looks at a database, and costs other commands nothing. */
import { readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { run } from '../e2e/command-line.ts'
import type { Run } from '../e2e/command-line.ts'

/** Runs the command without a database. */
const work = (...args: readonly string[]): Promise<Run> => run(['work', ...args])

describe('the command work', () => {
  test.each([
    [['t'], 'error: who handles the tasks? Give one of --exec, --http and a program after --'],
    [
      ['t', '--exec', 'a', '--http', 'http://b'],
      'error: who handles the tasks? Give one of --exec, --http and a program after --',
    ],
    [['t', '--exec', 'a', '--', 'b'], 'error: who handles the tasks? Give one of --exec, --http and a program after --'],
    [['--', './a'], 'error: which topics? Name them before --'],
    [['t', '--shell', '--', 'a'], 'error: --shell goes with --exec'],
    [['t', '--exec', 'a', '--secret-file', 'b'], 'error: --secret-file goes with --http'],
    [['t', '--headers-file', 'b', '--', 'a'], 'error: --headers-file goes with --http'],
    [['t', '--http', 'http://b', '--env', 'A=1'], 'error: --env goes with a program, not with --http'],
    [['t', '--http', 'http://b', '--decisions'], 'error: --decisions goes with a program, not with --http'],
    [['t', '--http', 'http://b', '--timeout', '6min'], 'error: --timeout of a request is at most 5min'],
    [['t', '--exec', 'a | b'], "error: option '--exec <command>' argument 'a | b' is invalid. Its | is for a shell: add --shell"],
    [['t', '--exec', 'a', '--concurrency', '0'], 'It must be from 1 to 1000.'],
    [['t', '--exec', 'a', '--concurrency', '1001'], 'It must be from 1 to 1000.'],
    [['t', '--exec', 'a', '--lease', '10ms'], 'It must be a duration from 1s to 7d'],
    [['t', '--exec', 'a', '--retry', 'fixed(1)'], "error: option '--retry <policy>' argument 'fixed(1)' is invalid. Write none"],
    [['t', '--exec', 'a', '--health', '0.0.0.0:1'], 'Only this machine may ask'],
  ])('%j says what is wrong', async (args, error) => {
    expect(await work(...args)).toMatchObject({ code: 2, out: '', err: expect.stringContaining(error) as string })
  })

  test('asks for a database only when all else is right, and the program is there', async () => {
    const cases: readonly (readonly [readonly string[], number, string])[] = [
      [['t', '--exec', 'sh'], 2, 'Which database?'],
      [['t', '--exec', 'sh', '--concurrency', '1'], 2, 'Which database?'],
      [['t', '--exec', 'sh', '--concurrency', '1000'], 2, 'Which database?'],
      // What stands after the dashes is the program's, also what looks like an option.
      [['t', '--concurrency', '2', '--', 'sh', '--lease', '--'], 2, 'Which database?'],
      [['t', '--', 'no-such-program', '--help'], 1, 'no folder in PATH has it (PROGRAM_NOT_STARTED)'],
      [['t', '--http', 'mailer'], 2, 'url must be a whole address'],
    ]
    for (const [args, code, error] of cases)
      expect(await work(...args)).toMatchObject({ code, out: '', err: expect.stringContaining(error) as string })
  })

  test('loads what it works with only when it works', () => {
    const src = join(import.meta.dirname, '..', '..', 'packages', 'task-cli', 'src')
    const seen = new Set<string>()
    const others = new Set<string>()
    const visit = (file: string): void => {
      if (seen.has(file)) return
      seen.add(file)
      for (const [, name = ''] of readFileSync(file, 'utf8').matchAll(/^import (?!type )[^;]*?'([^']+)'$/gm))
        if (name.startsWith('.')) visit(resolve(dirname(file), name))
        else others.add(name)
    }
    visit(join(src, 'cli.ts'))
    expect([...seen]).toContain(join(src, 'work', 'retry-words.ts'))
    expect([...seen]).not.toContain(join(src, 'work', 'run-worker.ts'))
    for (const heavy of ['@taskstream/task-jobs', '@taskstream/task-processor', 'node:http', 'node:child_process'])
      expect([...others]).not.toContain(heavy)
  })
})
