/** Shared by the tests of the doctor: what it complains of, without what the servers of the tests are known for. */
import { examine, isAtLeast } from '@taskstream/task-operations'
import type { CheckName, ExamineOptions, Finding, Thresholds } from '@taskstream/task-operations'
import type { AnyTransaction } from '@taskstream/task-testing/suite'
import type { Subject } from '../subject.ts'

type Given = Partial<ExamineOptions<AnyTransaction>>

/** Servers of the tests do not wait for the disk, and connections to their files do not wait for each other. */
const known: ReadonlySet<CheckName> = new Set(['fsync', 'full-page-writes', 'synchronous-commit', 'flush-log', 'busy-timeout'])

/** No test is about how fast a machine is. */
const patient: Thresholds = { 'round-trip': { unit: 'ms', warn: Infinity } }

/** Every finding. */
export function findingsOf(subject: Subject, { thresholds, ...given }: Given = {}): Promise<readonly Finding[]> {
  const { transactions } = subject
  return examine({ tasks: subject.tasks(), transactions, limitMs: 60_000, ...given, thresholds: { ...patient, ...thresholds } })
}

/** Each complaint as the name of its check and how bad it is. */
export async function complaintsOf(subject: Subject, given: Given = {}): Promise<string[]> {
  return complaintsAmong(await findingsOf(subject, given))
}

export function complaintsAmong(findings: readonly Finding[]): string[] {
  return findings
    .filter(({ check, severity }) => isAtLeast(severity, 'notice') && !known.has(check))
    .map(({ check, severity }) => `${check} ${severity}`)
}

/** The finding of a check, which must have been made. */
export function findingOf(findings: readonly Finding[], check: CheckName): Finding {
  const found = findings.find((finding) => finding.check === check)
  if (!found) throw new Error(`${check} is not among ${findings.map((finding) => finding.check).join(', ')}`)
  return found
}
