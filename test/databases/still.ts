/** Makes servers stand still. To others that looks as if their network were cut: connections are taken, and nothing is answered. */
import { execFileSync } from 'node:child_process'

/**
 * Stops processes by SIGSTOP, and with each its children, such as the sessions of PostgreSQL: otherwise those would go on.
 *
 * @returns lets them go on
 */
export function standStill(...pids: readonly number[]): () => void {
  const stopped: number[] = []
  for (const pid of pids) {
    // The parent first, so that it can have no more children.
    for (const each of [pid, ...stopAndList(pid)]) {
      if (signal(each, 'SIGSTOP')) stopped.push(each)
    }
  }
  return () => {
    for (const each of stopped.splice(0)) signal(each, 'SIGCONT')
  }
}

function stopAndList(pid: number): readonly number[] {
  if (!signal(pid, 'SIGSTOP')) return []
  const lines = execFileSync('ps', ['-A', '-o', 'ppid=,pid='], { encoding: 'utf8' }).trim().split('\n')
  const pairs = lines.map((line) => line.trim().split(/\s+/).map(Number))
  return pairs.flatMap(([parent, child]) => (parent === pid && child !== undefined ? [child] : []))
}

/** @returns whether there was such a process */
function signal(pid: number, name: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, name)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false
    throw error
  }
}
