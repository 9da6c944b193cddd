/** Tables of what was measured. */
import Table from 'cli-table3'
import type { Cell } from './cell.ts'
import type { Latency } from './outcome.ts'

const style = { head: [], border: [] }
const whole = (number: number): string => number.toFixed(0)
const milliseconds = (number: number | null): string => (number === null ? 'never' : whole(number))
const seconds = (number: number | null): string => (number === null ? 'never' : (number / 1_000).toFixed(1))

export function table(cells: readonly Cell[]): string {
  const head = ['scenario', 'system', 'before', 'during', 'after', 'after %', 'back in s', 'p50 ms', 'p99 ms', 'most ms']
  const counts = ['refused', 'lost', 'left', 'twice', 'exits', 'dead rows', 'MB']
  const drawn = new Table({ head: [...head, ...counts], style })
  for (const cell of cells) {
    const { before, during, after, recoveryMs, latency, sizeUnderFault, size } = cell
    const rates = [before, during, after, (100 * after) / before].map(whole)
    const times = [latency.p50, latency.p99, latency.most].map(milliseconds)
    const ends = [cell.refused, cell.lost, cell.left, cell.twice, cell.exits.length].map(String)
    const dead = `${sizeUnderFault.deadRows} → ${size.deadRows}`
    const megabytes = (size.bytes / 2 ** 20).toFixed(1)
    drawn.push([cell.scenario, cell.system, ...rates, seconds(recoveryMs), ...times, ...ends, dead, megabytes])
  }
  return drawn.toString()
}

/** What the jobs of killed workers waited for, beside the others. */
export function leaseTable(cells: readonly Cell[]): string {
  const head = [
    'system',
    'lease ms',
    'heartbeat ms',
    'start ms',
    'all p50',
    'all p99',
    'first p99',
    'again',
    'again p50',
    'again most',
  ]
  const drawn = new Table({ head, style })
  for (const { system, lease, startsMs, latency, first, repeated } of cells) {
    const figures = [median(startsMs), latency.p50, latency.p99, first.p99].map(milliseconds)
    const kind = lease.exclusive ? `${system}, exclusive` : system
    drawn.push([kind, lease.leaseMs, lease.heartbeatIntervalMs, ...figures, repeated.jobs, ...latencies(repeated)])
  }
  return drawn.toString()
}

const latencies = ({ p50, most }: Latency): string[] => [p50, most].map(milliseconds)

function median(numbers: readonly number[]): number {
  return numbers.toSorted((left, right) => left - right)[Math.floor(numbers.length / 2)]!
}
