/** Answers the probes of an orchestrator, and Prometheus: only to this machine, as nobody is asked who it is. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export async function openHealth(
  port: number,
  stream: { readonly troubles: readonly string[] },
  metrics: () => Promise<string>,
): Promise<{ readonly url: string; close(): void }> {
  const server = createServer(async (request, response) => {
    const { troubles } = stream
    if (request.url === '/livez') response.end('alive\n')
    else if (request.url === '/readyz')
      response.writeHead(troubles.length > 0 ? 503 : 200).end(`${troubles.join(', ') || 'ready'}\n`)
    else if (request.url === '/metrics') response.setHeader('content-type', 'text/plain; version=0.0.4').end(await metrics())
    else response.writeHead(404).end('ask for /livez, /readyz or /metrics\n')
  }).listen(port, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => void server.close().closeAllConnections(),
  }
}
