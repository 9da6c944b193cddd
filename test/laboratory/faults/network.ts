/** Faults of the network between one process and the server. */
import type { Member } from '../crew.ts'
import type { Fault, Scene } from '../fault.ts'
import type { Proxy, Side } from '../proxy.ts'

/** Does something to the network of a process that uses one. */
function between(kind: string, inflict: (proxy: Proxy, scene: Scene) => Promise<number> | number, weight = 1): Fault {
  return {
    kind,
    weight,
    inflict: async (scene) => {
      const member: Member | undefined = scene.crew.any()
      return member?.proxy ? inflict(member.proxy, scene) : 0
    },
  }
}

const commit = /\bcommit\b/i
const anything = /[^]/

export const networkFaults: readonly Fault[] = [
  between('connections cut', (proxy) => proxy.cut(), 3),
  between('connections half closed', (proxy, { random }) => proxy.halfClose(random() < 0.5 ? 'client' : 'server')),
  between('network slow', async (proxy, { pause, random }) => {
    proxy.delayMs = 20 + random() * 200
    await pause(500, 2_000)
    proxy.delayMs = 0
    return proxy.connections
  }),
  between('connections refused', async (proxy, { pause }) => {
    proxy.isRefusing = true
    const met = proxy.cut()
    await pause(200, 1_500)
    proxy.isRefusing = false
    return met
  }),
  stall('statement stalled', anything, 'statement', 'freed'),
  stall('statement stalled and cut', anything, 'statement', 'cut'),
  stall('answer stalled', anything, 'answer', 'freed'),
  stall('commit stalled', commit, 'statement', 'freed'),
  stall('commit lost', commit, 'statement', 'cut', 2),
  stall('commit unheard', commit, 'answer', 'cut', 2),
]

function stall(kind: string, pattern: RegExp, side: Side, end: 'freed' | 'cut', weight = 1): Fault {
  return between(
    kind,
    async (proxy, { pause }) => {
      const caught = await proxy.trap(pattern, side, 3_000)
      if (!caught) return 0
      await pause(50, 3_000)
      if (end === 'freed') caught.free()
      else caught.cut()
      return 1
    },
    weight,
  )
}
