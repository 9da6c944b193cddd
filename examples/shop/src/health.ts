/** Answers the probes of an orchestrator, and Prometheus: only to this machine, as nobody is asked who it is. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TaskListener } from 'taskstream'

/** What does not work at this moment, from what the stream tells. */
export class Troubles {
  readonly #found = new Set<string>(['starting'])
  readonly listener: TaskListener = {
    onError: ({ activity, topic = '' }) => {
      if (activity === 'poll' || activity === 'heartbeat') this.#found.add(`${activity} ${topic}`)
    },
    onRecovered: ({ activity, topic = '' }) => void this.#found.delete(`${activity} ${topic}`),
    onLeaseLost: () => void this.#found.add('lease'),
    // Nothing is polled without a lease.
    onStart: () => void this.#found.delete('lease'),
    onEmpty: () => void this.#found.delete('lease'),
  }

  started(): void {
    this.#found.delete('starting')
  }

  stopping(): void {
    this.#found.add('stopping')
  }

  get found(): readonly string[] {
    return [...this.#found]
  }
}

export async function openHealth(
  port: number,
  { troubles, metrics }: { readonly troubles: Troubles; readonly metrics: () => Promise<string> },
): Promise<{ readonly url: string; close(): void }> {
  const server = createServer(async (request, response) => {
    const { found } = troubles
    if (request.url === '/livez') response.end('alive\n')
    else if (request.url === '/readyz') response.writeHead(found.length > 0 ? 503 : 200).end(`${found.join(', ') || 'ready'}\n`)
    else if (request.url === '/metrics') response.setHeader('content-type', 'text/plain; version=0.0.4').end(await metrics())
    else response.writeHead(404).end('ask for /livez, /readyz or /metrics\n')
  }).listen(port, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => void server.close().closeAllConnections(),
  }
}
