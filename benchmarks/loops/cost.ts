/** What a piece of work costs: its rate, and the processor time of this process and of the server. */
import { readFileSync } from 'node:fs'

export interface Cost {
  /** Tasks a second. */
  readonly rate: number
  /** Microseconds of processor time for each task. */
  readonly process: number
  readonly server: number
}

/** The kernel counts the time of other processes in ticks of a hundredth of a second. */
const tickUs = 10_000

export async function costOf(count: number, server: number | undefined, work: () => Promise<void>): Promise<Cost> {
  const serverBefore = cpuUs(server)
  const processBefore = process.cpuUsage()
  const started = performance.now()
  await work()
  const seconds = (performance.now() - started) / 1000
  const { user, system } = process.cpuUsage(processBefore)
  return { rate: count / seconds, process: (user + system) / count, server: (cpuUs(server) - serverBefore) / count }
}

/** Processor time of a process since its start, from `utime` and `stime`, which stand behind the name in parentheses. */
function cpuUs(pid: number | undefined): number {
  if (pid === undefined) return 0
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) * tickUs
}
