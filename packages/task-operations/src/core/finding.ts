import type { CheckName } from './thresholds.ts'

/** From the best to the worst. A skipped check says nothing about its matter. */
export const severities = ['skipped', 'ok', 'notice', 'warn', 'crit'] as const

export type Severity = (typeof severities)[number]

/** What a check has found. */
export interface Finding {
  readonly check: CheckName
  readonly severity: Severity
  /** What was measured, in words; of a skipped check, why it was. It may name topics, identifiers and users. */
  readonly measured: string
  /** From where on this is bad, in words. */
  readonly threshold: string
  /** What to do: a command or a statement, which nobody has run. */
  readonly remedy?: string
  /** The page of the documentation. */
  readonly page?: string
  /** The same for programs. */
  readonly facts: Facts
}

export interface Facts {
  /** The worst value, in the unit of the threshold. */
  readonly value?: number
  /** How many things are as bad as the threshold says. */
  readonly count?: number
  /** The worst of these things, at most ten. */
  readonly worst?: readonly Readonly<Record<string, string | number | null>>[]
  /** The code of the error because of which a check was skipped, or because of which the database cannot be reached. */
  readonly code?: string
}

/** The worst first, and those that were skipped last: what is wrong is not looked for among what is well. Those of one severity keep their order. */
export function worstFirst(findings: readonly Finding[]): readonly Finding[] {
  const weight = ({ severity }: Finding): number => severities.indexOf(severity)
  return findings.toSorted((left, right) => weight(right) - weight(left))
}

/** Whether a finding is at least so bad. */
export function isAtLeast(severity: Severity, least: Severity): boolean {
  return severities.indexOf(severity) >= severities.indexOf(least)
}
