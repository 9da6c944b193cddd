/** The command line is told its database in several ways, and guards those that are production. No way of it prints a password. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { run } from './command-line.ts'
import type { Run } from './command-line.ts'

const secret = 'correct-horse'

describe('the command line, of where its database is', () => {
  let folder = ''
  let database = ''
  const taskstream = (args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Run> =>
    run(args, { cwd: folder, env })
  const contexts = (content: unknown): void => writeFileSync(join(folder, 'taskstream.json'), JSON.stringify(content))

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'taskstream-cli-'))
    database = `sqlite:${join(folder, 'tasks.db')}`
    await taskstream(['migrate', 'up', '--url', database])
    await taskstream(['topic', 'create', 'here', '--url', database])
    writeFileSync(join(folder, 'address'), `${database}\n`)
    mkdirSync(join(folder, 'below'))
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  beforeEach(() =>
    contexts({
      contexts: {
        local: { file: 'address' },
        live: { variable: 'LIVE_URL', production: true },
      },
    }),
  )

  test('is told by an option, a file, the environment or a context, in this order', async () => {
    const nowhere = { TASKSTREAM_URL: 'sqlite:nowhere.db' }
    const here = { code: 0, out: 'here\n', err: '' }
    const topics = ['topics', '-o', 'name']
    expect(await taskstream([...topics, '--url', database], nowhere)).toEqual(here)
    expect(await taskstream([...topics, '--url-file', 'address'], nowhere)).toEqual(here)
    expect(await taskstream([...topics, '--context', 'local'], nowhere)).toEqual(here)
    expect(await taskstream([...topics, '--context', 'live'], { ...nowhere, LIVE_URL: database })).toEqual(here)
    expect(await taskstream(topics, { TASKSTREAM_URL: database })).toEqual(here)
    expect(await taskstream(topics)).toMatchObject({ code: 2, err: expect.stringMatching(/Which database\?/) })
    expect(await taskstream(['context', 'use', 'local'])).toEqual({ code: 0, out: 'used: local\n', err: '' })
    expect(await taskstream(topics)).toEqual(here)
    // The file is found from folders below, and its paths are its own.
    expect(await run(topics, { cwd: join(folder, 'below') })).toEqual(here)
    expect(await taskstream(topics, nowhere)).toMatchObject({ code: 1, err: expect.stringMatching(/nowhere\.db/) })
    expect((await taskstream(['context', 'use', 'local'], nowhere)).err).toMatch(/TASKSTREAM_URL is set, and goes before/)
  })

  test('lists contexts, and keeps what else is in their file', async () => {
    await taskstream(['context', 'use', 'live'])
    const { out } = await taskstream(['context', 'ls', '--no-headers'], { LIVE_URL: 'x' })
    expect(out).toMatch(/^local +\S+address\nlive +used +LIVE_URL +set +production\n$/)
    expect((await taskstream(['context', 'ls', '-o', 'name'])).out).toBe('local\nlive\n')
    expect(JSON.parse(readFileSync(join(folder, 'taskstream.json'), 'utf8'))).toMatchObject({
      use: 'live',
      contexts: { local: { file: 'address' } },
    })
  })

  test('refuses what names no database, or two, and a secret in the file of contexts', async () => {
    const password = `postgres://shop:${secret}@127.0.0.1:1/shop`
    const wrong = async (args: readonly string[], words: RegExp): Promise<void> => {
      const { code, out, err } = await taskstream(args)
      expect([args, code, out, err]).toEqual([args, 2, '', expect.stringMatching(words)])
      expect(err).not.toContain(secret)
    }
    await wrong(['topics', '--url', database, '--context', 'local'], /--url and --context cannot be given together/)
    await wrong(['topics', '--context', 'locla'], /no context "locla".*did you mean local\?/)
    await wrong(['context', 'use', 'gone'], /no context "gone".*it has: local, live/)
    await wrong(['topics', '--context', 'live'], /takes its address from LIVE_URL, which is not set/)
    await wrong(['topics', '--url-file', 'gone'], /the file gone cannot be read \(ENOENT\)/)
    for (const [content, words] of [
      [{ contexts: { a: { variable: password } } }, /must be the name of an environment variable, and never the address/],
      [{ contexts: { a: { file: password } } }, /the path of a file that has the address, and never the address/],
      [{ contexts: { a: { url: password } } }, /may have only variable, file, schema, production, and not "url"/],
      [{ contexts: { a: {} } }, /must have "variable" or "file"/],
      [{ contexts: { a: { variable: 'A', file: 'b' } } }, /and not both/],
      [{ contexts: { a: { variable: 'A', production: 'yes' } } }, /must be true or false/],
      [{ contexts: { a: { variable: 'A', schema: 5 } } }, /"schema" .* must be a text/],
      [{ contexts: [] }, /must be an object/],
      [{ contexts: {}, use: 5 }, /"use" must be/],
    ] as const) {
      contexts(content)
      await wrong(['topics', '--context', 'a'], words)
    }
    writeFileSync(join(folder, 'taskstream.json'), `{"a":"${password}"`)
    await wrong(['topics', '--context', 'a'], /it is no JSON/)
  })

  test('says in help which database is set, without its password', async () => {
    const help = async (env: Readonly<Record<string, string>>): Promise<string> => {
      const { out } = await taskstream(['topics', '--help'], env)
      expect(out).not.toContain(secret)
      return out.trimEnd().split('\n').at(-1)!
    }
    expect(await help({ TASKSTREAM_URL: `postgres://shop:${secret}@db-1/orders` })).toBe(
      'TASKSTREAM_URL is set (postgres, shop@db-1/orders)',
    )
    expect(await help({ TASKSTREAM_URL: `postgres://shop:${secret}#@db-1/orders` })).toBe(
      'TASKSTREAM_URL is set (and is no address that can be read)',
    )
    expect(await help({})).toBe('TASKSTREAM_URL is not set')
    contexts({ contexts: { live: { variable: 'LIVE_URL' } }, use: 'live' })
    expect(await help({ LIVE_URL: `mariadb://shop@db-2/orders?password=${secret}` })).toMatch(
      /^TASKSTREAM_URL is not set; context live of \S+ \(mariadb, shop@db-2\/orders\)$/,
    )
  })

  test('prints no password of a file or a context, in no error of a driver', async () => {
    const address = `postgres://shop:${secret}@127.0.0.1:1/shop`
    writeFileSync(join(folder, 'unreachable'), `${address}\n`)
    contexts({ contexts: { live: { variable: 'LIVE_URL' } } })
    for (const [args, env] of [
      [['topics', '--url-file', 'unreachable'], {}],
      [['topics', '--context', 'live'], { LIVE_URL: address }],
      [['topics', '--context', 'live'], { LIVE_URL: address, TASKSTREAM_DEBUG: '1' }],
      [['topics'], { TASKSTREAM_URL: `mysql://shop:${secret}@127.0.0.1:1/shop`, TASKSTREAM_DEBUG: '1' }],
    ] as const) {
      const { code, out, err } = await taskstream(args, env)
      expect([code, out]).toEqual([75, ''])
      expect(err).toMatch(/DATABASE_UNAVAILABLE/)
      expect(err).not.toContain(secret)
      expect(/\n +at /.test(err)).toBe('TASKSTREAM_DEBUG' in env)
    }
    // The driver quotes this path, of which the password is a part.
    const quoting = `${address}?sslrootcert=/${secret}`
    writeFileSync(join(folder, 'quoting'), quoting)
    for (const [args, env] of [
      [['topics', '--context', 'live'], { LIVE_URL: quoting }],
      [['topics', '--url-file', 'quoting'], {}],
      [['topics'], { TASKSTREAM_URL: quoting }],
    ] as const)
      expect((await taskstream(args, env)).err).toMatch(/no such file or directory, open '\/\*\*\*'/)
  })

  test('asks for the name of a production context before what is grave or large', async () => {
    const env = { LIVE_URL: database }
    const live = (args: readonly string[], options: { readonly stdin?: string } = {}): Promise<Run> =>
      run([...args, '--context', 'live'], { cwd: folder, env, ...options })
    await taskstream(['topic', 'create', 'doomed', '--url', database])
    const refusal = { code: 5, out: '', err: expect.stringMatching(/is production: nothing was written. Give --confirm live\n$/) }
    expect(await live(['topic', 'destroy', 'doomed', '--yes'])).toEqual(refusal)
    expect(await live(['migrate', 'up'])).toEqual(refusal)
    expect(await live(['migrate', 'up', '--confirm', 'local'])).toMatchObject({
      code: 5,
      err: expect.stringMatching(/--confirm local is not the context in use, which is live/),
    })
    expect((await live(['migrate', 'up', '--confirm', 'live'])).out).toMatch(/nothing to do/)
    const creations = (count: number): string => Array.from({ length: count }, (_, at) => `{"identifier":"i${at}"}\n`).join('')
    expect(await live(['push', 'doomed', '--stdin'], { stdin: creations(1_001) })).toEqual(refusal)
    expect(await live(['push', 'doomed', '--stdin'], { stdin: creations(1_000) })).toMatchObject({ code: 0 })
    expect((await live(['topic', 'destroy', 'doomed', '--confirm', 'live'])).out).toBe('destroyed: doomed\n')
  })
})
