/** Splits statements into words, with just enough of Oracle's lexical rules for the statements of task-sql. */

export interface Token {
  readonly kind: 'word' | 'text' | 'number' | 'bind' | 'hint' | 'sign'
  /** Words are in lower case; everything else is unchanged. */
  readonly text: string
  /** The number of parentheses around the token. */
  readonly depth: number
}

const lexemes: readonly (readonly [Token['kind'] | 'space', RegExp])[] = [
  ['space', /\s+|--[^\n]*|\/\*(?!\+)[^]*?\*\//y],
  ['hint', /\/\*\+[^]*?\*\//y],
  ['text', /'(?:[^']|'')*'/y],
  ['bind', /:\d+|\?|\$\d+/y],
  ['word', /[a-z_][\w$#]*|"[^"]+"/iy],
  ['number', /\d+(?:\.\d+)?/y],
  ['sign', /<>|<=|>=|:=|::|\|\||[-+*/=<>(),.;&|:[\]{}!%@]/y],
]

/** @throws Error where no token fits the text */
export function tokensOf(text: string): Token[] {
  const tokens: Token[] = []
  let depth = 0
  for (let at = 0; at < text.length;) {
    const found = lexemes.flatMap(([kind, pattern]) => {
      pattern.lastIndex = at
      const [lexeme] = pattern.exec(text) ?? []
      return lexeme === undefined ? [] : [{ kind, lexeme }]
    })[0]
    if (!found) throw new Error(`No token of Oracle's at "${text.slice(at, at + 20)}"`)
    at += found.lexeme.length
    if (found.kind === 'space') continue
    if (found.lexeme === ')') depth--
    tokens.push({ kind: found.kind, text: found.kind === 'word' ? found.lexeme.toLowerCase() : found.lexeme, depth })
    if (found.lexeme === '(') depth++
  }
  return tokens
}

/** Whether these words stand at this place, as in `is(tokens, 3, 'group', 'by')`. */
export function is(tokens: readonly Token[], index: number, ...words: readonly string[]): boolean {
  return words.every((word, offset) => tokens[index + offset]?.kind !== 'text' && tokens[index + offset]?.text === word)
}

/** One select, from its first word to the end of the parentheses around it. */
export interface Block {
  readonly start: number
  readonly end: number
  readonly depth: number
}

export function blocksOf(tokens: readonly Token[]): Block[] {
  return tokens.flatMap(({ text, kind, depth }, start) => {
    if (kind !== 'word' || text !== 'select') return []
    const length = tokens.slice(start).findIndex((token) => token.depth < depth)
    return [{ start, end: length < 0 ? tokens.length : start + length, depth }]
  })
}

/** The tokens of a block that stand in no further parentheses. */
export function ownTokens(tokens: readonly Token[], { start, end, depth }: Block): Token[] {
  return tokens.slice(start, end).filter((token) => token.depth === depth)
}
