import type { Finding, Severity } from '../core/finding.ts'
import type { CheckName } from '../core/thresholds.ts'

/** What may be shown to strangers. */
export interface Bundle {
  readonly versions: Readonly<Record<string, string>>
  readonly options: Readonly<Record<string, string | number | boolean>>
  readonly findings: readonly BundledFinding[]
}

interface BundledFinding {
  readonly check: CheckName
  readonly severity: Severity
  readonly threshold: string
  readonly value?: number
  readonly count?: number
  readonly code?: string
}

/**
 * Findings for a report. Of each only numbers, and words of this package are taken over: all other texts may have a name of a topic, an identifier, a user
 * or a host.
 */
export function bundleOf(findings: readonly Finding[], versions: Bundle['versions'], options: Bundle['options'] = {}): Bundle {
  return {
    versions: { ...versions, ...serverVersion(findings) },
    options,
    findings: findings.map(({ check, severity, threshold, facts: { value, count, code } }) => ({
      check,
      severity,
      threshold,
      ...(value !== undefined && { value }),
      ...(count !== undefined && { count }),
      ...(code !== undefined && { code }),
    })),
  }
}

function serverVersion(findings: readonly Finding[]): Bundle['versions'] {
  const found = findings.find(({ check, severity }) => check.endsWith('-version') && severity !== 'skipped')
  return found ? { server: found.measured } : {}
}
