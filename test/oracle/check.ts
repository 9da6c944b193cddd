/** Runs all checks on all statements, and writes the text in which people read the statements. */
import { bindErrors } from './binds.ts'
import { collect } from './collect.ts'
import type { Collection } from './collect.ts'
import { lintErrors, rules } from './lint.ts'
import { nameErrors } from './names.ts'
import { parseErrors } from './parse.ts'
import { pretty } from './pretty.ts'
import type { Recorded } from './recording.ts'

export interface Checked extends Collection {
  /** Each statement once, with the statements that blocks of PL/SQL run by `execute immediate`. */
  readonly texts: readonly string[]
  readonly counts: { readonly parsed: number; readonly names: number; readonly binds: number; readonly lints: number }
  /** Each error with its statement. */
  readonly errors: readonly string[]
  readonly snapshot: string
}

export async function check(): Promise<Checked> {
  const collection = await collect()
  const { recorded } = collection
  const emitted = [...new Set(recorded.map(({ text }) => text))]
  const texts = emitted.flatMap((text) => [text, ...innerOf(text)])
  const named = texts.filter((text) => /^\s*(?:select|insert|update|delete|merge)\b/.test(text))
  const errors = [
    ...texts.flatMap((text) => [...parseErrors(text), ...lintErrors(text)].map((error) => `${error}\n${pretty(text)}`)),
    ...named.flatMap((text) => nameErrors(text).map((error) => `${error}\n${pretty(text)}`)),
    ...recorded.flatMap((one) => bindErrors(one).map((error) => `${error}\n${pretty(one.text)}`)),
  ]
  return {
    ...collection,
    texts,
    counts: { parsed: texts.length, names: named.length, binds: recorded.length, lints: texts.length * rules.length },
    errors,
    snapshot: snapshotOf(recorded),
  }
}

/** Returns the statements that a block of PL/SQL runs by `execute immediate`. */
function innerOf(text: string): string[] {
  const [, inner] = /execute immediate '((?:[^']|'')*)'/.exec(text) ?? []
  return inner === undefined ? [] : [inner.replaceAll("''", "'")]
}

/** Writes each statement once, below the verbs that emit it, with the kinds of its values. */
function snapshotOf(recorded: readonly Recorded[]): string {
  const statements = new Map<string, { verbs: Set<string>; kinds: Set<string>; fetched: boolean }>()
  for (const { text, verb, binds, options } of recorded) {
    const written = pretty(text)
    const known = statements.get(written) ?? { verbs: new Set(), kinds: new Set(), fetched: false }
    known.verbs.add(verb)
    if (options.resultSet) known.fetched = true
    const kinds = binds.map(kindOf)
    if (kinds.length > 0) known.kinds.add(kinds.join(', '))
    statements.set(written, known)
  }
  const parts = [...statements].map(([text, { verbs, kinds, fetched }]) => {
    const values = [...kinds].toSorted().map((line) => `--   ${line}`)
    const head = `-- ${[...verbs].toSorted().join(', ')}${fetched ? '; so many rows are fetched as are wanted' : ''}`
    return { by: [...verbs].toSorted()[0] ?? '', text: [head, ...values, text].join('\n') }
  })
  const sorted = parts.toSorted((left, right) => left.by.localeCompare(right.by))
  return [
    '-- Every statement of the Oracle dialect, by verb, with the kinds of its values. Written by the tests.',
    ...sorted.map(({ text }) => text),
    '',
  ].join('\n\n')
}

function kindOf(bind: unknown): string {
  if (bind === null) return 'null'
  if (typeof bind === 'number') return 'number'
  const isClob = typeof bind !== 'string'
  const text = isClob ? String((bind as { val: unknown }).val) : bind
  return `${text.startsWith('[') ? 'JSON' : 'text'}${isClob ? ' in a CLOB' : ''}`
}
