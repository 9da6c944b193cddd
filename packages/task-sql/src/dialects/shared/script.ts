/** Statements to be run by hand, in one transaction where definitions are part of it. */
export function transactionScript(statements: readonly string[]): string {
  return ['begin;', ...statements.map((statement) => `${statement};`), 'commit;', ''].join('\n\n')
}
