/** Faults of processes: they are killed, stand still, are deployed anew, have another clock, or keep their connections to themselves. */
import { tell } from '../crew.ts'
import type { Fault } from '../fault.ts'
import { leaseMs } from '../setting.ts'

const hourMs = 3_600_000

export const processFaults: readonly Fault[] = [
  {
    kind: 'process killed',
    weight: 3,
    inflict: async ({ crew }) => {
      const member = crew.anyToEnd()
      if (!member) return 0
      await crew.kill(member)
      await crew.start(member.role)
      return 1
    },
  },
  standStill('process stands still', 100, 0.5 * leaseMs),
  standStill('process stands still beyond its lease', 1.3 * leaseMs, 2.2 * leaseMs),
  {
    kind: 'process deployed anew',
    inflict: async ({ crew }) => {
      const member = crew.anyToEnd('node', 'jobs', 'scheduler', 'leader', 'producer')
      if (!member) return 0
      // The new one starts first, as in a rolling deployment.
      await crew.start(member.role)
      await crew.stop(member)
      return 1
    },
  },
  {
    kind: 'clock off by an hour',
    weight: 0.5,
    inflict: async ({ crew, random }) => {
      const member = crew.anyToEnd('node', 'leader', 'scheduler')
      if (!member) return 0
      await crew.kill(member)
      // A scheduler goes by its own clock, as documented: one that is wrong fires at wrong times.
      await crew.start(member.role, member.role === 'scheduler' ? 0 : random() < 0.5 ? hourMs : -hourMs)
      return 1
    },
  },
  {
    kind: 'pool exhausted',
    inflict: async ({ crew, pause, random }) => {
      const member = crew.any('node', 'leader', 'scheduler')
      if (!member) return 0
      const ms = 300 + random() * 1_500
      tell(member, { tell: 'hoard', ms })
      await pause(ms, ms)
      return 1
    },
  },
]

function standStill(kind: string, fromMs: number, toMs: number): Fault {
  return {
    kind,
    inflict: async ({ crew, pause }) => {
      const member = crew.any()
      if (!member) return 0
      member.isStill = true
      const isStopped = member.process.kill('SIGSTOP')
      await pause(fromMs, toMs)
      const goesOn = member.process.kill('SIGCONT')
      member.isStill = false
      return isStopped && goesOn ? 1 : 0
    },
  }
}
