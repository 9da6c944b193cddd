import type { Severity } from './finding.ts'
import type { Threshold } from './thresholds.ts'

/** How bad a value is. */
export function severityOf(value: number, { notice, warn, crit, below }: Threshold): Severity {
  const isBeyond = (level: number | undefined): boolean => level !== undefined && (below ? value < level : value > level)
  if (isBeyond(crit)) return 'crit'
  if (isBeyond(warn)) return 'warn'
  return isBeyond(notice) ? 'notice' : 'ok'
}
