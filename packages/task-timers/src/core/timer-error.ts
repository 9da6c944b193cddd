import { TaskError } from '@taskstream/task-api'

/** How much of a long expression is shown on either side of what is wrong with it. */
const shown = 50

/** What is wrong with an expression: thrown while it is read, and turned into an error that shows it. */
export class Misreading extends Error {
  readonly position: number
  readonly rule: string

  constructor(position: number, rule: string) {
    super(rule)
    this.position = position
    this.rule = rule
  }
}

/** The error for an expression: what is wrong, a line under it that points at where, and what may have been meant. */
export function unreadable(
  expression: string,
  { position, rule }: { readonly position: number; readonly rule: string },
  suggestion?: string,
  cause?: unknown,
): TaskError {
  const hint = suggestion === undefined ? '' : ` write ${printable(suggestion)}`
  return new TaskError(
    'TIMER_INVALID',
    `The timer cannot be read: ${rule}\n${pointAt(expression, position)}${hint}`,
    { expression, position, ...(suggestion !== undefined && { suggestion }) },
    cause === undefined ? {} : { cause },
  )
}

function pointAt(expression: string, position: number): string {
  const from = Math.max(0, position - shown)
  const before = from > 0 ? '…' : ''
  const after = expression.length > position + shown ? '…' : ''
  const text = printable(expression.slice(from, position + shown))
  return `  ${before}${text}${after}\n  ${' '.repeat(before.length + position - from)}^`
}

/** One character for each that has no width of its own, so that the caret stays below its place. */
function printable(text: string): string {
  return text.replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, '·')
}
