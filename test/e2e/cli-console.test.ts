/** The console of the command line: who may look, from where, and for how long. */
import { once } from 'node:events'
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { useFixture } from '@taskstream/task-testing/suite'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { canRun, engine } from '../subject.ts'
import { follow, run, urlOf } from './command-line.ts'
import type { Following } from './command-line.ts'

describe.skipIf(!canRun)('the console of the command line', () => {
  const fixture = useFixture(engine)
  let [url, folder, tokenFile] = ['', '', '']
  const token = 'a-token-that-nobody-guesses-1234'
  beforeAll(() => {
    url = urlOf(fixture.subject)
    folder = mkdtempSync(join(tmpdir(), 'taskstream-'))
    tokenFile = join(folder, 'token')
    writeFileSync(tokenFile, `${token}\n`)
    chmodSync(tokenFile, 0o600)
  })
  afterAll(() => rmSync(folder, { recursive: true }))

  const start = (...args: readonly string[]): Following => follow(['console', '--port', '0', '--url', url, ...args])
  const linkOf = async (started: Following): Promise<URL> => {
    await started.until(/http:\S+key=\S+/)
    return new URL(/http:\S+key=\S+/.exec(started.written())![0])
  }
  /** Asks without a browser's care: any header may be given. */
  const ask = async (
    at: URL,
    path: string,
    headers: Readonly<Record<string, string>> = {},
    method = 'GET',
  ): Promise<{ readonly status: number; readonly text: string; readonly headers: IncomingMessage['headers'] }> => {
    const sent = request(new URL(path, at), { headers, method }).end()
    const [answer] = (await once(sent, 'response')) as [IncomingMessage]
    return { status: answer.statusCode!, text: (await answer.toArray()).join(''), headers: answer.headers }
  }

  test('opens by a link that works once, and by nothing else', async () => {
    await fixture.push('a')
    await using started = start()
    const link = await linkOf(started)
    expect(link.hostname).toBe('127.0.0.1')
    expect(await ask(link, '/api/v1/topics')).toMatchObject({ status: 403 })
    expect(await ask(link, '/', { accept: 'text/html' })).toMatchObject({
      status: 403,
      text: expect.stringContaining('Press Enter'),
    })
    expect(await ask(link, '/?key=guessed')).toMatchObject({ status: 403 })
    const opened = await ask(link, link.href)
    expect(opened).toMatchObject({ status: 303, headers: { location: './' } })
    const [cookie] = opened.headers['set-cookie']!
    expect(cookie).toMatch(/^taskstream-\d+=[\w-]{43}; HttpOnly; SameSite=Strict; Path=\/$/)
    expect(await ask(link, link.href)).toMatchObject({ status: 403, text: expect.stringContaining('has been used') })
    const known = { cookie: cookie!.split(';')[0]! }
    expect(await ask(link, '/', { ...known, accept: 'text/html' })).toMatchObject({
      status: 200,
      text: expect.stringContaining(fixture.topic),
    })
    expect(JSON.parse((await ask(link, '/api/v1/info', known)).text)).toMatchObject({ role: 'admin', readOnly: false })
    // A page of somebody else whose name leads here is not answered.
    expect(await ask(link, '/api/v1/topics', { ...known, host: `evil.example:${link.port}` })).toMatchObject({
      status: 403,
      text: expect.stringContaining('HOST_UNKNOWN'),
    })
    expect(await ask(link, '/api/v1/topics', { ...known, host: `localhost:${link.port}` })).toMatchObject({ status: 200 })
    expect(await started.interrupt()).toMatchObject({ code: 0 })
  })

  // Other systems open a link by programs of their own.
  test.runIf(process.platform === 'linux')('opens the link in a browser, if that is asked for', async () => {
    const opened = join(folder, 'opened')
    writeFileSync(join(folder, 'xdg-open'), `#!/bin/sh\necho "$#" "$1" > "${opened}"\n`)
    chmodSync(join(folder, 'xdg-open'), 0o755)
    const env = { PATH: `${folder}${delimiter}${process.env['PATH']}` }
    await using started = follow(['console', '--port', '0', '--open', '--url', url], { env })
    const link = await linkOf(started)
    await expect.poll(() => existsSync(opened) && readFileSync(opened, 'utf8')).toBe(`1 ${link.href}\n`)
    expect(await started.interrupt()).toMatchObject({ code: 0 })
    // A machine without a browser is told the link all the same.
    await using alone = follow(['console', '--port', '0', '--open', '--url', url], { env: { PATH: folder.replace(/.$/, '') } })
    expect((await ask(await linkOf(alone), '/')).status).toBe(403)
  })

  test('answers many pages at the same time', async () => {
    await using started = start()
    const link = await linkOf(started)
    const cookie = (await ask(link, link.href)).headers['set-cookie']![0]!.split(';')[0]!
    const paths = ['/', '/errors', '/nodes', '/next', '/health', '/changes', `/topics/${fixture.topic}`, '/find?q=a']
    const answers = await Promise.all([...paths, ...paths, ...paths].map((path) => ask(link, path, { cookie })))
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
  })

  test('can be read-only', async () => {
    await using started = start('--read-only', '--token-file', tokenFile)
    const link = await linkOf(started)
    expect(JSON.parse((await ask(link, '/api/v1/info', { authorization: `Bearer ${token}` })).text)).toMatchObject({
      role: 'reader',
      readOnly: true,
      writes: false,
    })
    expect((await ask(link, '/api/v1/info', { authorization: `Bearer ${token}x` })).status).toBe(403)
  })

  test('is reached from elsewhere only with a token', async () => {
    expect(await run(['console', '--url', url, '--host', '0.0.0.0'])).toMatchObject({
      code: 2,
      err: expect.stringContaining('--token-file'),
    })
    const short = join(folder, 'short')
    writeFileSync(short, 'abc')
    expect(await run(['console', '--url', url, '--token-file', short])).toMatchObject({
      code: 2,
      err: expect.stringContaining('has 3 characters'),
    })
    expect(await run(['console', '--url', url, '--token-file', join(folder, 'none')])).toMatchObject({
      code: 2,
      err: expect.stringContaining('ENOENT'),
    })
  })

  test('says that its port is taken', async () => {
    const other = createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    const port = String((other.address() as AddressInfo).port)
    expect(await run(['console', '--url', url, '--port', port])).toMatchObject({
      code: 1,
      err: expect.stringContaining(`port ${port} is taken`),
    })
    other.close()
  })
})
