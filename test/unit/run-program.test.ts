/** What is kept of a program that writes more than is wanted, and where a program is looked for before it is started. */
import { describe, expect, test } from 'vitest'
import { checkInPath, programOf, runProgram } from '../../packages/task-jobs/src/index.ts'
import type { Ended, RunLimits } from '../../packages/task-jobs/src/index.ts'

const run = (text: string, limits: Partial<RunLimits>): Promise<Ended> =>
  runProgram(
    programOf(['sh', '-c', text], {}),
    '',
    { outputBytes: 10, killAfterMs: 1_000, ...limits },
    new AbortController().signal,
  )

describe('a program that writes more than is wanted', () => {
  test('goes on to its end if only the end of its output is kept', async () => {
    const { output, exitCode, isAborted } = await run('head -c 3000000 /dev/zero; printf 0123456789; exit 3', { keepsEnd: true })
    expect([output?.toString(), exitCode, isAborted]).toEqual(['0123456789', 3, false])
  })

  test('is ended otherwise', async () => {
    expect((await run('head -c 3000000 /dev/zero; exit 3', {})).output).toBeUndefined()
  })

  test('has all of its output kept if that is as long as may be kept', async () => {
    expect((await run('printf 0123456789', { keepsEnd: true })).output?.toString()).toBe('0123456789')
  })

  test('has as much of its errors kept as is asked for, from the beginning of a line', async () => {
    const { errors } = await run('seq 1 30000 >&2', { errorBytes: 15 })
    expect(errors).toBe('29999\n30000')
  })
})

describe('a program that is given by its name', () => {
  test('is looked for in its own PATH, in which a folder of that name is no program', () => {
    const sh = programOf(['sh'], {})
    expect(() => checkInPath(sh)).not.toThrow()
    const missing = 'The program "bin" cannot be started: no folder in PATH has it'
    expect(() => checkInPath(programOf(['bin'], { PATH: '/nowhere:/usr' }))).toThrow(missing)
    expect(() => checkInPath(programOf(['sh'], { PATH: '' }, '/'))).toThrow('no folder in PATH has it')
  })
})
