import { TaskError } from '@taskstream/task-api'

/** How many characters of a long expression the error shows on either side of the fault. */
const shown = 50

/** A fault of an expression. Readers throw it, and `unreadable` turns it into the error for the caller. */
export class Misreading extends Error {
  readonly position: number
  readonly rule: string

  constructor(position: number, rule: string) {
    super(rule)
    this.position = position
    this.rule = rule
  }
}

/** The error for an expression. It names the fault, points at its position on a line of its own, and may suggest another expression. */
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

/** Replaces each character without a width of its own, so that the caret stands below the right character. */
function printable(text: string): string {
  return text.replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, '·')
}
