/** Engines on which a check is made. */
type Where = 'every engine' | 'servers' | 'PostgreSQL' | 'MariaDB and MySQL' | 'MariaDB' | 'MySQL' | 'SQLite'

/**
 * The texts of a check. In `says` and `remedy` a name in braces stands for a column of the worst row: `{value}` is the value in its unit, and `{remedy}` the
 * statement that the row has.
 */
export interface Check {
  readonly where: Where
  /** What is measured. */
  readonly measures: string
  /** What is told of the worst row. Default: its value. */
  readonly says?: string
  readonly remedy: string
  /** The page, from docs/ on. */
  readonly page: string
}
