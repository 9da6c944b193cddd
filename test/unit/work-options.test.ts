/** The options of `taskstream work` have ranges, and its files go however it ends. */
import { existsSync, readdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { programOf } from '../../packages/task-cli/src/program.ts'
import { TaskFiles } from '../../packages/task-cli/src/work/task-files.ts'
import { taskOf } from './answering.ts'

describe('the options of work', () => {
  let said = ''
  beforeEach(() => {
    said = ''
    vi.stubEnv('TASKSTREAM_URL', undefined)
    vi.spyOn(process.stderr, 'write').mockImplementation((text) => Boolean((said += String(text))))
  })
  afterEach(() => {
    vi.restoreAllMocks()
    vi.unstubAllEnvs()
  })
  const work = (...args: readonly string[]): Promise<unknown> =>
    programOf('1.2.3')
      .parseAsync(['work', 'mail', '--exec', 'sh', ...args], { from: 'user' })
      .catch((error: unknown) => (error as Error).message)

  test.each([
    ['--timeout', '1ms', '1d', '0ms', '86400001ms'],
    ['--kill-after', '0s', '1h', undefined, '3600001ms'],
    ['--grace', '0s', '1d', undefined, '86400001ms'],
    ['--lease', '1s', '7d', '999ms', '604800001ms'],
    ['--for', '1ms', '20d', '0ms', '481h'],
    ['--quiet-after', '1ms', '20d', '0ms', '481h'],
  ])('%s is a duration from %s to %s', async (option, least, most, shorter, longer) => {
    for (const right of [least, most])
      expect([right, await work(option, right)]).toEqual([right, expect.stringMatching('Which database')])
    for (const wrong of [shorter, longer].filter((text) => text !== undefined)) {
      await work(option, wrong)
      expect(said).toContain(`argument '${wrong}' is invalid. It must be a duration from ${least} to ${most}, such as`)
      said = ''
    }
  })
})

test('what is not given has a default, which help says in the same words', () => {
  const work = programOf('1.2.3').commands.find((command) => command.name() === 'work')!
  const defaults = work.options.flatMap((option) =>
    option.defaultValue === undefined ? [] : [[option.long, option.defaultValue]],
  )
  expect(Object.fromEntries(defaults)).toEqual({
    '--concurrency': 1,
    '--retry': { kind: 'exponential', firstMs: 5_000, maxMs: 3_600_000, tries: 4 },
    '--kill-after': 5_000,
    '--grace': 10_000,
    '--lease': 30_000,
  })
})

describe('the files of tasks at work', () => {
  test('are gone when the work ends, and when the process ends at once', async () => {
    for (const isAtOnce of [false, true]) {
      const before = process.listeners('exit')
      const files = new TaskFiles()
      const path = await files.write(taskOf('a', 7))
      expect(readdirSync(dirname(path))).toEqual(['7-1.json'])
      const [atExit, ...others] = process.listeners('exit').filter((listener) => !before.includes(listener))
      expect(others).toEqual([])
      if (isAtOnce) atExit!(130)
      else files[Symbol.dispose]()
      expect(existsSync(dirname(path))).toBe(false)
      files[Symbol.dispose]()
      expect(process.listeners('exit')).toEqual(before)
    }
  })
})
