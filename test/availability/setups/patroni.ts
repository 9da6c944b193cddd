/** Three servers under Patroni. Applications have the addresses of all servers, or that of a switch that asks Patroni which one is the primary. */
import { setTimeout as delay } from 'node:timers/promises'
import { startPatroni } from '../../databases/patroni.ts'
import type { PatroniMember } from '../../databases/patroni.ts'
import { standStill } from '../../databases/still.ts'
import { openSwitch } from '../switch.ts'
import type { Mend, Setup } from '../setup.ts'
import { askPostgres } from './ask.ts'

export interface PatroniSetupOptions {
  readonly address: 'servers' | 'switch'
  readonly ttl: number
}

export async function openPatroni({ address, ttl }: PatroniSetupOptions): Promise<Setup> {
  await using opened = new AsyncDisposableStack()
  const cluster = opened.use(await startPatroni({ ttl }))
  const backends = cluster.members.map(({ url, restUrl }) => ({
    url,
    isUsable: async (signal: AbortSignal) => (await fetch(`${restUrl}/primary`, { signal })).ok,
  }))
  const urls =
    address === 'switch' ? [opened.use(await openSwitch(backends)).url] : cluster.members.map(({ url }: PatroniMember) => url)
  const name = `Patroni ${cluster.version}, ttl ${ttl} s, ${address === 'switch' ? 'a switch' : 'addresses of all servers'}`
  const kill = (member: PatroniMember): Mend => {
    process.kill(member.patroniPid, 'SIGKILL')
    process.kill(member.serverPid, 'SIGKILL')
    return async () => {
      member.start()
      return cluster.untilWhole()
    }
  }
  const still = ({ patroniPid, serverPid }: PatroniMember): Mend => {
    // Patroni first: a server that stands still alone, it would end.
    const goOn = standStill(patroniPid, serverPid)
    return async () => {
      goOn()
      return cluster.untilWhole()
    }
  }
  const kept = opened.move()
  return {
    name,
    access: { engine: 'postgres', urls },
    ask: async (statement) => askPostgres((await cluster.leader()).url, statement),
    faults: [
      {
        kind: 'primary killed',
        inflict: async () => {
          process.kill((await cluster.leader()).serverPid, 'SIGKILL')
          return cluster.untilWhole
        },
      },
      { kind: 'primary and its Patroni killed', inflict: async () => kill(await cluster.leader()) },
      {
        kind: 'switchover',
        inflict: async () => {
          await cluster.control('switchover', 'taskstream', '--force')
          return cluster.untilWhole
        },
      },
      {
        kind: 'primary and its Patroni stand still',
        inflict: async () => still(await cluster.leader()),
      },
      {
        kind: 'primary restarted',
        inflict: async () => {
          await cluster.control('restart', 'taskstream', (await cluster.leader()).name, '--force')
          return cluster.untilWhole
        },
      },
      { kind: 'synchronous standby killed', inflict: async () => kill(await cluster.synchronous()) },
      {
        kind: 'synchronous standby stands still',
        inflict: async () => still(await cluster.synchronous()),
      },
      {
        kind: 'store stands still',
        inflict: async () => {
          const goOn = standStill(cluster.storePid)
          // Meanwhile the leader's key runs out, and nobody can prolong it.
          await delay(1_500 * ttl)
          goOn()
          return cluster.untilWhole
        },
      },
    ],
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  }
}
