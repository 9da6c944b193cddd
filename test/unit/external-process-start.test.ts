/** A program that cannot be started is refused, at once or at its try, and so are options that are wrong. */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TaskError } from '@taskstream/task-api'
import { thrownBy } from '@taskstream/task-testing/suite'
import { externalProcess } from 'taskstream'
import type { ExternalProcessOptions } from 'taskstream'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { jobOf, outcomeOf } from './outside.ts'

let folder = ''
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'programs-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

describe('a program that cannot be started', () => {
  const notStarted = (program: string, why: string): unknown =>
    expect.objectContaining({
      code: 'PROGRAM_NOT_STARTED',
      message: expect.stringMatching(new RegExp(`^The program "${program}" cannot be started: .*${why}`)) as unknown,
      data: { program },
    })
  const made = (options: unknown): Promise<unknown> => thrownBy(() => externalProcess(options as ExternalProcessOptions))

  test('is refused at once if it is given as a path: it is not there, is a folder, or may not be executed', async () => {
    writeFileSync(join(folder, 'text'), 'text', { mode: 0o644 })
    expect(await made({ command: ['./nowhere'] })).toEqual(notStarted('./nowhere', 'nowhere is not there'))
    expect(await made({ command: [join(folder, 'text', 'in')] })).toEqual(notStarted(join(folder, 'text', 'in'), 'is not there'))
    expect(await made({ command: [folder] })).toEqual(notStarted(folder, 'is a folder'))
    expect(await made({ command: ['./text'], cwd: folder })).toEqual(notStarted('./text', 'may not be executed by this user'))
  })

  test('fails its try otherwise, and the error says what is missing', async () => {
    const start = (options: ExternalProcessOptions): Promise<unknown> => outcomeOf(externalProcess(options), jobOf())
    expect(await start({ command: ['no-such-program-here'] })).toEqual(
      notStarted('no-such-program-here', 'no folder in PATH has it'),
    )
    writeFileSync(join(folder, 'plain'), 'text', { mode: 0o644 })
    expect(await start({ command: ['plain'], env: { PATH: folder } })).toEqual(
      notStarted('plain', 'may not be executed by this user'),
    )
    writeFileSync(join(folder, 'strange'), '#!/no/such/interpreter\n', { mode: 0o755 })
    expect(await start({ command: ['./strange'], cwd: folder })).toEqual(notStarted('./strange', 'interpreter'))
    const gone = mkdtempSync(join(tmpdir(), 'programs-'))
    const handler = externalProcess({ command: ['true'], cwd: gone })
    rmSync(gone, { recursive: true })
    expect(await outcomeOf(handler, jobOf())).toEqual(notStarted('true', `${gone}, in which it is to run, is not there`))
    const changed = join(folder, 'changed')
    writeFileSync(changed, '#!/bin/sh\n', { mode: 0o755 })
    const later = externalProcess({ command: [changed] })
    chmodSync(changed, 0o644)
    expect(await outcomeOf(later, jobOf())).toEqual(notStarted(changed, 'may not be executed by this user'))
    const long = externalProcess({ command: ['true', 'x'.repeat(10_000_000)] })
    expect(await outcomeOf(long, jobOf())).toEqual(notStarted('true', 'E2BIG'))
  })

  test('is refused with its options, by name, and without what may be a secret', async () => {
    const argument = async (options: unknown): Promise<unknown> => ((await made(options)) as TaskError).data['argument']
    expect(await argument(undefined)).toBe('options')
    expect(await argument({ command: 'python3 render.py' })).toBe('command')
    expect(await argument({ command: [] })).toBe('command')
    expect(await argument({ command: [''] })).toBe('command[0]')
    expect(await argument({ command: ['sh', 7] })).toBe('command[1]')
    expect(await argument({ command: ['sh', 'a\0b'] })).toBe('command[1]')
    expect(await argument({ command: ['sh'], cwd: join(folder, 'nowhere') })).toBe('cwd')
    expect(await argument({ command: ['sh'], outputBytes: 0 })).toBe('outputBytes')
    expect(await argument({ command: ['sh'], outputBytes: 16_777_217 })).toBe('outputBytes')
    expect(await argument({ command: ['sh'], killAfterMs: -1 })).toBe('killAfterMs')
    expect(await argument({ command: ['sh'], env: { 'A=B': 'c' } })).toBe('env')
    for (const [options, named] of [
      [{ command: ['sh'], env: { TOKEN: 7, KEY: 'secret' } }, 'env.TOKEN'],
      [{ command: ['sh'], env: { KEY: 'secret\0' } }, 'env.KEY'],
      [{ command: ['sh'], environment: { KEY: 'secret' } }, 'environment'],
    ] as const) {
      const error = (await made(options)) as TaskError
      expect(error.data['argument']).toBe(named)
      expect(JSON.stringify([error.message, error.data])).not.toContain('secret')
    }
  })

  test('as this is Windows is refused by name', async () => {
    const { platform } = process
    try {
      Object.defineProperty(process, 'platform', { value: 'win32' })
      expect(await made({ command: ['cmd'] })).toMatchObject({ code: 'RUNTIME_UNSUPPORTED', data: { found: 'win32' } })
    } finally {
      Object.defineProperty(process, 'platform', { value: platform })
    }
  })
})
