/** The changes to SQL text that leave it valid: comparisons, conditions, orders, limits, numbers and assignments. */
import type { Change } from './mutant.ts'

type Operator = readonly [name: string, pattern: RegExp, replacement: string]

/** The patterns apply to the masked text, in which an inserted expression is a run of `inserted`. */
const operators: readonly Operator[] = [
  ['sql-boundary', />=/g, '>'],
  ['sql-boundary', /<=/g, '<'],
  ['sql-boundary', /(?<![<>=-])>(?![>=])/g, '>='],
  ['sql-boundary', /(?<![<>=])<(?![<>=])/g, '<='],
  ['sql-equality', /<>/g, '='],
  ['sql-logic', /(?<!between\s+\S+\s+)\band\b/gi, 'or'],
  ['sql-logic', /\bor\b(?!\s+(?:replace|ignore))/gi, 'and'],
  ['sql-negation', /\bnot (?=exists|in\b|\()/gi, ''],
  ['sql-negation', /(?<!not )\bexists(?=\s*\()/gi, 'not exists'],
  ['sql-negation', /(?<!not )\bin(?=\s*\()/gi, 'not in'],
  ['sql-null', /\bis null\b/gi, 'is not null'],
  ['sql-null', /\bis not null\b/gi, 'is null'],
  ['sql-order', /\bdesc\b/gi, 'asc'],
  ['sql-order', /\basc\b/gi, 'desc'],
  ['sql-arithmetic', /(?<=[\w)¤] )\+(?= [\w(¤])/g, '-'],
  ['sql-arithmetic', /(?<=[\w)¤] )-(?= [\w(¤])/g, '+'],
  ['sql-function', /\bmin(?=\()/gi, 'max'],
  ['sql-function', /\bmax(?=\()/gi, 'min'],
  ['sql-distinct', /\bdistinct (?!from)/gi, ''],
  ['sql-join', /\bleft join\b/gi, 'join'],
  ['sql-literal', /\btrue\b/gi, 'false'],
  ['sql-literal', /\bfalse\b/gi, 'true'],
  ['sql-lock', /\s+for (?:no key )?update\b(?: of \w+)?(?: skip locked| nowait)?/gi, ''],
]

const inserted = '¤'

/** Named constants. A constant is replaced by the first of its group, and the first by the second. */
const constants: Readonly<Record<string, readonly [string, string]>> = {
  states: ['ready', 'active'],
  stages: ['open', 'ended'],
  reasons: ['tries', 'lease'],
}

/** @param text a template or a string without its quotes @param offset where `text` begins in the source */
export function sqlChanges(text: string, offset: number): Change[] {
  const masked = mask(text)
  const changes: Change[] = []
  const add = (operator: string, start: number, end: number, replacement: string): void => {
    changes.push({ operator, start: offset + start, end: offset + end, replacement })
  }
  for (const [operator, pattern, replacement] of operators) {
    for (const { index, 0: found } of masked.matchAll(pattern)) add(operator, index, index + found.length, replacement)
  }
  for (const { index, 0: found } of masked.matchAll(/(?<!select )(?<![\w.:$'"¤-])\d+(?![\w.'"])/g)) {
    add('sql-number', index, index + found.length, String(Number(found) + 1))
  }
  for (const { index, 0: found, 1: kind = '', 2: name } of text.matchAll(/(?<=\$\{)(states|stages|reasons)\.(\w+)(?=\})/g)) {
    const [first, second] = constants[kind]!
    add('sql-number', index, index + found.length, `${kind}.${name === first ? second : first}`)
  }
  for (const { index, 1: list = '' } of masked.matchAll(/\border by ((?:[\w.+]+, )*[\w.]+)(?=\s*(?:$|\n|\)|limit))/gi)) {
    const end = index + 'order by '.length + list.length
    add('sql-order', end, end, ' desc')
  }
  for (const { index, 0: found, 1: limit = '' } of masked.matchAll(/\blimit (\w+|¤+)/gi)) {
    if (!/^\d+$/.test(limit)) add('sql-limit', index + found.length, index + found.length, ' + 1')
  }
  for (const { index } of masked.matchAll(/\bcoalesce\(/gi)) {
    const [first] = split(masked, index + 'coalesce('.length)
    if (first) add('sql-coalesce', index, closing(masked, first.start), `(${text.slice(first.start, first.end)})`)
  }
  const assigned = [...masked.matchAll(/\bset\s/gi)].map(({ index, 0: found }) => index + found.length)
  const equals = new Set<number>()
  for (const start of [...assigned, 0]) {
    const parts = split(masked, start, /\b(?:where|from|returning)\b/gi)
    const assignments = parts.filter((part) => /^\s*(?:\w+\.)?\w+\s*=(?!=)/.test(masked.slice(part.start, part.end)))
    const isList = start > 0 || (parts.length > 1 && assignments.length > 0 && parts[0] === assignments[0])
    if (!isList) continue
    for (const { start: from } of assignments) equals.add(masked.indexOf('=', from))
    if (parts.length < 2) continue
    for (const part of assignments) {
      const first = part === parts[0]
      if (first) add('sql-assignment', part.start, part.end + 1, '')
      else add('sql-assignment', part.start - 1, part.end, '')
    }
  }
  for (const { index } of masked.matchAll(/(?<![<>!=:])=(?![=>])/g)) {
    if (!equals.has(index)) add('sql-equality', index, index + 1, '<>')
  }
  return changes
}

/** Hides inserted expressions and SQL's own string literals, and keeps the length. */
function mask(text: string): string {
  let masked = ''
  for (let index = 0; index < text.length;) {
    let end = index + 1
    if (text.startsWith('${', index)) {
      let depth = 0
      for (end = index + 1; end < text.length; end++) {
        if (text[end] === '{') depth++
        else if (text[end] === '}' && --depth === 0) break
      }
      masked += inserted.repeat(++end - index)
    } else if (text[index] === "'") {
      end = text.indexOf("'", index + 1) + 1 || text.length
      masked += "'".repeat(end - index)
    } else masked += text[index]
    index = end
  }
  return masked
}

interface Part {
  readonly start: number
  readonly end: number
}

/** Splits a list at its commas, from `start` to the end of the list. */
function split(masked: string, start: number, ends?: RegExp): Part[] {
  const parts: Part[] = []
  let from = start
  let depth = 0
  let index = start
  const stops = new Set(ends ? [...masked.matchAll(ends)].map(({ index }) => index) : [])
  for (; index < masked.length; index++) {
    const character = masked[index]
    if (depth === 0 && stops.has(index)) break
    if (character === '(') depth++
    else if (character === ')' && --depth < 0) break
    else if (character === ',' && depth === 0) {
      parts.push({ start: from, end: index })
      from = index + 1
    }
  }
  const end = from + masked.slice(from, index).trimEnd().length
  return end > from ? [...parts, { start: from, end }] : parts
}

/** Returns the index after the bracket that closes around `inside`. */
function closing(masked: string, inside: number): number {
  let depth = 1
  for (let index = inside; index < masked.length; index++) {
    if (masked[index] === '(') depth++
    else if (masked[index] === ')' && --depth === 0) return index + 1
  }
  return masked.length
}
