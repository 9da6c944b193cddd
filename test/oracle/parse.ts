/**
 * Parses Oracle's SQL with ANTLR's PL/SQL grammar. A statement that this grammar refuses is wrong; Oracle may still refuse one
 * that it accepts.
 */

interface Recognizer {
  removeErrorListeners(): void
  addErrorListener(listener: object): void
}

/** The methods that the package's types leave out. */
interface Parser extends Recognizer {
  readonly _input: { readonly tokenSource: Recognizer }
  readonly _interp: { predictionMode: number }
  anonymous_block(): unknown
  data_manipulation_language_statements(): unknown
  unit_statement(): unknown
  getCurrentToken(): { readonly type: number; readonly text: string }
}

const endOfFile = -1

// A static import would make linters read eleven megabytes.
const { getParserFromInput } = await import('@griffithswaite/ts-plsql-parser')

/** @returns the syntax errors with their places; empty if there are none */
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
  // The grammar of a block does not include its last semicolon.
  const parser = getParserFromInput(isBlock ? text.replace(/;\s*$/, '') : text) as unknown as Parser
  for (const recognizer of [parser, parser._input.tokenSource]) {
    recognizer.removeErrorListeners()
    recognizer.addErrorListener(listener)
  }
  // This is the quicker of ANTLR's two ways to look ahead. It accepts nothing that the other refuses.
  parser._interp.predictionMode = 0
  if (isBlock) parser.anonymous_block()
  else if (/^\s*(?:select|insert|update|delete|merge)\b/i.test(text)) parser.data_manipulation_language_statements()
  else parser.unit_statement()
  // These rules end where the text no longer fits, so text may be left.
  const { type, text: rest } = parser.getCurrentToken()
  if (errors.length === 0 && type !== endOfFile) errors.push(`goes on with ${rest}`)
  return errors
}
