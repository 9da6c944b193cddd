/** Two nodes of a Galera cluster, each of which takes writes. */
import { existsSync } from 'node:fs'
import { startMariaDb } from './mariadb-server.ts'
import type { MariaDbServer } from './mariadb-server.ts'
import { freePort } from './throw-away.ts'

/** Debian's package of the server has this library. */
const provider = '/usr/lib/galera/libgalera_smm.so'
export const hasGalera: boolean = existsSync(provider) && existsSync('/usr/bin/rsync')

export interface Galera extends AsyncDisposable {
  readonly nodes: readonly [MariaDbServer, MariaDbServer]
}

/** Starts both nodes in about ten seconds, as the second copies the first. The first has the majority, and goes on if the second dies. */
export async function startGalera(): Promise<Galera> {
  await using opened = new AsyncDisposableStack()
  const port = await freePort()
  const first = opened.use(await startMariaDb({ settings: await settingsOf(port, 'gcomm://', 2) }))
  const second = opened.use(await startMariaDb({ settings: await settingsOf(await freePort(), `gcomm://127.0.0.1:${port}`, 1) }))
  const kept = opened.move()
  return { nodes: [first, second], [Symbol.asyncDispose]: () => kept.disposeAsync() }
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
