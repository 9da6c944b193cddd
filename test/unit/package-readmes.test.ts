/** Each package says what it is, how it is installed and how it is begun with; what it says is so. */
import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { importedBy, readmeOf } from '../packed/readme.ts'
import type { Manifest } from '../packed/tarballs.ts'

const root = join(import.meta.dirname, '..', '..')
const run = promisify(execFile)
const server = process.env['TASKSTREAM_POSTGRES_SERVER']
let url = ''

beforeAll(async () => {
  if (server === undefined) return
  const admin = new pg.Client({ connectionString: server })
  await admin.connect()
  await admin.query('create database taskstream_readmes')
  await admin.end()
  url = Object.assign(new URL(server), { pathname: '/taskstream_readmes' }).href
})

describe.each(readdirSync(join(root, 'packages')))('the README of %s', (folder) => {
  const manifest = JSON.parse(readFileSync(join(root, 'packages', folder, 'package.json'), 'utf8')) as Manifest
  const readme = readmeOf(folder)
  const programs = readme.blocks('ts')
  const printed = readme.blocks('text')[0]
  let scratch = ''
  beforeAll(() => {
    scratch = mkdtempSync(join(tmpdir(), 'taskstream-readme-'))
  })
  afterAll(() => rmSync(scratch, { recursive: true }))

  test('begins with the name of the package, and is short', () => {
    expect(readme.text.split('\n')[0]).toBe(`# ${manifest.name}`)
    const lines = readme.text.trimEnd().split('\n').length
    expect(lines).toBeGreaterThanOrEqual(25)
    expect(lines).toBeLessThanOrEqual(60)
  })

  test('installs the package, with its peers and what its example imports, and nothing else', () => {
    const [first, ...others] = readme.installs
    expect(first).toBe(manifest.name)
    const imported = [...new Set(programs.flatMap(importedBy))]
    const unknown = others.filter((name) => manifest.peerDependencies?.[name] === undefined && !imported.includes(name))
    expect(unknown).toEqual([])
    const also = /The first example also needs (.*?)[,.]/s.exec(readme.text)?.[1] ?? ''
    expect(imported.filter((name) => !readme.installs.includes(name) && !also.includes(`\`${name}\``))).toEqual([])
  })

  test('names pages that are there', () => {
    expect(readme.pages.length).toBeGreaterThan(1)
    expect(readme.pages.filter((page) => !existsSync(join(root, page)))).toEqual([])
  })

  test.runIf(programs.length > 0)('has a first example that prints what it says', async () => {
    for (const program of programs) {
      if (url === '' && program.includes('DATABASE_URL')) continue
      const { stdout } = await run(
        process.execPath,
        [
          '--no-warnings',
          '--conditions=@taskstream/source',
          '--input-type=module-typescript',
          '--eval',
          program.replace("'greet.db'", "':memory:'"),
        ],
        // From here the package finds itself, and what the workspace has.
        { cwd: join(root, 'packages', folder), timeout: 60_000, env: { ...process.env, DATABASE_URL: url } },
      )
      expect(stdout).toBe(printed)
    }
  })

  test.runIf(programs.length === 0)('has first commands that print what it says', async () => {
    const [, commands = ''] = readme.blocks('sh')
    const cli = join(root, 'packages', 'task-cli', 'src', 'cli.ts')
    const command = `taskstream() { '${process.execPath}' --no-warnings --conditions=@taskstream/source '${cli}' "$@"; }`
    const { stdout } = await run('sh', ['-ec', `${command}\n${commands}`], { cwd: scratch, timeout: 60_000 })
    expect(stdout).toBe(printed)
  })
})
