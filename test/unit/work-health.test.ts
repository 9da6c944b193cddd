/** A worker answers probes and scrapes over HTTP, and nothing keeps an answer. */
import { describe, expect, onTestFinished, test } from 'vitest'
import { openHealth } from '../../packages/task-cli/src/work/health.ts'

async function healthOf(node: { troubles: readonly string[] }): Promise<(path: string, init?: RequestInit) => Promise<unknown>> {
  const metrics = { collect: async (format?: string) => `metrics as ${format}` }
  const health = await openHealth({ host: '127.0.0.1', port: 0 }, node, metrics)
  onTestFinished(() => health[Symbol.asyncDispose]())
  return async (path, init) => {
    const response = await fetch(`${health.url}${path}`, init)
    const { status, headers } = response
    return [status, headers.get('content-type'), headers.get('cache-control'), await response.text()]
  }
}

const plain = (status: number, text: string): unknown => [status, 'text/plain; charset=utf-8', 'no-store', text]

describe('the health of a worker', () => {
  test('is asked for by GET or HEAD, and other paths and methods are told so', async () => {
    const ask = await healthOf({ troubles: [] })
    expect(await ask('/livez')).toEqual(plain(200, 'alive\n'))
    expect(await ask('/readyz?verbose')).toEqual(plain(200, 'ready\n'))
    expect(await ask('/readyz', { method: 'HEAD' })).toEqual(plain(200, ''))
    expect(await ask('/livez', { method: 'POST' })).toEqual(plain(405, 'only GET\n'))
    expect(await ask('/metrics', { method: 'POST' })).toEqual(plain(405, 'only GET\n'))
    expect(await ask('/')).toEqual(plain(404, 'ask for /livez, /readyz or /metrics\n'))
  })

  test('has metrics in the format that the scraper takes', async () => {
    const ask = await healthOf({ troubles: ['starting'] })
    expect(await ask('/metrics')).toEqual([200, 'text/plain; version=0.0.4; charset=utf-8', 'no-store', 'metrics as text'])
    expect(await ask('/metrics?x', { headers: { accept: 'application/openmetrics-text; version=1.0.0' } })).toEqual([
      200,
      'application/openmetrics-text; version=1.0.0; charset=utf-8',
      'no-store',
      'metrics as openmetrics',
    ])
  })

  test('names what keeps the worker from taking tasks, and lives on', async () => {
    const node = { troubles: ['poll mail', 'heartbeat', 'lease'] }
    const ask = await healthOf(node)
    expect(await ask('/readyz')).toEqual(plain(503, 'poll mail, heartbeat, lease\n'))
    expect(await ask('/livez')).toEqual(plain(200, 'alive\n'))
    node.troubles = []
    expect(await ask('/readyz')).toEqual(plain(200, 'ready\n'))
  })
})
