/** Answers probes of an orchestrator, whether the process lives and whether it works, and scrapes of Prometheus. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TaskNode } from '@taskstream/task-processor'
import { contentTypes, formatOf } from '@taskstream/task-telemetry/prometheus'
import type { PrometheusMetrics } from '@taskstream/task-telemetry/prometheus'
import type { HealthAddress } from './health-address.ts'

/**
 * Listens for probes: `GET /livez` is answered with 200 as long as the process answers at all, `GET /readyz` with 503 if the worker takes no tasks. `GET
 * /metrics` tells the metrics.
 *
 * @throws Error of the system if nobody can listen at the address
 */
export async function openHealth(
  { host, port }: HealthAddress,
  node: Pick<TaskNode<unknown>, 'troubles'>,
  metrics: Pick<PrometheusMetrics, 'collect'>,
): Promise<AsyncDisposable & { readonly url: string }> {
  const server = createServer((request, response) => {
    const { troubles } = node
    const path = request.url?.split('?')[0]
    if (path === '/metrics' && request.method === 'GET') {
      const format = formatOf(request.headers.accept)
      // It never rejects.
      void metrics.collect(format).then((text) => {
        response.writeHead(200, { 'content-type': contentTypes[format], 'cache-control': 'no-store' }).end(text)
      })
      return
    }
    const [status, text] =
      request.method !== 'GET' && request.method !== 'HEAD'
        ? [405, 'only GET']
        : path === '/livez'
          ? [200, 'alive']
          : path !== '/readyz'
            ? [404, 'ask for /livez, /readyz or /metrics']
            : troubles.length === 0
              ? [200, 'ready']
              : [503, troubles.join(', ')]
    response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' }).end(`${text}\n`)
  }).listen(port, host)
  await once(server, 'listening')
  const { address, port: opened, family } = server.address() as AddressInfo
  return {
    url: `http://${family === 'IPv6' ? `[${address}]` : address}:${opened}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
