/** A script to be run by hand. It is one transaction, for databases whose transactions include definitions. */
export function transactionScript(statements: readonly string[]): string {
  return ['begin;', ...statements.map((statement) => `${statement};`), 'commit;', ''].join('\n\n')
}
