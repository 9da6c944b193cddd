/** The pages of the console on every engine, as a browser is given them. */
import { TaskDecision } from '@taskstream/task-api'
import { useFixture } from '@taskstream/task-testing/suite'
import { beforeAll, describe, expect, test } from 'vitest'
import { canRun, engine } from '../subject.ts'
import { makeScene, pagePaths, Visitor } from './console-scene.ts'
import type { Scene } from './console-scene.ts'

const taskOf = ({ topic, failed }: Scene): string => `topics/${topic}/tasks/${failed}`

describe.skipIf(!canRun)('the pages of the console', () => {
  const fixture = useFixture(engine)
  const visitor = new Visitor(fixture)
  let scene: Scene
  beforeAll(async () => void (scene = await makeScene(fixture)))

  test('shows every page, under any path', async () => {
    const console = visitor.consoleFor({ name: 'kari', role: 'reader' }, { basePath: '/ops/tasks', environment: 'production' })
    for (const path of pagePaths(scene)) {
      const response = await visitor.get(console, `ops/tasks/${path}`)
      const page = await response.text()
      expect({ path, status: response.status, type: response.headers.get('content-type') }).toEqual({
        path,
        status: 200,
        type: 'text/html; charset=UTF-8',
      })
      expect(page.match(/<h1>/g)).toHaveLength(1)
      // Links are relative: each leads to a page of the console, wherever that is.
      for (const [, href] of page.matchAll(/(?:href|src|action)="([^"]*)"/g)) {
        if (href!.startsWith('data:') || href!.startsWith('#')) continue
        const url = new URL(href!.replaceAll('&amp;', '&'), `http://ops.example/ops/tasks/${path}`)
        expect(url.pathname).toMatch(/^\/ops\/tasks\//)
      }
    }
    const bare = await visitor.get(console, 'ops/tasks')
    expect([bare.status, new URL(bare.headers.get('location')!, 'http://ops.example/ops/tasks').pathname]).toEqual([
      307,
      '/ops/tasks/',
    ])
    expect((await visitor.get(console, 'elsewhere')).status).toBe(404)
    const missing = await visitor.get(console, 'ops/tasks/topics/nothing', { accept: 'text/html' })
    expect([missing.status, (await missing.text()).includes('There is no such thing')]).toEqual([404, true])
  })

  test('leads from an attempt to its trace and its logs, where the console is told who shows them', async () => {
    const trace = '0af7651916cd43dd8448eb211c80319c'
    await fixture.nextTopic()
    const [task] = await fixture.push('a')
    const [held] = await fixture.poll()
    const decisions = new Map([[held!, TaskDecision.failure('no')]])
    const traces = new Map([[held!, trace]])
    await fixture.commit((transaction) => fixture.tasks.complete(transaction, fixture.topic, decisions, { traces }))
    const pageOf = async (more: { readonly traceUrl?: string; readonly logsUrl?: string }): Promise<string> =>
      (await visitor.get(visitor.as('viewer', more), `topics/${fixture.topic}/tasks/${task!.sequence}`)).text()
    expect(await pageOf({})).toContain(trace)
    const page = await pageOf({
      traceUrl: 'https://traces.example/trace/{traceId}',
      logsUrl: 'https://logs.example/?q=%7Btopic%3D{topic}%7D&at={sequence}.{attempt}',
    })
    expect(page).toContain(`href="https://traces.example/trace/${trace}"`)
    const at = `at=${task!.sequence}.1`
    expect(page).toContain(`href="https://logs.example/?q=%7Btopic%3D${encodeURIComponent(fixture.topic)}%7D&amp;${at}"`)
    const other = (
      await visitor.get(visitor.as('viewer', { traceUrl: 'https://traces.example/{traceId}' }), taskOf(scene))
    ).text()
    expect(await other).not.toContain('traces.example')
    for (const [option, wrong] of [
      ['traceUrl', 'https://traces.example/'],
      ['traceUrl', 'javascript:alert({traceId})'],
      ['traceUrl', '/trace/{traceId}'],
      ['logsUrl', 'https://logs.example/{trace}'],
    ] as const)
      expect(() => visitor.as('viewer', { [option]: wrong })).toThrow(new RegExp(`${option}.*must|${option}.*no value for`))
  })

  test('answers an unchanged question with nothing but that', async () => {
    const console = visitor.as('viewer')
    const first = await visitor.get(console, 'api/v1/nodes')
    const tag = first.headers.get('etag')!
    const second = await visitor.get(console, 'api/v1/nodes', { 'if-none-match': tag })
    expect([second.status, await second.text()]).toEqual([304, ''])
  })

  test('lets a browser load and run only its own', async () => {
    const response = await visitor.get(visitor.as('viewer'), '')
    const policy = response.headers.get('content-security-policy')
    expect(policy).toContain("default-src 'none'")
    expect(policy).toContain("script-src 'self'")
    expect(policy).toContain("frame-ancestors 'none'")
    expect(policy).toContain("require-trusted-types-for 'script'")
    expect(
      Object.fromEntries(
        ['x-content-type-options', 'referrer-policy', 'cross-origin-opener-policy', 'cache-control'].map((name) => [
          name,
          response.headers.get(name),
        ]),
      ),
    ).toEqual({
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'same-origin',
      'cross-origin-opener-policy': 'same-origin',
      'cache-control': 'no-store',
    })
  })

  test('answers for its own hosts, and is written to by its own pages', async () => {
    const console = visitor.consoleFor({ name: 'kari', role: 'admin' }, { hosts: ['ops.example'] })
    expect((await visitor.get(console, 'api/v1/info')).status).toBe(200)
    expect(await (await visitor.get(console, 'api/v1/info', { host: 'evil.example' })).json()).toMatchObject({
      code: 'HOST_UNKNOWN',
    })
    const post = async (headers: Record<string, string>): Promise<unknown> =>
      (
        (await (
          await console.fetch(new Request('http://ops.example/api/v1/topics', { method: 'POST', headers, body: '{}' }))
        ).json()) as { code: string }
      ).code
    for (const headers of [
      {},
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site', origin: 'http://ops.example' },
      { 'sec-fetch-site': 'cross-site', 'content-type': 'application/json' },
      { origin: 'http://evil.example' },
      { origin: 'null' },
    ])
      expect({ headers, code: await post(headers) }).toEqual({ headers, code: 'ORIGIN_REFUSED' })
    for (const headers of [{ 'sec-fetch-site': 'same-origin' }, { origin: 'https://ops.example' }, { authorization: 'Bearer x' }])
      expect({ headers, code: await post(headers) }).toEqual({ headers, code: 'ARGUMENT_INVALID' })
  })

  test('asks the database once for all who look at the same time', async () => {
    let count = 0
    const transactions: typeof fixture.subject.transactions = async (work, options) => {
      count++
      return fixture.subject.transactions(work, options)
    }
    const transactionsOf = async (visitors: number): Promise<number> => {
      count = 0
      const console = visitor.consoleFor({ name: 'kari', role: 'viewer' }, { transactions })
      await Promise.all(Array.from({ length: visitors }, () => visitor.get(console, 'api/v1/topics')))
      return count
    }
    expect(await transactionsOf(20)).toBe(await transactionsOf(1))
  })

  test('offers what changes something to those who may do it, and refuses it to the others', async () => {
    const { topic, failed } = scene
    const asked = `act?deed=redrive&topic=${topic}&state=failed`
    for (const role of ['viewer', 'reader'] as const) {
      expect(await (await visitor.get(visitor.as(role), `topics/${topic}/tasks/${failed}`)).text()).not.toContain(
        '<form class="act"',
      )
      expect((await visitor.get(visitor.as(role), asked)).status).toBe(403)
    }
    const operator = visitor.as('operator')
    expect(await (await visitor.get(operator, `topics/${topic}/tasks/${failed}`)).text()).toContain('Redrive…')
    expect((await visitor.get(operator, asked)).status).toBe(200)
    expect((await visitor.get(operator, `act?deed=purge&topic=${topic}&state=failed`)).status).toBe(403)
    expect((await visitor.get(visitor.as('admin', { readOnly: true }), asked)).status).toBe(405)
    expect(await (await visitor.get(visitor.as('admin', { readOnly: true }), `topics/${topic}`)).text()).not.toContain(
      '<form class="act"',
    )
    const post = async (path: string, headers: Record<string, string>): Promise<number> =>
      (
        await operator.fetch(
          new Request(`http://ops.example/${path}`, {
            method: 'POST',
            headers,
            body: new URLSearchParams({ deed: 'redrive', topic, sequence: String(failed) }),
          }),
        )
      ).status
    for (const path of ['act', `topics/${topic}/pause`, 'audit/x/undo', 'timers/system/nightly/pause', 'nodes/x/quiet'])
      expect({ path, status: await post(path, { 'sec-fetch-site': 'cross-site' }) }).toEqual({ path, status: 403 })
    expect(await post(`act`, { 'sec-fetch-site': 'same-origin' })).toBe(200)
    expect(await post(`act`, { 'sec-fetch-site': 'same-origin' })).toBe(200)
  })
})
