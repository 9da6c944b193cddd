/** Processor time of processes, as Linux tells it. Elsewhere it is not known. */
import { readdirSync, readFileSync } from 'node:fs'

export interface Process {
  readonly pid: number
  readonly parent: number
  /** Microseconds of itself, and of its ended children for which it has waited. */
  readonly cpuUs: number
}

/** Linux counts in hundredths of a second, whatever the machine. */
const tickUs = 10_000

/** Reads a line of /proc/PID/stat. The name, in parentheses, may contain anything. */
export function parseStat(line: string): Process {
  const [state, ...fields] = line.slice(line.lastIndexOf(')') + 2).split(' ')
  if (!state || fields.length < 15) throw new Error(`This is no line of /proc/PID/stat: ${line}`)
  const ticks = fields.slice(10, 14).reduce((sum, each) => sum + Number(each), 0)
  return { pid: Number.parseInt(line, 10), parent: Number(fields[0]), cpuUs: ticks * tickUs }
}

/** The microseconds of a process and of all below it. */
export function treeCpuUs(root: number, processes: readonly Process[]): number {
  const own = processes.find(({ pid }) => pid === root)?.cpuUs ?? 0
  return processes.filter(({ parent }) => parent === root).reduce((sum, { pid }) => sum + treeCpuUs(pid, processes), own)
}

/** The microseconds that a process and all below it have taken so far, or null where there is no /proc. */
export function cpuUsOf(root: number): number | null {
  const all = list()
  return all && treeCpuUs(root, all)
}

export function parentOf(child: number): number | undefined {
  return list()?.find(({ pid }) => pid === child)?.parent
}

function list(): Process[] | null {
  if (process.platform !== 'linux') return null
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        return [parseStat(readFileSync(`/proc/${pid}/stat`, 'utf8'))]
      } catch {
        // It has ended meanwhile.
        return []
      }
    })
}
