/**
 * Checks that every name in a statement stands for a column of a table as the migration makes it, of a JSON_TABLE or of a
 * subquery. This finds errors that the grammar cannot: ORA-00904 (no such column), ORA-00918 (a column of two tables), ORA-00942
 * (no such table).
 */
import { oracle } from '@taskstream/task-sql/oracledb'
import { is, tokensOf } from './tokens.ts'
import type { Token } from './tokens.ts'

/** The columns of one source of rows. `any` stands for tables of the data dictionary, whose columns are not known here. */
type Columns = ReadonlySet<string> | 'any'

/** Sources by the names that a query block gives them. */
type Scope = ReadonlyMap<string, Columns>

const dictionary = new Set(['all_tables', 'nls_database_parameters', 'nls_session_parameters'])

/** Words that may stand where a column could, and are none. */
const keywords = new Set(
  `all and any as asc between by byte case char clob columns connect cross current_timestamp day default desc distinct else end error exists fetch
   first for from group hour in into is join json_array json_table left level locked matched merge minute minus not nth null number on only or
   order ordinality over partition path returning rownum rows row_number second select set skip start systimestamp table then timestamp union
   update using values varchar2 when where with delete insert dual`.split(/\s+/),
)

/** @returns the errors in the names of a select, insert, update, delete or merge */
export function nameErrors(text: string): string[] {
  const tokens = tokensOf(text).filter(({ kind }) => kind !== 'hint')
  const checker = new Names(tokens)
  checker.statement()
  return checker.errors
}

class Names {
  readonly errors: string[] = []
  readonly #tokens: readonly Token[]

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens
  }

  statement(): void {
    const [first] = this.#tokens
    const end = this.#tokens.length
    if (first?.text === 'select') this.#block(0, end, [])
    else if (first?.text === 'insert') this.#insert(end)
    else if (first?.text === 'merge') this.#merge(end)
    else {
      const from = first?.text === 'delete' ? 1 : 0
      const { scope, next } = this.#sources(from, end, [])
      this.#expression(next, end, [scope])
    }
  }

  /** `insert into t (columns) …` */
  #insert(end: number): void {
    const { name, next } = this.#table(2)
    const columns = this.#columnsOf(name)
    const close = this.#closing(next)
    for (let at = next + 1; at < close; at++) if (this.#tokens[at]?.kind === 'word') this.#column(this.#tokens[at]!.text, columns)
    if (is(this.#tokens, close + 1, 'values')) this.#expression(close + 2, end, [new Map()])
    else this.#block(close + 1, end, [])
  }

  /** `merge into t using (…) w on (…) when matched then update set …` */
  #merge(end: number): void {
    const { name, next } = this.#table(2)
    const close = this.#closing(next + 2)
    const rows = this.#block(next + 3, close, [])
    const scope: Scope = new Map([
      [this.#tokens[next]!.text, this.#columnsOf(name)],
      [this.#tokens[close + 1]!.text, rows],
    ])
    this.#expression(close + 2, end, [scope])
  }

  /** @returns the columns of a select, perhaps after a `with` or before a `union all` */
  #block(start: number, end: number, outer: readonly Scope[]): Columns {
    const named = new Map<string, Columns>()
    let at = start
    if (is(this.#tokens, at, 'with')) {
      const close = this.#closing(at + 3)
      named.set(this.#tokens[at + 1]!.text, this.#block(at + 4, close, outer))
      at = close + 1
    }
    const depth = this.#tokens[at]?.depth ?? 0
    const union = this.#find(at, end, depth, 'union')
    if (union < end) {
      this.#block(union + 2, end, outer)
      return this.#block(at, union, outer)
    }
    const from = this.#find(at, end, depth, 'from')
    const { scope, next } = this.#sources(from, end, outer, named)
    const scopes = [scope, ...outer]
    this.#expression(at + 1, from, scopes)
    const columns = this.#listed(at + 1, from, depth, scope)
    // The `order by` may use names of the select list.
    this.#expression(next, end, [...scopes, new Map([['', columns]])])
    return columns
  }

  /** Reads tables, JSON_TABLEs and subqueries after `from`, `update` or `delete from`, until another clause begins. */
  #sources(
    from: number,
    end: number,
    outer: readonly Scope[],
    named = new Map<string, Columns>(),
  ): { scope: Scope; next: number } {
    const scope = new Map<string, Columns>()
    let at = from + 1
    for (;;) {
      if (is(this.#tokens, at, 'json_table')) {
        const close = this.#closing(at + 1)
        scope.set(this.#tokens[close + 1]!.text, this.#jsonColumns(at + 1, close))
        at = close + 2
      } else if (is(this.#tokens, at, '(')) {
        const close = this.#closing(at)
        scope.set(this.#tokens[close + 1]!.text, this.#block(at + 1, close, outer))
        at = close + 2
      } else {
        const { name, next } = this.#table(at)
        const alias = this.#tokens[next]
        const hasAlias =
          next < end && alias?.kind === 'word' && !keywords.has(alias.text) && alias.depth === this.#tokens[from]!.depth
        scope.set(hasAlias ? alias.text : name, named.get(name) ?? this.#columnsOf(name))
        at = hasAlias ? next + 1 : next
      }
      if (is(this.#tokens, at, 'left', 'join') || is(this.#tokens, at, 'cross', 'join')) at += 2
      else if (is(this.#tokens, at, 'join') || is(this.#tokens, at, ',')) at += 1
      else if (is(this.#tokens, at, 'on')) {
        const depth = this.#tokens[from]!.depth
        const next = this.#tokens.findIndex(
          (token, index) =>
            index > at && (token.depth < depth || (token.depth === depth && /^(where|join|left|order|fetch)$/.test(token.text))),
        )
        this.#expression(at + 1, next < 0 ? end : next, [scope, ...outer])
        at = next < 0 ? end : next
        if (is(this.#tokens, at, 'left', 'join')) at += 2
        else if (is(this.#tokens, at, 'join')) at += 1
        else return { scope, next: at }
      } else return { scope, next: at }
    }
  }

  #table(at: number): { name: string; next: number } {
    const qualified = is(this.#tokens, at + 1, '.')
    return { name: this.#tokens[at + (qualified ? 2 : 0)]!.text, next: at + (qualified ? 3 : 1) }
  }

  #columnsOf(name: string): Columns {
    if (dictionary.has(name)) return 'any'
    const columns = tableColumns().get(name)
    if (!columns) this.errors.push(`ORA-00942: there is no table ${name}`)
    return columns ?? 'any'
  }

  /** Reads the names of the columns in `columns (…)`. */
  #jsonColumns(open: number, close: number): ReadonlySet<string> {
    const list = this.#find(open, close, this.#tokens[open]!.depth + 1, 'columns') + 1
    const depth = this.#tokens[list]!.depth + 1
    const names = new Set<string>()
    for (let at = list + 1; at < this.#closing(list); at++) {
      const { text, depth: own } = this.#tokens[at]!
      if (own === depth && (at === list + 1 || is(this.#tokens, at - 1, ','))) {
        if (names.has(text)) this.errors.push(`ORA-00957: ${text} stands twice in JSON_TABLE`)
        names.add(text)
      }
    }
    return names
  }

  /** Returns the names of the columns of a select list. */
  #listed(start: number, end: number, depth: number, scope: Scope): Columns {
    const names: string[] = []
    for (let at = start; at < end; at++) {
      const { text, depth: own } = this.#tokens[at]!
      const last = at + 1 === end || (is(this.#tokens, at + 1, ',') && this.#tokens[at + 1]!.depth === depth)
      if (own !== depth || !last) continue
      const all =
        text === '*' ? scope.get(is(this.#tokens, at - 1, '.') ? this.#tokens[at - 2]!.text : [...scope.keys()][0]!) : undefined
      if (all === 'any') return 'any'
      names.push(...(all ?? [text]))
    }
    const twice = names.find((name, at) => !keywords.has(name) && names.indexOf(name) !== at)
    // https://docs.oracle.com/en/error-help/db/ora-00918/: Oracle turns a select with a limit into a subquery, where a name may
    // stand once.
    if (twice !== undefined) this.errors.push(`ORA-00918: ${twice} stands twice in a select list`)
    return new Set(names)
  }

  #expression(start: number, end: number, scopes: readonly Scope[]): void {
    for (let at = start; at < end; at++) {
      const { kind, text } = this.#tokens[at]!
      if (text === '(' && (is(this.#tokens, at + 1, 'select') || is(this.#tokens, at + 1, 'with'))) {
        const close = this.#closing(at)
        this.#block(at + 1, close, scopes)
        at = close
      } else if (kind === 'word' && is(this.#tokens, at + 1, '.')) {
        at += 2
        const name = this.#tokens[at]!.text
        if (name === 'nextval') continue
        const columns = scopes.map((scope) => scope.get(text)).find((found) => found !== undefined)
        if (!columns) this.errors.push(`ORA-00904: nothing is called ${text} in ${text}.${name}`)
        else if (name !== '*') this.#column(name, columns, `${text}.`)
      } else if (kind === 'word' && !keywords.has(text) && !is(this.#tokens, at + 1, '(') && !is(this.#tokens, at - 1, 'as')) {
        this.#bare(text, scopes)
      }
    }
  }

  /** A column without a table's name must belong to exactly one source, in the nearest block that has such a column. */
  #bare(name: string, scopes: readonly Scope[]): void {
    for (const scope of scopes) {
      const found = [...scope.values()].filter((columns) => columns === 'any' || columns.has(name))
      if (found.length > 1) this.errors.push(`ORA-00918: ${name} may be of two tables`)
      if (found.length > 0) return
    }
    this.errors.push(`ORA-00904: nothing is called ${name}`)
  }

  #column(name: string, columns: Columns, of = ''): void {
    if (columns !== 'any' && !columns.has(name)) this.errors.push(`ORA-00904: there is no column ${of}${name}`)
  }

  #find(start: number, end: number, depth: number, word: string): number {
    for (let at = start; at < end; at++) if (this.#tokens[at]!.depth === depth && is(this.#tokens, at, word)) return at
    return end
  }

  #closing(open: number): number {
    const depth = this.#tokens[open]!.depth
    return this.#tokens.findIndex((token, index) => index > open && token.text === ')' && token.depth === depth)
  }
}

let known: ReadonlyMap<string, ReadonlySet<string>> | undefined

/** The columns of tables and views as the migration makes them. */
function tableColumns(): ReadonlyMap<string, ReadonlySet<string>> {
  if (known) return known
  const tables = new Map<string, Set<string>>([
    ['dual', new Set<string>()],
    ...definitions().flatMap((text) => {
      const view = /create or replace view (\w+) as\s/.exec(text)
      if (view) return [[view[1]!, new Set([...text.matchAll(/ as (\w+)/g)].map(([, name]) => name!))] as const]
      const table = /create table (\w+) \(([^]*)\)/.exec(text)
      if (!table) return []
      const columns = [...table[2]!.matchAll(/^\s*(?!constraint)(\w+) (?:number|varchar2|clob)/gm)].map(([, name]) => name!)
      return [[table[1]!, new Set(columns)] as const]
    }),
  ])
  for (const text of definitions()) {
    const [, name, added] = /alter table (\w+) add \(([^']*)\)/.exec(text) ?? []
    for (const [, column] of (added ?? '').matchAll(/(\w+) (?:number|varchar2|clob)/g)) tables.get(name!)!.add(column!)
  }
  return (known = tables)
}

function definitions(): string[] {
  const { begin, migrations } = oracle().schema
  return [...begin, ...migrations.flatMap(({ statements }) => statements)].map(({ texts }) => texts.join(''))
}
