/** Oracle's grammar as far as ANTLR's PL/SQL grammar has it: what it takes may still be refused, what it refuses is wrong. */

interface Recognizer {
  removeErrorListeners(): void
  addErrorListener(listener: object): void
}

/** What its types leave out. */
interface Parser extends Recognizer {
  readonly _input: { readonly tokenSource: Recognizer }
  readonly _interp: { predictionMode: number }
  anonymous_block(): unknown
  data_manipulation_language_statements(): unknown
  unit_statement(): unknown
  getCurrentToken(): { readonly type: number; readonly text: string }
}

const endOfFile = -1

// Not by a static import: linters would read its eleven megabytes.
const { getParserFromInput } = await import('@griffithswaite/ts-plsql-parser')

/** @returns where the text is no statement, and why; nothing where it is one */
export function parseErrors(text: string): string[] {
  const errors: string[] = []
  const listener = {
    syntaxError: (_recognizer: unknown, _symbol: unknown, line: number, column: number, message: string) =>
      errors.push(`${line}:${column} ${message}`),
    reportAmbiguity: () => {},
    reportAttemptingFullContext: () => {},
    reportContextSensitivity: () => {},
  }
  const isBlock = /^\s*(?:begin|declare)\b/i.test(text)
  // A block's last semicolon is not the grammar's.
  const parser = getParserFromInput(isBlock ? text.replace(/;\s*$/, '') : text) as unknown as Parser
  for (const recognizer of [parser, parser._input.tokenSource]) {
    recognizer.removeErrorListeners()
    recognizer.addErrorListener(listener)
  }
  // The quicker of ANTLR's two ways to look ahead: what it takes, the other takes too.
  parser._interp.predictionMode = 0
  if (isBlock) parser.anonymous_block()
  else if (/^\s*(?:select|insert|update|delete|merge)\b/i.test(text)) parser.data_manipulation_language_statements()
  else parser.unit_statement()
  // Each of these rules ends where it can go no further.
  const { type, text: rest } = parser.getCurrentToken()
  if (errors.length === 0 && type !== endOfFile) errors.push(`goes on with ${rest}`)
  return errors
}
