/** Bundles hold everything in one file, and nothing lies beside it that was not asked for. */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { rolldown } from 'rolldown'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

const run = promisify(execFile)

describe.each([{ minify: false }, { minify: true }])(
  'a bundle with a heartbeat from a thread, minified: $minify',
  ({ minify }) => {
    let folder = ''
    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), 'taskstream-bundle-'))
      const sources = join(import.meta.dirname, 'bundled')
      await using bundle = await rolldown({
        input: { program: join(sources, 'program.ts'), beat: join(sources, 'beat.ts') },
        platform: 'node',
        resolve: { conditionNames: ['@taskstream/source', 'node', 'import'] },
      })
      await bundle.write({ dir: folder, format: 'esm', minify, entryFileNames: '[name].js' })
    })
    afterAll(() => rmSync(folder, { recursive: true }))
    const program = async (env: Record<string, string>): Promise<string> => {
      const DATABASE_FILE = join(folder, `${Object.keys(env).length}.db`)
      const { stdout } = await run(process.execPath, ['--no-warnings', join(folder, 'program.js')], {
        env: { ...process.env, DATABASE_FILE, ...env },
      })
      return stdout
    }

    test('keeps the lease of a handler that computes for longer than it', async () => {
      expect(await program({})).toBe("[ 'a succeeded 1' ]\n")
    })

    test('says by name that the module of the thread was not bundled, and what to do', async () => {
      expect(await program({ BEAT: './gone.js' })).toMatch(/^THREAD_FAILED .*gone\.js.*entry of its own/)
    })
  },
)
