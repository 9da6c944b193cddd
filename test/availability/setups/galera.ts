/** Three nodes of Galera behind a switch, which sends all work to one of them as long as that one is in step. */
import { startGalera } from '../../databases/galera.ts'
import type { MariaDbServer } from '../../databases/mariadb-server.ts'
import { standStill } from '../../databases/still.ts'
import { openSwitch } from '../switch.ts'
import type { AvailabilityFault, Setup } from '../setup.ts'
import { askMysql } from './ask.ts'
import { until } from '../until.ts'

const database = 'tasks'
const inStep = '4'

export async function openGalera(): Promise<Setup> {
  await using opened = new AsyncDisposableStack()
  const { nodes } = opened.use(await startGalera(3))
  await askMysql(nodes[0].url, `create database ${database}`)
  const backends = nodes.map(({ url }) => ({
    url: `${url}${database}`,
    isUsable: async () => (await stateOf(url)).state === inStep,
  }))
  const door = opened.use(await openSwitch(backends))
  const used = (): MariaDbServer => nodes[backends.findIndex((backend) => backend === door.current)] ?? nodes[0]
  const other = (): MariaDbServer => nodes.find((node) => node !== used())!
  const untilWhole = (): Promise<void> =>
    until('all nodes are in step', async () => {
      const states = await Promise.all(nodes.map(({ url }) => stateOf(url)))
      return states.every(({ state, size }) => state === inStep && size === String(nodes.length))
    })

  /** Ends a node. It starts again, and joins the others, when work goes on. */
  const ended = (kind: string, which: () => MariaDbServer, signal: 'SIGKILL' | 'SIGTERM'): AvailabilityFault => ({
    kind,
    inflict: async () => {
      const { promise: down, resolve: start } = Promise.withResolvers<void>()
      const isDown = Promise.withResolvers<void>()
      const back = which().crash(signal, () => {
        isDown.resolve()
        return down
      })
      await isDown.promise
      return async () => {
        start()
        await back
        await untilWhole()
      }
    },
  })
  const still = (kind: string, which: () => MariaDbServer): AvailabilityFault => ({
    kind,
    inflict: async () => {
      const goOn = standStill(which().pid)
      return async () => {
        goOn()
        await untilWhole()
      }
    },
  })
  await untilWhole()
  const kept = opened.move()
  return {
    name: `Galera of three, MariaDB ${nodes[0].version}, a switch`,
    access: { engine: 'mariadb', urls: [door.url] },
    ask: async (statement) => askMysql(`${used().url}${database}`, statement),
    faults: [
      ended('node in use killed', used, 'SIGKILL'),
      still('node in use stands still', used),
      ended('node in use shut down', used, 'SIGTERM'),
      ended('another node killed', other, 'SIGKILL'),
      still('another node stands still', other),
    ],
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  }
}

async function stateOf(url: string): Promise<{ readonly state: string | undefined; readonly size: string | undefined }> {
  try {
    const rows = await askMysql(
      url,
      "show status where variable_name in ('wsrep_local_state', 'wsrep_cluster_size', 'wsrep_ready')",
    )
    const values = new Map(rows.map((row) => [row['Variable_name'], String(row['Value'])]))
    const isReady = values.get('wsrep_ready') === 'ON'
    return { state: isReady ? values.get('wsrep_local_state') : undefined, size: values.get('wsrep_cluster_size') }
  } catch {
    return { state: undefined, size: undefined }
  }
}
