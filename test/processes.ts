/** Programs that tests start, as the system lists them. */
import { execFileSync } from 'node:child_process'
import { randomInt } from 'node:crypto'

/** A number for `sleep` that no other process has among its arguments. */
export function newMark(): string {
  return String(randomInt(1e9, 2e9))
}

/** The processes that have a mark among their arguments, other than those that have ended and are not yet forgotten. */
export function processesOf(mark: string): string[] {
  const lines = execFileSync('ps', ['-A', '-o', 'stat=,args='], { encoding: 'utf8' }).split('\n')
  return lines.filter((line) => line.includes(mark) && !line.startsWith('Z'))
}
