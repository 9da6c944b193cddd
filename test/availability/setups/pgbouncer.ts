/** One server behind PgBouncer, each of which somebody starts again. Listeners go to the server itself. */
import { setTimeout as delay } from 'node:timers/promises'
import { startPgBouncer } from '../../databases/pgbouncer.ts'
import { startPostgres } from '../../databases/postgres-server.ts'
import { standStill } from '../../databases/still.ts'
import type { Setup } from '../setup.ts'
import { askPostgres } from './ask.ts'

const stillMs = 10_000
/** By default a server that has refused a connection is not asked again for 15 seconds. */
const settings = { server_login_retry: 1 }

export async function openPgBouncer(): Promise<Setup> {
  await using opened = new AsyncDisposableStack()
  const server = opened.use(await startPostgres({ durable: true, settings: { fsync: 'off' } }))
  const pooler = opened.use(await startPgBouncer(server.url, 40, settings))
  const kept = opened.move()
  return {
    name: `PgBouncer ${pooler.version} before PostgreSQL ${server.version}`,
    access: { engine: 'postgres', urls: [pooler.url], listenUrls: [server.url] },
    ask: (statement) => askPostgres(server.url, statement),
    faults: [
      { kind: 'pooler killed and started again', inflict: () => pooler.crash() },
      {
        kind: `pooler stands still for ${stillMs / 1_000} s`,
        inflict: async () => {
          const goOn = standStill(pooler.pid)
          await delay(stillMs)
          goOn()
        },
      },
      { kind: 'server restarted', inflict: () => server.crash('SIGINT') },
      { kind: 'server killed and started again', inflict: () => server.crash('SIGKILL') },
    ],
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  }
}
