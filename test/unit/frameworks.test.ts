/** Jobs in the servers of others, which are installed for this test alone: a request pushes, the server handles, and stops on SIGTERM. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hasPostgres, ownDatabase, ownEngines } from '../databases/own-database.ts'
import { installExample } from '../installed-example.ts'
import type { InstalledExample } from '../installed-example.ts'
import { openDatabase } from '../../examples/recipes/database.ts'
import type { Open } from '../../examples/recipes/database.ts'

const root = join(import.meta.dirname, '..', '..')
const flags = ['--no-warnings', '--conditions=@taskstream/source']

/** How each ends. After its hooks, Nest has the signal end the process. */
const servers: readonly (readonly [name: string, file: string, ending: readonly unknown[]])[] = [
  ['fastify', 'fastify.mjs', [0, null]],
  ['hono', 'hono.mjs', [0, null]],
  ['nest', 'dist/nest.js', [null, 'SIGTERM']],
]

/** Modules that have the process signalled as its stream starts, or as its server begins to listen. */
const signals = {
  starts: `
import { tracingChannel } from 'node:diagnostics_channel'
const once = { start() {
  tracingChannel('taskstream:poll').unsubscribe(once)
  process.kill(process.pid, 'SIGTERM')
} }
tracingChannel('taskstream:poll').subscribe(once)`,
  listens: `
import { Server } from 'node:net'
const { listen } = Server.prototype
Server.prototype.listen = function (...given) {
  process.kill(process.pid, 'SIGTERM')
  return listen.apply(this, given)
}`,
} as const

interface Tables {
  orders: { id: string; customer: string }
  mails: { order_id: string; customer: string }
}

async function makeTables(url: string): Promise<Open<Tables>> {
  const open = openDatabase<Tables>(url)
  await open.db.schema.createTable('orders').addColumn('id', 'text').addColumn('customer', 'text').execute()
  await open.db.schema.createTable('mails').addColumn('order_id', 'text').addColumn('customer', 'text').execute()
  return open
}

describe('in the server of others', () => {
  let example: InstalledExample
  beforeAll(async () => {
    example = await installExample('frameworks')
    const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
    const compile = (...more: readonly string[]): Promise<unknown> =>
      promisify(execFile)(process.execPath, [tsc, '-p', '.', ...more], { cwd: example.folder })
    // Nest needs JavaScript. The packages may not have been built yet, so types are those of their sources.
    await compile('--noCheck')
    await compile('--noEmit', '--customConditions', '@taskstream/source', '--allowImportingTsExtensions', '--rootDir', '/')
  }, 300_000)
  afterAll(() => example[Symbol.asyncDispose]())

  const envOf = (url: string): NodeJS.ProcessEnv => ({ ...process.env, DATABASE_URL: url.replace(/^sqlite:/, ''), PORT: '0' })

  describe.each(ownEngines)('on %s', (engine) => {
    const here = test.skipIf(engine === 'postgres' && !hasPostgres())

    here.each(servers)(
      '%s pushes with the request, handles, shows the console, and stops in phases on SIGTERM',
      async (_, file, ending) => {
        await using database = await ownDatabase(engine)
        const { db, newStream, close } = await makeTables(database.url)
        const server = spawn(process.execPath, [...flags, file], {
          cwd: example.folder,
          env: envOf(database.url),
          stdio: ['ignore', 'pipe', 'inherit'],
        })
        try {
          const [url] = (await once(createInterface(server.stdout), 'line')) as [string]
          const placed = await fetch(new URL('/orders', url), {
            method: 'POST',
            headers: { 'content-type': 'application/json' },
            body: JSON.stringify({ customer: 'ann' }),
          })
          expect(placed.status).toBe(201)
          const { id } = (await placed.json()) as { id: string }
          await expect.poll(() => db.selectFrom('mails').selectAll().execute()).toEqual([{ order_id: id, customer: 'ann' }])
          const topics = await fetch(new URL('/ops/tasks/api/v1/topics', url), { headers: { 'x-user': 'kari' } })
          expect(await topics.json()).toMatchObject({ topics: [{ topic: 'mail' }] })
          expect((await fetch(new URL('/ops/tasks/api/v1/topics', url))).status).toBe(403)
          server.kill('SIGTERM')
          expect(await once(server, 'exit')).toEqual(ending)
          const looking = newStream({ migrate: false })
          expect((await looking.transaction((tx) => looking.tasks.nodes(tx))).map(({ life }) => life)).toEqual(['stopped'])
        } finally {
          server.kill('SIGKILL')
          await close()
        }
      },
    )

    here.each(
      servers.flatMap(([name, file, ending]) =>
        (['starts', 'listens'] as const).map((when) => [name, when, file, ending] as const),
      ),
    )('%s stops in phases on a SIGTERM that comes while it %s', async (_, when, file, ending) => {
      await using database = await ownDatabase(engine)
      const { newStream, close } = await makeTables(database.url)
      const server = spawn(
        process.execPath,
        [...flags, '--import', `data:text/javascript,${encodeURIComponent(signals[when])}`, file],
        {
          cwd: example.folder,
          env: envOf(database.url),
          stdio: ['ignore', 'ignore', 'inherit'],
        },
      )
      try {
        expect(await once(server, 'exit')).toEqual(ending)
        const looking = newStream({ migrate: false })
        expect((await looking.transaction((tx) => looking.tasks.nodes(tx))).map(({ life }) => life)).toEqual(['stopped'])
      } finally {
        server.kill('SIGKILL')
        await close()
      }
    })

    here('Next starts the stream in a process of Node.js alone, and its routes are functions of requests', async () => {
      await using database = await ownDatabase(engine)
      const { db, close } = await makeTables(database.url)
      const code = `import { register } from './next-instrumentation.mjs'
import { POST } from './next-orders.mjs'
import { GET } from './next-console.mjs'
delete process.env.NEXT_RUNTIME
await register()
// A stream that was started cannot be started again.
process.env.NEXT_RUNTIME = 'nodejs'
await register()
const placed = await POST(new Request('http://shop.example/orders', { method: 'POST', body: '{"customer":"ann"}' }))
const shown = await GET(new Request('http://shop.example/ops/tasks/', { headers: { 'x-user': 'kari' } }))
console.log(placed.status, shown.status)
process.kill(process.pid, 'SIGTERM')`
      const { stdout } = await promisify(execFile)(process.execPath, [...flags, '--input-type=module', '--eval', code], {
        cwd: example.folder,
        env: envOf(database.url),
      })
      expect(stdout).toBe('201 200\n')
      expect(await db.selectFrom('orders').select('customer').execute()).toEqual([{ customer: 'ann' }])
      await close()
    })
  })
})

test.each([
  ['fastify', ['shop.mjs', 'fastify.mjs']],
  ['hono', ['shop.mjs', 'hono.mjs']],
  ['nest', ['nest-orders.ts', 'nest.ts']],
  ['next', ['shop.mjs', 'next-instrumentation.mjs', 'next-orders.mjs', 'next-console.mjs', 'next.config.mjs']],
])('the page of %s has its files as they are', (name, files) => {
  const page = readFileSync(join(root, 'docs', 'recipes', `${name}.md`), 'utf8')
  const blocks = [...page.matchAll(/^```(?:ts|js)\n(.*?)^```$/gms)].map(([, code = '']) => code)
  expect(blocks.join('\n')).toBe(files.map((file) => readFileSync(join(root, 'examples', 'frameworks', file), 'utf8')).join('\n'))
})
