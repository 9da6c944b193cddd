import { fork } from 'node:child_process'
import { once } from 'node:events'
import { startPostgres } from '../test/databases/postgres-server.ts'
import { fillTaskstream } from './speed/fill.ts'
import { withDatabase } from './hot-path/database.ts'
await using server = await startPostgres({ durable: true, settings: { shared_buffers: '1GB', max_wal_size: '8GB', synchronous_commit: 'off' } })
for (const args of [[], ['--max-semi-space-size=2'], ['--max-semi-space-size=8'], ['--max-semi-space-size=32'], ['--max-old-space-size=64'], ['--optimize-for-size'], []]) {
  const n = Number(process.argv[2] ?? 300000)
  const mib = await withDatabase(server.connection, async (connection) => {
    await fillTaskstream(connection, n)
    const t0 = performance.now()
    const child = fork(new URL('speed/memory-worker.ts', import.meta.url), { stdio: 'inherit', execArgv: [...process.execArgv, ...args] })
    const a = once(child, 'message')
    child.send({ connection, subject: 'taskstream', expected: n })
    const [r] = await a
    await once(child, 'exit')
    return [r.bytes / 2 ** 20, n / (performance.now() - t0)]
  })
  console.log(args.join(' '), mib)
}
