/**
 * A connection as `oracledb` has them, which writes down what it is given and answers something plausible. It stands for no database and
 * proves nothing about one: it is there so that each verb goes on to its last statement.
 */
import type { OracledbConnection } from '@taskstream/task-sql/oracledb'
import { blocksOf, is, tokensOf } from './tokens.ts'
import type { Token } from './tokens.ts'

export interface Recorded {
  readonly verb: string
  readonly text: string
  readonly binds: readonly unknown[]
  readonly options: ExecuteOptions
}

interface ExecuteOptions {
  readonly autoCommit?: boolean
  readonly resultSet?: boolean
  readonly prefetchRows?: number
  readonly fetchArraySize?: number
}

/** What the verbs are to find. */
export interface Scene {
  /** Values of columns, in whatever row they stand; a function is given the row's place. */
  readonly row?: Readonly<Record<string, unknown>>
  /** How many rows there are where no key says so: of statements in whose text the first is found. */
  readonly rows?: readonly (readonly [RegExp, number])[]
  /** How many rows an insert, update, delete or merge has touched. Otherwise as many as keys were given, or one. */
  readonly touched?: readonly (readonly [RegExp, number])[]
  /** The error that a statement fails with: its message, which begins with its code. */
  readonly fails?: readonly (readonly [RegExp, string])[]
}

export class Recording implements OracledbConnection {
  readonly statements: Recorded[] = []
  verb = ''
  scene: Scene = {}
  #number = 100

  // oxlint-disable-next-line require-await -- what is waited for is a database's
  async execute(text: string, binds: unknown[], options: ExecuteOptions): ReturnType<OracledbConnection['execute']> {
    this.statements.push({ verb: this.verb, text, binds, options })
    const [, message] = this.scene.fails?.find(([pattern]) => pattern.test(text)) ?? []
    if (message) throw Object.assign(new Error(message), { code: message.split(':')[0] })
    const tokens = tokensOf(text)
    if (!is(tokens, 0, 'select')) return { rowsAffected: this.#touched(text, binds) }
    const names = namesOf(tokens)
    const metaData = names.map((name) => ({ name: name.toUpperCase() }))
    const rows = this.#rows(text, binds, names)
    if (!options.resultSet) return { rows, metaData }
    return { resultSet: { metaData, getRows: async (count) => rows.slice(0, count), close: async () => {} } }
  }

  #touched(text: string, binds: readonly unknown[]): number {
    const [, told] = this.scene.touched?.find(([pattern]) => pattern.test(text)) ?? []
    return told ?? keysIn(binds)?.length ?? 1
  }

  #rows(text: string, binds: readonly unknown[], names: readonly string[]): unknown[][] {
    const keys = keysIn(binds)
    const [, asked] = this.scene.rows?.find(([pattern]) => pattern.test(text)) ?? []
    // Numbers that are drawn, and lines of the dictionary.
    const drawn = text.includes('connect by') ? Number(binds[0]) : undefined
    const one = text.includes('from dual') || text.includes('task_migration') || /from \w*\.?task_topic p\s+where/.test(text)
    const count = drawn ?? asked ?? (one ? 1 : undefined) ?? keys?.length ?? 2
    return Array.from({ length: count }, (_, place) =>
      names.map((name) => {
        if (name === 'sequence') return drawn === undefined ? (keys?.[place] ?? place + 1) : this.#number++
        const told = { ...plausible, ...this.scene.row }[name]
        return typeof told === 'function' ? (told as (place: number) => unknown)(place) : (told ?? null)
      }),
    )
  }
}

/** By the names that our statements give them. */
const plausible: Readonly<Record<string, unknown>> = {
  active: 1,
  applied: 'today',
  attempt: 0,
  bound: 7,
  changed: 1,
  charset: 'AL32UTF8',
  comparison: 'BINARY',
  condition: 0,
  count: 3,
  created: 1,
  descent: 1,
  due: -1,
  external_id: (place: number) => `e${place}`,
  found: 1,
  heartbeat: 1,
  identifier: (place: number) => `i${place}`,
  input: 'x',
  lane: (place: number) => place * 7,
  name: 'tables',
  now: 0,
  ordering: 0,
  owner: 'o',
  place: (place: number) => place,
  priority: 0,
  registered: 1,
  ready: 1,
  sort: 'BINARY',
  stage: 1,
  state: 1,
  topic: 'mail',
  tries: 0,
  turn: (place: number) => place + 1,
  version: 1,
  waiting: 1,
}

/** What the select list calls its columns: the last word of each, or all columns of the one table that is asked for them all. */
export function namesOf(tokens: readonly Token[]): string[] {
  const [block] = blocksOf(tokens)
  if (!block) return []
  const own = tokens.map((token, index) => ({ ...token, index })).slice(block.start + 1, block.end)
  const from = own.find(({ depth, text }) => depth === block.depth && text === 'from')
  const list = own.filter(({ index }) => index < (from?.index ?? block.end))
  if (list.some(({ depth, text }) => depth === block.depth && text === '*')) return ['version', 'name', 'applied', 'works_from']
  const names: string[] = []
  for (const [place, { depth, text, kind }] of list.entries()) {
    const next = list[place + 1]
    if (depth === block.depth && kind === 'word' && (!next || (next.text === ',' && next.depth === depth))) names.push(text)
  }
  return names
}

/** Keys that were given as JSON: numbers, or rows that begin with one. */
function keysIn(binds: readonly unknown[]): number[] | undefined {
  for (const bind of binds) {
    const text = typeof bind === 'object' && bind !== null ? (bind as { val?: unknown }).val : bind
    if (typeof text !== 'string' || !text.startsWith('[')) continue
    const keys = (JSON.parse(text) as unknown[]).map((key) => (Array.isArray(key) ? key[0] : key))
    if (keys.every((key) => typeof key === 'number')) return keys as number[]
  }
  return undefined
}
