import type { Row } from '@taskstream/task-sql'
import type { Facts, Finding, Severity } from '../core/finding.ts'
import { severityOf } from '../core/severity.ts'
import type { CheckName, Threshold } from '../core/thresholds.ts'
import { inUnit, inWords } from '../core/units.ts'
import { checks } from './checks.ts'

/** How many things the facts tell of. */
const told = 10

/** A row with what it is worth. */
interface Judged {
  readonly row: Row
  readonly value: number | undefined
  readonly severity: Severity
}

/** Judges what a look has found. */
export function judge(name: CheckName, threshold: Threshold, rows: readonly Row[], grant?: string): Finding {
  const judged = rows
    .filter((row) => Number(row['hidden'] ?? 0) === 0 && isLarge(row, threshold))
    .map((row): Judged => toJudged(row, threshold))
    .toSorted((left, right) => compare(left, right, threshold))
  const [worst] = judged
  const bad = judged.filter(({ severity }) => severity === 'notice' || severity === 'warn' || severity === 'crit')
  if (bad.length === 0 && rows.some((row) => Number(row['hidden'] ?? 0) === 1)) return withoutRight(name, threshold, grant)
  if (worst?.severity === 'skipped') return skipped(name, threshold, 'this database cannot tell')
  const facts: Facts = {
    ...(worst?.value !== undefined && { value: worst.value }),
    count: bad.length,
    worst: bad.slice(0, told).map(({ row }) => toFacts(row)),
  }
  const finding = { check: name, threshold: inWords(threshold), page: checks[name].page, facts }
  if (!worst || bad.length === 0) return { ...finding, severity: 'ok', measured: wellOf(worst, threshold) }
  return {
    ...finding,
    severity: worst.severity,
    measured: filled(checks[name].says ?? '{value}', worst, threshold) + more(bad.length - 1),
    remedy: filled(checks[name].remedy, name === 'rights' ? withRemedies(worst, bad) : worst, threshold),
  }
}

/** Whoever grants one right would learn of the next only by the next look. */
function withRemedies(worst: Judged, bad: readonly Judged[]): Judged {
  const remedies = new Set(bad.slice(0, told).map(({ row }) => row['remedy']))
  return { ...worst, row: { ...worst.row, remedy: [...remedies].join('; ') } }
}

/** A check that was not made, and why. */
export function skipped(name: CheckName, threshold: Threshold, why: string, code?: string): Finding {
  return {
    check: name,
    severity: 'skipped',
    measured: why,
    threshold: inWords(threshold),
    page: checks[name].page,
    facts: code === undefined ? {} : { code },
  }
}

/** A check that was not made because this user lacks a right. */
export function withoutRight(name: CheckName, threshold: Threshold, grant: string | undefined): Finding {
  const finding = skipped(name, threshold, 'this user does not see it', 'PERMISSION_DENIED')
  return grant === undefined ? finding : { ...finding, remedy: grant }
}

function isLarge(row: Row, { from }: Threshold): boolean {
  return from === undefined || Number(row['size'] ?? 0) >= from.size
}

function toJudged(row: Row, threshold: Threshold): Judged {
  const value = row['value'] === null || row['value'] === undefined ? undefined : Number(row['value'])
  return { row, value, severity: value === undefined ? (threshold.unknown ?? 'skipped') : severityOf(value, threshold) }
}

/** The worst comes first. */
function compare(left: Judged, right: Judged, { below }: Threshold): number {
  const [first, second] = [left, right].map(({ value }) => value ?? (below ? -Infinity : Infinity))
  return below ? first! - second! || 0 : second! - first! || 0
}

function wellOf(worst: Judged | undefined, { unit }: Threshold): string {
  const named = worst?.row['version'] ?? worst?.row['setting']
  if (named !== undefined && named !== null) return String(named)
  return worst?.value === undefined || unit === 'any' ? 'none' : inUnit(worst.value, unit)
}

/** A text with the columns of a row in place of their names. A column that is missing or empty leaves no gap. */
function filled(text: string, { row, value }: Judged, { unit }: Threshold): string {
  const values: Row = { ...row, value: value === undefined ? 'nobody knows how long' : inUnit(value, unit) }
  return text
    .replaceAll(/\{(\w+)\}/g, (_, name: string) => String(values[name] ?? ''))
    .replaceAll(/ +(?=,|$)| (?= )/g, '')
    .trim()
}

function more(count: number): string {
  return count > 0 ? ` (and ${count} more)` : ''
}

function toFacts(row: Row): Readonly<Record<string, string | number | null>> {
  return Object.fromEntries(
    Object.entries(row)
      .filter(([name]) => name !== 'remedy')
      .map(([name, value]) => [name, toFact(name, value)]),
  )
}

/** Drivers give some numbers as texts. */
function toFact(name: string, value: unknown): string | number | null {
  if (value === null || value === undefined) return null
  if (typeof value === 'number') return value
  return name === 'value' || name === 'size' || typeof value === 'bigint' ? Number(value) : String(value)
}
