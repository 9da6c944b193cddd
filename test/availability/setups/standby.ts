/** A primary and a standby that each commit waits for, behind an address that follows whoever takes writes. Somebody promotes the standby at once. */
import { startPostgres } from '../../databases/postgres-server.ts'
import type { PostgresServer } from '../../databases/postgres-server.ts'
import { standStill } from '../../databases/still.ts'
import { openSwitch } from '../switch.ts'
import type { Backend } from '../switch.ts'
import type { Setup } from '../setup.ts'
import { askPostgres } from './ask.ts'
import { until } from '../until.ts'

export async function openStandby(): Promise<Setup> {
  await using opened = new AsyncDisposableStack()
  let count = 0
  let primary = await startPostgres({ durable: true, settings: { fsync: 'off' } })
  opened.defer(() => primary.stop())
  let standby: PostgresServer | undefined
  opened.defer(async () => standby?.stop())
  await follow()
  const door = opened.use(await openSwitch(backends()))

  function backends(): readonly Backend[] {
    return [primary, standby!].map(({ url }) => ({
      url,
      isUsable: async () => (await askPostgres(url, 'select pg_is_in_recovery() as standby'))[0]?.['standby'] === false,
    }))
  }

  /** Makes a standby. For the copy the primary is shut down and started again. */
  async function follow(): Promise<void> {
    const name = `follower_${++count}`
    standby = await primary.standby(name)
    const isSync = `select count(*) as count from pg_stat_replication where application_name = '${name}' and sync_state = 'sync'`
    await until('the standby follows', async () => Number((await askPostgres(primary.url, isSync))[0]?.['count']) === 1)
  }

  async function promote(goOn: () => void = () => {}): Promise<() => Promise<void>> {
    const former = primary
    await askPostgres(standby!.url, 'select pg_promote(true)')
    primary = standby!
    standby = undefined
    return async () => {
      // Nobody may write there any more. Its sessions end as they go on, and see that their server is gone.
      await former.kill()
      goOn()
      await former.stop()
      await follow()
      door.backends = backends()
      await until('the switch has a server', async () => door.current?.url === primary.url)
    }
  }

  const kept = opened.move()
  return {
    name: `PostgreSQL ${primary.version} with a synchronous standby, a switch`,
    access: { engine: 'postgres', urls: [door.url] },
    ask: (statement) => askPostgres(primary.url, statement),
    faults: [
      {
        kind: 'primary killed, standby promoted',
        inflict: async () => {
          await primary.kill()
          return promote()
        },
      },
      {
        kind: 'primary stands still, standby promoted',
        inflict: async () => promote(standStill(primary.pid)),
      },
      { kind: 'primary restarted', inflict: () => primary.crash('SIGINT') },
      { kind: 'primary killed and started again', inflict: () => primary.crash('SIGKILL') },
    ],
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  }
}
