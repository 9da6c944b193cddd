/**
 * A connection like those of `oracledb`, which notes each statement and gives a plausible answer. It lets each verb go on to its
 * last statement, and proves nothing about a database.
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

/** The rows that a scenario's verbs find. */
export interface Scene {
  /** Values by column name, in every row. A function gets the row's index. */
  readonly row?: Readonly<Record<string, unknown>>
  /** The number of rows for statements that match a pattern, if no keys decide it. The first match counts. */
  readonly rows?: readonly (readonly [RegExp, number])[]
  /** The number of rows that a matching insert, update, delete or merge has touched. Otherwise it is the number of keys, or one. */
  readonly touched?: readonly (readonly [RegExp, number])[]
  /** The message of the error with which a matching statement fails. It begins with the error's code. */
  readonly fails?: readonly (readonly [RegExp, string])[]
}

export class Recording implements OracledbConnection {
  readonly statements: Recorded[] = []
  verb = ''
  scene: Scene = {}
  #number = 100

  // oxlint-disable-next-line require-await -- the interface is asynchronous, as a real connection is
  async execute(text: string, binds: unknown[], options: ExecuteOptions): ReturnType<OracledbConnection['execute']> {
    this.statements.push({ verb: this.verb, text, binds, options })
    const [, message] = this.scene.fails?.find(([pattern]) => pattern.test(text)) ?? []
    if (message) throw Object.assign(new Error(message), { code: message.split(':')[0] })
    const tokens = tokensOf(text)
    if (!is(tokens, 0, 'select') && !is(tokens, 0, 'with')) return { rowsAffected: this.#touched(text, binds) }
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
    // Drawn sequences have as many rows as were asked for, and queries of the dictionary have one row.
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

/** Values by the column names in the statements of task-sql. */
const plausible: Readonly<Record<string, unknown>> = {
  active: 1,
  ahead: 1,
  amount: 5,
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
  high: (place: number) => place + 1,
  identifier: (place: number) => `i${place}`,
  input: 'x',
  kind: 'entries',
  lane: (place: number) => place * 7,
  last_ended: 1,
  name: 'tables',
  // The place of a task of priority 100, as text.
  nearest: (place: number) => String(BigInt(place) - 100n * 2n ** 47n),
  now: 0,
  open: 1,
  ordering: 0,
  owner: 'o',
  per_ms: 1_000,
  place: (place: number) => place,
  priority: 0,
  registered: 1,
  ready: 1,
  slots: 1,
  sort: 'BINARY',
  stage: 1,
  state: 1,
  step: 1,
  topic: 'mail',
  target: 'dead',
  tries: 0,
  turn: (place: number) => place + 1,
  used: 0,
  version: 6,
  waiting: 1,
  wanted: 1,
}

/** The column names of a select: the last word of each expression, or all columns of the one table for `*`. */
export function namesOf(tokens: readonly Token[]): string[] {
  // Behind `with` stands the select whose rows are returned.
  const block = is(tokens, 0, 'with') ? blocksOf(tokens).find(({ depth }) => depth === 0) : blocksOf(tokens)[0]
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

/** The keys among the values: JSON of numbers, or of rows that begin with a number. */
function keysIn(binds: readonly unknown[]): number[] | undefined {
  for (const bind of binds) {
    const text = typeof bind === 'object' && bind !== null ? (bind as { val?: unknown }).val : bind
    if (typeof text !== 'string' || !text.startsWith('[')) continue
    const keys = (JSON.parse(text) as unknown[]).map((key) => (Array.isArray(key) ? key[0] : key))
    if (keys.every((key) => typeof key === 'number')) return keys as number[]
  }
  return undefined
}
