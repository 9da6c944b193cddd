/** Two or three nodes of a Galera cluster, each of which takes writes. */
import { existsSync } from 'node:fs'
import { startMariaDb } from './mariadb-server.ts'
import type { MariaDbServer } from './mariadb-server.ts'
import { freePort } from './throw-away.ts'

/** Debian's package of the server has this library. */
const provider = '/usr/lib/galera/libgalera_smm.so'
export const hasGalera: boolean = existsSync(provider) && existsSync('/usr/bin/rsync')

export interface Galera extends AsyncDisposable {
  readonly nodes: readonly [MariaDbServer, MariaDbServer, ...MariaDbServer[]]
}

/**
 * Starts nodes one after the other, in some five seconds each, as each copies the first. Of two the first has the majority, and goes on if the second
 * dies; of three any two have it.
 */
export async function startGalera(count: 2 | 3 = 2): Promise<Galera> {
  await using opened = new AsyncDisposableStack()
  const ports: number[] = []
  for (let index = 0; index < count; index++) ports.push(await freePort())
  const everybody = `gcomm://${ports.map((port) => `127.0.0.1:${port}`).join()}`
  const nodes: MariaDbServer[] = []
  for (const [index, port] of ports.entries()) {
    // The first makes a cluster, and the others join it. Whoever starts again joins those that are left.
    const settings = await settingsOf(port, index === 0 ? 'gcomm://' : everybody, count === 2 && index === 0 ? 2 : 1)
    nodes.push(opened.use(await startMariaDb({ settings })))
    settings['wsrep-cluster-address'] = everybody
  }
  const kept = opened.move()
  const [first, second, ...others] = nodes
  return { nodes: [first!, second!, ...others], [Symbol.asyncDispose]: () => kept.disposeAsync() }
}

/** https://mariadb.com/kb/en/configuring-mariadb-galera-cluster/ */
async function settingsOf(port: number, cluster: string, weight: number): Promise<Record<string, string>> {
  const transfers = [await freePort(), await freePort()] as const
  return {
    'wsrep-on': 'ON',
    'wsrep-provider': provider,
    'wsrep-cluster-address': cluster,
    'wsrep-provider-options': `gmcast.listen_addr=tcp://127.0.0.1:${port};ist.recv_addr=127.0.0.1:${transfers[0]};pc.weight=${weight}`,
    'wsrep-node-address': '127.0.0.1',
    'wsrep-sst-method': 'rsync',
    'wsrep-sst-receive-address': `127.0.0.1:${transfers[1]}`,
    'binlog-format': 'ROW',
    'innodb-autoinc-lock-mode': '2',
  }
}
