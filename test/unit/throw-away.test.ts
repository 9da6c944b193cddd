/** Servers of the tests' own: what other runs have left is cleared away, and what is not there is told from what does not start. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { NotInstalled, startInstalled } from '../databases/installed.ts'
import { makeFolder } from '../databases/throw-away.ts'

describe('a folder of a server', () => {
  const prefix = 'taskstream-server-'
  let root: string
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'taskstream-folders-'))
    vi.stubEnv('TMPDIR', root)
  })
  afterEach(() => {
    vi.unstubAllEnvs()
    rmSync(root, { recursive: true })
  })
  const leave = (name: string, owner: number): void => {
    mkdirSync(join(root, prefix + name))
    writeFileSync(join(root, prefix + name, 'owner'), String(owner))
  }
  const deadProcess = (): number => spawnSync(process.execPath, ['--version']).pid

  test('is made after those were removed whose starter is gone, and no others', () => {
    leave('of the dead', deadProcess())
    leave('of the living', process.pid)
    mkdirSync(join(root, `${prefix}being made`))
    const made = makeFolder(prefix)
    expect(readdirSync(root).map((name) => join(root, name))).toEqual(
      expect.arrayContaining([made, join(root, `${prefix}of the living`), join(root, `${prefix}being made`)]),
    )
    expect(readdirSync(root)).toHaveLength(3)
  })

  test('that another run removes at the same moment keeps nobody from starting, nor the others from being removed', () => {
    leave('a of the dead', deadProcess())
    // Listed, and not there when it is looked at.
    symlinkSync(join(root, 'nowhere'), join(root, `${prefix}b removed meanwhile`))
    leave('c of the dead', deadProcess())
    makeFolder(prefix)
    const left = readdirSync(root)
    expect(left).toHaveLength(2)
    expect(left).toContain(`${prefix}b removed meanwhile`)
  })
})

describe('an engine', () => {
  const notThere = (): Promise<never> => Promise.reject(new NotInstalled('there is no such program'))
  afterEach(() => void vi.restoreAllMocks())

  test('that is not installed is left out, and a sentence on stderr says so', async () => {
    const written = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
    expect(await startInstalled('Engine', false, notThere)).toBeUndefined()
    expect(written.mock.calls).toEqual([['Engine is left out, and its tests are skipped: there is no such program.\n']])
  })

  test('that is required and not installed is a failure', async () => {
    await expect(startInstalled('Engine', true, notThere)).rejects.toThrow('there is no such program')
  })

  test.each([true, false])('that is installed and does not start is a failure, required or not (%s)', async (required) => {
    const broken = (): Promise<never> => Promise.reject(new Error('Engine ended with 1 while starting'))
    await expect(startInstalled('Engine', required, broken)).rejects.toThrow('ended with 1')
  })
})
