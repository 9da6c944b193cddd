/** One process of a drain: two loops that poll and complete until nothing comes. */
import { once } from 'node:events'
import type { Connection } from '../scenarios/lab.ts'
import { connect, subjects, usedBy } from './subjects.ts'

export interface DrainOrder {
  readonly connection: Connection
  readonly subject: string
  readonly owner: string
  readonly size: number
  readonly loops: number
  /** Whether a poll waits for the one who cuts, instead of trying again. */
  readonly wait: boolean
}
export interface Drained {
  readonly tasks: number
  readonly polls: number
  readonly busy: number
  /** Milliseconds of a poll that took tasks, busy ones before it included; the sum. */
  readonly pollMs: number
  readonly nodeUs: number
  readonly serverUs: number
  readonly wal: number
  readonly began: number
  readonly ended: number
}

const [order] = (await once(process, 'message')) as [DrainOrder]
const subject = subjects.find(({ name }) => name === order.subject)!
const clients = await Promise.all(Array.from({ length: order.loops }, () => connect(order.connection)))
const loops = await Promise.all(clients.map((client, nth) => subject.loop(client, `${order.owner}.${nth}`, order.wait)))
process.send?.('ready')
await once(process, 'message')

const drained = { tasks: 0, polls: 0, busy: 0, pollMs: 0, ended: 0 }
const before = await Promise.all(clients.map(usedBy))
const cpu = process.cpuUsage()
const began = Number(process.hrtime.bigint()) / 1e6
await Promise.all(
  loops.map(async (loop) => {
    for (let empty = 0; empty < 3;) {
      const polled = performance.now()
      let count = await loop.poll(order.size)
      while (count < 0) {
        drained.busy++
        count = await loop.poll(order.size)
      }
      if (count === 0) {
        empty++
        continue
      }
      drained.pollMs += performance.now() - polled
      drained.polls++
      await loop.complete()
      drained.tasks += count
      drained.ended = Number(process.hrtime.bigint()) / 1e6
    }
  }),
)
const { user, system } = process.cpuUsage(cpu)
const after = await Promise.all(clients.map(usedBy))
const sum = (what: 'cpuUs' | 'wal'): number => after.reduce((all, each, nth) => all + each[what] - before[nth]![what], 0)
const report: Drained = { ...drained, began, nodeUs: user + system, serverUs: sum('cpuUs'), wal: sum('wal') }
await Promise.all(clients.map((client) => client.end()))
process.send?.(report)
process.disconnect()
