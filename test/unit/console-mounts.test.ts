/** The console in the servers of others, which are installed for this test alone. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { cp, mkdir, mkdtemp, readdir, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

const root = join(import.meta.dirname, '..', '..')
const conditions = '--conditions=@taskstream/source'

describe('the console in another server', () => {
  let folder = ''
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'taskstream-mounts-'))
    await cp(join(root, 'examples', 'console'), folder, { recursive: true })
    await promisify(execFile)('npm', ['install', '--no-audit', '--no-fund', '--no-package-lock', '--silent'], { cwd: folder })
    await mkdir(join(folder, 'node_modules', '@taskstream'))
    for (const name of await readdir(join(root, 'packages')))
      await symlink(join(root, 'packages', name), join(folder, 'node_modules', '@taskstream', name))
  }, 300_000)
  afterAll(() => rm(folder, { recursive: true, force: true }))

  const user = { 'x-user': 'kari' }
  const form = { ...user, 'sec-fetch-site': 'same-origin' }
  const json = { ...user, authorization: 'Bearer x', 'content-type': 'application/json' }
  /** What everybody who mounts it needs: pages, what they load, forms, JSON, and nothing for those who are not known. */
  const expectMounted = async (url: string, ask: (request: Request) => Promise<Response>): Promise<void> => {
    const get = (path: string, headers: Record<string, string> = user): Promise<Response> =>
      ask(new Request(new URL(path, url), { headers, redirect: 'manual' }))
    const page = await get('')
    const text = await page.text()
    expect([page.status, text.includes('invoices')]).toEqual([200, true])
    const sheet = /href="([^"]+\.css)"/.exec(text)![1]!
    expect((await get(sheet)).status).toBe(200)
    const bare = await get('/ops/tasks')
    expect([bare.status, new URL(bare.headers.get('location')!, new URL('/ops/tasks', url)).pathname]).toEqual([
      307,
      '/ops/tasks/',
    ])
    expect((await get('api/v1/topics', {})).status).toBe(403)
    const post = async (
      method: string,
      path: string,
      headers: Record<string, string>,
      body: NonNullable<RequestInit['body']>,
    ): Promise<Response> => ask(new Request(new URL(path, url), { method, headers, body, duplex: 'half' }))
    const paused = await post('POST', 'topics/invoices/pause', form, new URLSearchParams({ note: 'a deploy & more' }))
    expect([paused.status, (await paused.text()).includes('Done.')]).toEqual([200, true])
    const { topics } = (await (await get('api/v1/topics')).json()) as { topics: object[] }
    expect(topics).toMatchObject([{ state: 'paused', paused: { actor: 'kari', note: 'a deploy & more' } }])
    const change = (body: NonNullable<RequestInit['body']>): Promise<Response> =>
      post('PATCH', 'api/v1/topics/invoices', json, body)
    expect(await (await change('{"active":true}')).json()).toMatchObject({ changed: true })
    // A body that is sent as it is made has no length.
    expect(await (await change(new Blob(['{"active":', 'false}']).stream())).json()).toMatchObject({ changed: true })
    expect((await change(new Blob(['"', 'a'.repeat(600_000), '"']).stream())).status).toBe(413)
    const empty = new Request(new URL('api/v1/topics/invoices', url), { method: 'PATCH', headers: json })
    expect((await ask(empty)).status).toBe(400)
  }

  for (const name of ['http', 'express', 'fastify', 'hono', 'nest'])
    test(`is mounted in ${name}`, async () => {
      const server = spawn(process.execPath, ['--no-warnings', conditions, `${name}.mjs`], {
        cwd: folder,
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      try {
        const [url] = (await once(createInterface(server.stdout), 'line')) as [string]
        await expectMounted(url, (request) => fetch(request))
      } finally {
        server.kill()
        await once(server, 'close')
      }
    })

  test('is a route of Next, whose handlers are functions of requests', async () => {
    const code = `import { GET, POST, PATCH } from './next-route.mjs'
const { status } = await GET(new Request('http://shop.example/ops/tasks/', { headers: { 'x-user': 'kari' } }))
const sent = await PATCH(new Request('http://shop.example/ops/tasks/api/v1/topics/invoices', { method: 'PATCH', headers: ${JSON.stringify(json)}, body: '{"active":false}' }))
console.log(status, sent.status, POST === GET)`
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['--no-warnings', conditions, '--input-type=module', '--eval', code],
      { cwd: folder },
    )
    expect(stdout).toBe('200 200 true\n')
  })

  test('is mounted as the guide says', () => {
    const guide = readFileSync(join(root, 'docs', 'guides', 'console.md'), 'utf8')
    const pieces = [...guide.matchAll(/^```js\n(.*?)^```$/gms)].map(([, code]) => code)
    const files = ['console', 'express', 'fastify', 'hono', 'nest', 'http', 'next-route']
    expect(pieces).toEqual(files.map((name) => readFileSync(join(root, 'examples', 'console', `${name}.mjs`), 'utf8')))
  })
})
