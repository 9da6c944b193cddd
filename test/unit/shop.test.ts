/**
 * The example application as it is deployed: its API, worker and console are processes, on SQLite and on PostgreSQL with the least rights. The worker is
 * killed in the middle of its work.
 */
import { spawn, execFile } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openDatabase } from '../../examples/recipes/database.ts'
import { hasPostgres, ownDatabase, ownEngines } from '../databases/own-database.ts'
import { installExample } from '../installed-example.ts'
import type { InstalledExample } from '../installed-example.ts'

const root = join(import.meta.dirname, '..', '..')
const shop = join(root, 'examples', 'shop')
const flags = ['--no-warnings', '--conditions=@taskstream/source']
const read = (...path: string[]): string => readFileSync(join(shop, ...path), 'utf8')

interface Tables {
  invoices: { order_id: string }
  mails: { order_id: string; about: string }
}

interface Running {
  readonly url: string
  readonly process: ChildProcess
}

describe('the shop', () => {
  let example: InstalledExample
  beforeAll(async () => {
    example = await installExample('shop')
  }, 300_000)
  afterAll(() => example[Symbol.asyncDispose]())

  test('fits its types', { timeout: 300_000 }, async () => {
    const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
    const types = ['--customConditions', '@taskstream/source']
    await promisify(execFile)(process.execPath, [tsc, '-p', '.', ...types], { cwd: example.folder }).catch(({ stdout }) =>
      expect(stdout).toBe(''),
    )
  })

  describe.each(ownEngines)('on %s', (engine) => {
    test.skipIf(engine === 'postgres' && !hasPostgres())(
      'gives each order one invoice and one mail though the worker is killed, and reminds nobody who has paid',
      async () => {
        await using stack = new AsyncDisposableStack()
        const { url } = stack.use(await ownDatabase(engine))
        const env = {
          ...process.env,
          DATABASE_URL: url,
          PORT: '0',
          HEALTH_PORT: '0',
          LEASE_MS: '2000',
          CONSOLE_PASSWORD: 'secret',
        }
        await promisify(execFile)(process.execPath, [...flags, 'src/migrate.ts'], { cwd: example.folder, env })
        if (engine === 'postgres') env.DATABASE_URL = await withLeastRights(url, stack)

        const start = async (name: string): Promise<Running> => {
          const child = spawn(process.execPath, [...flags, `src/${name}.ts`], {
            cwd: example.folder,
            env,
            stdio: ['ignore', 'pipe', 'inherit'],
          })
          stack.defer(() => void child.kill('SIGKILL'))
          for await (const line of createInterface(child.stdout)) {
            const [, at] = new RegExp(`^${name} (http.*)$`).exec(line) ?? []
            if (at === undefined) continue
            child.stdout.resume()
            return { url: at, process: child }
          }
          throw new Error(`${name} has not started`)
        }
        const [api, killed, ops] = await Promise.all([start('api'), start('worker'), start('console')])
        const ask = async (method: string, path: string, body?: object): Promise<number> => {
          const sent = body ? { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) } : {}
          const response = await fetch(new URL(path, api.url), { method, ...sent })
          await response.arrayBuffer()
          return response.status
        }
        const place = (id: number): Promise<number> =>
          ask('PUT', `/orders/${id}`, { customer: ['ann', 'bob', 'cid'][id % 3], total: id + 1 })
        const pay = (id: number): Promise<number> => ask('POST', `/orders/${id}/payment`)

        const { db, newStream, close } = openDatabase<Tables>(url)
        stack.defer(close)
        const mailsAbout = async (about: string): Promise<string[]> => {
          const rows = await db.selectFrom('mails').select('order_id').where('about', '=', about).execute()
          return rows.map((row) => row.order_id).toSorted()
        }
        const invoiced = async (): Promise<string[]> =>
          (await db.selectFrom('invoices').select('order_id').execute()).map((row) => row.order_id).toSorted()

        const ids = Array.from({ length: 64 }, (_, id) => id)
        const all = ids.map(String).toSorted()
        const paid = ids.filter((id) => id % 4 === 0)
        const owing = ids.filter((id) => id % 4 > 0).map(String)
        for (const id of ids.slice(0, 60)) expect(await place(id)).toBe(201)
        // An answer was lost, say: the same order comes once more.
        expect(await place(7)).toBe(200)
        await expect.poll(async () => (await mailsAbout('invoice')).length).toBeGreaterThan(3)
        killed.process.kill('SIGKILL')
        await once(killed.process, 'exit')
        expect((await mailsAbout('invoice')).length).toBeLessThan(60)

        // The last orders find no worker, so that one of them is paid before its invoice is written.
        for (const id of ids.slice(60)) expect(await place(id)).toBe(201)
        for (const id of paid) expect(await pay(id)).toBe(200)
        expect(await pay(1_000)).toBe(404)
        const worker = await start('worker')
        await expect.poll(invoiced).toEqual(all)
        await expect.poll(() => mailsAbout('invoice')).toEqual(all)
        await expect.poll(() => mailsAbout('receipt')).toEqual(paid.map(String).toSorted())

        // Two weeks later.
        const stream = newStream({ migrate: false })
        const { tasks } = stream
        const reminders = await stream.transaction((tx) => tasks.page(tx, 'reminder', { size: 1_000 }))
        const waiting = reminders.filter(({ state }) => state === 'suspended').map(({ sequence }) => sequence)
        await stream.transaction((tx) => tasks.reschedule(tx, 'reminder', waiting, { delayMs: 0 }))
        await expect.poll(() => mailsAbout('reminder')).toEqual(owing.toSorted())
        const open = ['ready', 'active', 'suspended'] as const
        const left = await stream.transaction((tx) => tasks.page(tx, 'reminder', { states: open }))
        expect([left, await mailsAbout('reminder')]).toEqual([[], owing.toSorted()])
        expect([await invoiced(), await mailsAbout('invoice')]).toEqual([all, all])

        const statusOf = async (of: Running, path: string, headers = {}): Promise<number> =>
          (await fetch(new URL(path, of.url), { headers })).status
        const password = { authorization: `Basic ${btoa('kari:secret')}` }
        expect(await statusOf(ops, '/')).toBe(401)
        expect(await statusOf(ops, '/', { authorization: `Basic ${btoa('kari:wrong')}` })).toBe(401)
        expect(await statusOf(ops, '/topics/invoice', password)).toBe(200)
        for (const path of ['/livez', '/readyz']) for (const one of [api, worker]) expect(await statusOf(one, path)).toBe(200)
        const metrics = await (await fetch(new URL('/metrics', worker.url))).text()
        expect(metrics).toContain('taskstream_topic_tasks{')
        for (const { process: child } of [api, worker, ops]) {
          child.kill('SIGTERM')
          expect(await once(child, 'exit')).toEqual([0, null])
        }
      },
    )
  })
})

/** Makes the user whom grants.sql names, under a name that no other run has. @returns the address with that user */
async function withLeastRights(url: string, stack: AsyncDisposableStack): Promise<string> {
  const role = `shop_${randomUUID().replaceAll('-', '')}`
  const admin = new pg.Client({ connectionString: url })
  await admin.connect()
  await admin.query(`create role ${role} login`)
  await admin.query(read('grants.sql').replaceAll('shop_worker', role))
  stack.defer(async () => {
    await admin.query(`drop owned by ${role}; drop role ${role}`)
    await admin.end()
  })
  const own = new URL(url)
  own.username = role
  own.password = ''
  return own.href
}

test('the rights of the shop are those that the guide gives to a worker, and those on its own tables', () => {
  const guide = readFileSync(join(root, 'docs', 'guides', 'grants.md'), 'utf8')
  const worker = /<!-- postgres: worker -->\n```sql\n(.*?)```/s.exec(guide)![1]!
  expect(read('grants.sql')).toContain(worker.replaceAll('taskstream_worker', 'shop_worker'))
})

test('what the shop is deployed with names only files that are there, and variables that it reads', () => {
  const settings = read('src', 'settings.ts')
  for (const name of ['compose.yaml', 'kubernetes.yaml', 'Dockerfile', 'README.md']) {
    const text = read(name)
    for (const [path] of text.matchAll(/\bsrc\/[a-z]+\.ts\b/g)) expect(existsSync(join(shop, path)), path).toBe(true)
  }
  const set = /^ +([A-Z_]+): (?!\n)/gm
  for (const [, name = ''] of read('compose.yaml').matchAll(set))
    if (name !== 'POSTGRES_PASSWORD') expect(settings).toContain(`'${name}'`)
  for (const [, name = ''] of read('kubernetes.yaml').matchAll(/name: ([A-Z_]+)\b/g)) expect(settings).toContain(`'${name}'`)
})

test("the README's code is that of the shop", () => {
  const sources = readdirSync(join(shop, 'src')).map((name) => read('src', name))
  const blocks = [...read('README.md').matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code = '']) => code)
  expect(blocks.length).toBeGreaterThan(3)
  for (const code of blocks)
    expect(
      sources.some((source) => source.includes(code)),
      code,
    ).toBe(true)
})
