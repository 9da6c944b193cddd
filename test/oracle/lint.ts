/** Statements that Oracle 19c refuses or misreads although its grammar allows them. */
import { reservedWords } from './reserved-words.ts'
import { blocksOf, is, ownTokens, tokensOf } from './tokens.ts'
import type { Token } from './tokens.ts'

export interface Rule {
  readonly name: string
  /** Statements in which the rule must find an error. */
  readonly bad: readonly string[]
  /** @returns the first error, or undefined */
  find(tokens: readonly Token[], text: string): string | undefined
}

/** Returns the text from the first token for which something holds. */
function firstOf(tokens: readonly Token[], holds: (token: Token, index: number) => boolean): string | undefined {
  const index = tokens.findIndex(holds)
  return index < 0
    ? undefined
    : tokens
        .slice(index, index + 6)
        .map(({ text }) => text)
        .join(' ')
}

const isBlock = (text: string): boolean => /^\s*(?:begin|declare)\b/.test(text)
const hasWords = (tokens: readonly Token[], ...words: readonly string[]): boolean =>
  tokens.some((_, index) => is(tokens, index, ...words))

export const rules: readonly Rule[] = [
  {
    name: 'a select that locks is not limited, grouped or made of several (ORA-02014)',
    bad: [
      'select t.sequence from task t order by t.sequence fetch first 5 rows only for update',
      'select t.sequence from task t where rownum <= 5 for update skip locked',
      'select distinct t.topic from task t for update',
      'select t.topic from task t group by t.topic for update',
      'select t.topic from task t union select p.topic from task_topic p for update',
      'select t.sequence from (select t.sequence from task t) t for update',
      'select t.sequence from task_topic p, task t where t.topic = p.topic for update',
      'select t.sequence from task_topic p join task t on t.topic = p.topic for update',
    ],
    find: (tokens) => {
      const [block] = blocksOf(tokens)
      const own = block ? ownTokens(tokens, block) : []
      if (!hasWords(own, 'for', 'update')) return undefined
      const where = own.findIndex(({ text }) => text === 'where')
      const from = own.findIndex(({ text }) => text === 'from')
      const sources = own.slice(from, where < 0 ? own.length : where)
      return (
        firstOf(own, ({ kind, text }) => kind === 'word' && /^(fetch|rownum|distinct|group|union|intersect|minus)$/.test(text)) ??
        firstOf(sources, ({ text }) => text === ',' || text === 'join' || text === '(')
      )
    },
  },
  {
    name: 'a list has no more than a thousand expressions (ORA-01795)',
    bad: [`select t.topic from task t where t.sequence in (${Array.from({ length: 1_001 }, (_, index) => index).join(', ')})`],
    find: (tokens) =>
      firstOf(tokens, (token, index) => {
        if (!is(tokens, index, 'in', '(') || is(tokens, index + 2, 'select')) return false
        const end = tokens.findIndex((other, at) => at > index + 1 && other.text === ')' && other.depth === token.depth)
        return tokens.slice(index, end).filter(({ text, depth }) => text === ',' && depth === token.depth + 1).length >= 1_000
      }),
  },
  {
    name: 'no text is empty: it would be null',
    bad: [`select t.topic from task t where t.output = ''`, `select t.topic from task t where t.output <> ''`],
    find: (tokens) => firstOf(tokens, ({ text }) => text === `''`),
  },
  {
    name: 'no name is longer than 30 bytes',
    bad: ['select t.sequence as a_name_that_is_one_too_long_now from task t'],
    find: (tokens) => firstOf(tokens, ({ kind, text }) => kind === 'word' && text.length > 30),
  },
  {
    name: 'no name is a reserved word',
    bad: [
      'select t.number from task t',
      'select t.sequence as level from task t',
      'insert into task (topic, size) values (:1, :2)',
      'create table task (topic varchar2(250 char), comment clob)',
      'select date.sequence from task date',
      'update task t set mode = 1',
    ],
    find: (tokens) =>
      firstOf(tokens, ({ kind, text, depth }, index) => {
        if (kind !== 'word' || !reservedWords.has(text)) return false
        const isColumn = isListed(tokens, index, depth) && !['constraint', 'primary', 'unique', 'check'].includes(text)
        // `as select` makes a view and `as identity` a generated column, so neither word is a name.
        const isAlias = is(tokens, index - 1, 'as') && text !== 'select'
        return is(tokens, index - 1, '.') || is(tokens, index + 1, '.') || isAlias || isColumn || isSet(tokens, index)
      }),
  },
  {
    name: 'values stand at :1, :2 and so on (ORA-00911)',
    bad: ['select t.topic from task t where t.topic = ?', 'select t.topic from task t where t.topic = $1'],
    find: (tokens) => firstOf(tokens, ({ kind, text }) => kind === 'bind' && !text.startsWith(':')),
  },
  {
    name: 'only a block ends in a semicolon (ORA-00933)',
    bad: ['select t.topic from task t;', 'begin null; end', 'delete from task_topic where topic = :1 ; '],
    find: (tokens, text) => {
      const ends = tokens.at(-1)?.text === ';'
      return ends === isBlock(text) ? undefined : tokens.at(-1)?.text
    },
  },
  {
    name: 'rows are limited by fetch first',
    bad: ['select t.topic from task t limit 5', 'select t.topic from task t order by t.topic limit :1 offset :2'],
    find: (tokens) => firstOf(tokens, (_, index) => is(tokens, index, 'limit')),
  },
  {
    name: 'there are no truth values before 23ai',
    bad: [
      'select t.topic from task t where true',
      'update task t set listed = false',
      'select (t.state = 1) as ready from task t',
    ],
    find: (tokens) =>
      firstOf(tokens, ({ kind, text }) => kind === 'word' && (text === 'true' || text === 'false')) ?? valueOfCondition(tokens),
  },
  {
    name: 'a table has no `as` before its other name (ORA-00933)',
    bad: [
      'select t.topic from task as t',
      'select t.topic from task_topic p join task as t on t.topic = p.topic',
      'select r.topic from (select t.topic from task t) as r',
      'update task as t set state = 1',
    ],
    find: (tokens) => {
      const clauses = new Map<number, string>()
      return firstOf(tokens, ({ kind, text, depth }) => {
        if (kind !== 'word') return false
        if (/^(from|join|into|update|using|merge|delete)$/.test(text)) clauses.set(depth, 'tables')
        else if (/^(select|where|on|set|group|order|values|fetch|when|with|columns|create)$/.test(text)) clauses.set(depth, text)
        return text === 'as' && clauses.get(depth) === 'tables'
      })
    },
  },
  {
    name: 'every select has a from (ORA-00923)',
    bad: ['select 1', 'select t.topic, (select 1) as one from task t'],
    find: (tokens) => {
      const without = blocksOf(tokens).find((block) => !ownTokens(tokens, block).some(({ text }) => text === 'from'))
      return without && firstOf(tokens, (_, index) => index === without.start)
    },
  },
  {
    name: 'nothing is newer than 19c, or of another database',
    bad: [
      'create table if not exists task (topic number)',
      'insert into task_topic (topic) values (:1), (:2)',
      'insert into task_topic (topic) values (:1) on conflict (topic) do nothing',
      'update task t set state = 1 from task_topic p where p.topic = t.topic',
      'update task t set state = 1 returning sequence',
      'select t.created::date from task t',
      'create table task (listed boolean)',
      'select p.topic from task_topic p where p.topic ilike :1',
    ],
    find: (tokens, text) =>
      firstOf(
        tokens,
        (_, index) =>
          is(tokens, index, 'if', 'not') ||
          (is(tokens, index, 'if', 'exists') && !isBlock(text)) ||
          is(tokens, index, 'conflict') ||
          is(tokens, index, 'boolean') ||
          is(tokens, index, 'ilike') ||
          is(tokens, index, '::') ||
          is(tokens, index, 'straight_join') ||
          // In JSON functions `returning` gives a type. Changed rows can be returned only into variables.
          (is(tokens, index, 'returning') && !is(tokens, index + 1, 'clob')),
      ) ??
      (is(tokens, 0, 'update') && tokens.some(({ text: word, depth }) => word === 'from' && depth === 0)
        ? 'update … from'
        : undefined) ??
      severalRows(tokens),
  },
  {
    name: 'a sequence is drawn from where that is allowed (ORA-02287)',
    bad: [
      'select task_sequence.nextval as sequence from task t order by t.sequence',
      'select distinct task_sequence.nextval as sequence from task t',
      'select r.sequence from (select task_sequence.nextval as sequence from dual) r',
      'select t.topic from task t where t.sequence = task_sequence.nextval',
    ],
    find: (tokens) => {
      const index = tokens.findIndex(({ text }) => text === 'nextval')
      if (index < 0) return undefined
      const own = tokens.filter(({ depth }) => depth === 0)
      const where = tokens.findIndex(({ text, depth }) => text === 'where' && depth === 0)
      const isWrong =
        tokens[index]!.depth > 0 ||
        (where >= 0 && index > where) ||
        ['distinct', 'group', 'order', 'union'].some((word) => hasWords(own, word))
      return isWrong ? 'nextval' : undefined
    },
  },
  {
    name: 'a merge changes nothing that it goes by (ORA-38104)',
    bad: ['merge into task t using (select w.* from r w) w on (t.sequence = w.wanted) when matched then update set sequence = 1'],
    find: (tokens) => {
      if (!is(tokens, 0, 'merge')) return undefined
      const on = tokens.findIndex(({ text, depth }) => text === 'on' && depth === 0)
      const matched = tokens.findIndex(({ text, depth }) => text === 'when' && depth === 0)
      const [, , target] = tokens.filter(({ kind }) => kind !== 'hint')
      const alias = is(tokens, tokens.indexOf(target!) + 1, '.') ? tokens.indexOf(target!) + 3 : tokens.indexOf(target!) + 1
      const gone = tokens.slice(on, matched).filter((_, at) => is(tokens, on + at - 2, tokens[alias]!.text, '.'))
      return firstOf(tokens, ({ text }, index) => isSet(tokens, index) && gone.some((column) => column.text === text))
    },
  },
  {
    name: 'what cannot be read as JSON is an error, and not null',
    bad: [
      `select w.wanted from json_table(:1, '$[*]' columns (wanted number path '$' error on error)) w`,
      `select w.wanted from json_table(:1, '$[*]' error on error columns (wanted number path '$')) w`,
    ],
    find: (tokens) =>
      firstOf(tokens, (_, index) => {
        if (is(tokens, index, 'json_table')) return !is(tokens, index + 5, 'error', 'on', 'error', 'columns')
        return is(tokens, index, 'path') && !is(tokens, index + 2, 'error', 'on', 'error')
      }),
  },
  {
    name: 'the time is that of the view, in UTC',
    bad: [
      'update task t set created = sysdate',
      'select current_date as today from dual',
      'select systimestamp as now from dual',
    ],
    find: (tokens) =>
      firstOf(
        tokens,
        (_, index) =>
          ['sysdate', 'current_date', 'localtimestamp'].some((word) => is(tokens, index, word)) ||
          (is(tokens, index, 'systimestamp') && !is(tokens, index - 2, 'sys_extract_utc', '(')),
      ),
  },
  {
    name: 'a hint is one that Oracle documents: it takes any other for a comment',
    bad: ['select /*+ use_the_index(t) */ t.topic from task t', 'select /*+ index t */ t.topic from task t'],
    find: (tokens) => {
      const documented = 'first_rows|index|leading|use_nl|unnest|qb_name|ignore_row_on_dupkey_index'
      const hint = new RegExp(String.raw`^/\*\+( (?:unnest|(?:${documented})\((?:[\w@, ]|\(\w+(?:, \w+)*\))+\)))+ \*/$`)
      return tokens.find(({ kind, text }) => kind === 'hint' && !hint.test(text))?.text
    },
  },
]

/** Whether a word stands in the column list of an insert or of a created table. */
function isListed(tokens: readonly Token[], index: number, depth: number): boolean {
  if (!is(tokens, index - 1, '(') && !is(tokens, index - 1, ',')) return false
  const open = tokens.findLastIndex((token, at) => at < index && token.text === '(' && token.depth === depth - 1)
  const before = tokens.slice(0, Math.max(open, 0)).filter(({ kind }) => kind !== 'hint')
  return depth === 1 && /^(insert into|create table)( \w+)?( \.)?( \w+)?$/.test(before.map(({ text }) => text).join(' '))
}

/** Whether a value is assigned to the word. */
function isSet(tokens: readonly Token[], index: number): boolean {
  const depth = tokens[index]?.depth
  const set = tokens.findLastIndex((token, at) => at < index && token.text === 'set' && token.depth === depth)
  const where = tokens.findIndex((token, at) => at > set && token.text === 'where' && token.depth === depth)
  const follows = is(tokens, index - 1, 'set') || is(tokens, index - 1, ',')
  return set >= 0 && (where < 0 || index < where) && follows && is(tokens, index + 1, '=')
}

/** Finds a comparison in parentheses with a name, which Oracle does not accept as a value. */
function valueOfCondition(tokens: readonly Token[]): string | undefined {
  return firstOf(tokens, (token, index) => {
    if (token.text !== ')' || !is(tokens, index + 1, 'as')) return false
    const open = tokens.findLastIndex((other, at) => at < index && other.text === '(' && other.depth === token.depth)
    const inside = tokens.slice(open + 1, index).filter(({ depth }) => depth === token.depth + 1)
    return !is(inside, 0, 'select') && inside.some(({ text }) => /^(=|<>|<|>|<=|>=)$/.test(text))
  })
}

function severalRows(tokens: readonly Token[]): string | undefined {
  const values = tokens.findIndex(({ text, depth }) => text === 'values' && depth === 0)
  const after = tokens.slice(values + 1).filter(({ depth }) => depth === 0)
  return values >= 0 && is(tokens, 0, 'insert') && after.some(({ text }) => text === ',') ? 'values (…), (…)' : undefined
}

/** @returns each rule that the text breaks, and where */
export function lintErrors(text: string): string[] {
  const tokens = tokensOf(text)
  return rules.flatMap(({ name, find }) => {
    const found = find(tokens, text)
    return found === undefined ? [] : [`${name}: ${found}`]
  })
}
