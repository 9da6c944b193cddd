/** Serves the console on a port. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { hostname } from 'node:os'
import { taskConsole } from '@taskstream/task-console'
import type { TaskConsoleOptions } from '@taskstream/task-console'
import { toNode } from '@taskstream/task-console/node'
import { CommandError } from '../core/exit-codes.ts'
import { Keys } from './keys.ts'

export interface ServeOptions extends Pick<
  TaskConsoleOptions<unknown>,
  'repository' | 'transactions' | 'reading' | 'environment' | 'onError'
> {
  readonly host: string
  /** 0 stands for any that is free. */
  readonly port: number
  readonly isReadOnly: boolean
  /** Who sits at the terminal. */
  readonly person: string
  readonly token?: string
}

export interface Served extends AsyncDisposable {
  /** Makes an address that opens the console once, within a minute. */
  address(): string
}

/**
 * @throws CommandError failed if nobody can listen there
 */
export async function serve({ host, port, isReadOnly, person, token, ...options }: ServeOptions): Promise<Served> {
  const server = createServer().listen(port, host)
  try {
    await once(server, 'listening')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EADDRINUSE') throw new CommandError('failed', `port ${port} is taken: choose another one with --port`)
    throw new CommandError('failed', `cannot listen at ${host} port ${port} (${code})`)
  }
  const { port: opened } = server.address() as AddressInfo
  const keys = new Keys(opened, token)
  const names = [...new Set(['127.0.0.1', 'localhost', '[::1]', urlHost(host), hostname().toLowerCase()])]
  const console = taskConsole({
    ...options,
    hosts: names.map((name) => `${name}:${opened}`),
    readOnly: isReadOnly,
    authorize: (request) => (keys.opens(request) ? { name: person, role: isReadOnly ? 'reader' : 'admin' } : undefined),
  })
  const fetch = async (request: Request): Promise<Response> => {
    const { pathname, searchParams } = new URL(request.url)
    const key = pathname === '/' ? searchParams.get('key') : null
    if (key !== null && !keys.opens(request)) {
      const cookie = keys.take(key)
      if (cookie === undefined) return refuse('This link has been used, or is older than a minute.')
      return new Response(null, {
        status: 303,
        headers: { location: './', 'set-cookie': cookie, 'referrer-policy': 'no-referrer', 'cache-control': 'no-store' },
      })
    }
    // Without the key in the address, which the history of the browser keeps.
    if (key !== null) return new Response(null, { status: 303, headers: { location: './', 'cache-control': 'no-store' } })
    const isPage =
      request.headers.get('accept')?.includes('text/html') && !pathname.startsWith('/api/') && !pathname.startsWith('/assets/')
    if (isPage && !keys.opens(request) && pathname !== '/livez' && pathname !== '/readyz')
      return refuse('This browser is not known here.')
    return console.fetch(request)
  }
  server.on('request', toNode({ basePath: '', fetch }))
  return {
    address: () => `http://${urlHost(isAny(host) ? hostname() : host)}:${opened}/?key=${keys.make()}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function refuse(why: string): Response {
  const text = `${why} Press Enter in the terminal where taskstream console runs: it prints a new link.\n`
  return new Response(text, {
    status: 403,
    headers: { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' },
  })
}

function urlHost(host: string): string {
  return host.includes(':') ? `[${host}]` : host.toLowerCase()
}

function isAny(host: string): boolean {
  return host === '0.0.0.0' || host === '::'
}
