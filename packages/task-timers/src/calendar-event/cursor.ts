import { Misreading } from '../core/timer-error.ts'

/** A place in a text, and the text from there on. */
export class Cursor {
  readonly text: string
  at = 0

  constructor(text: string) {
    this.text = text
  }

  /** The character here; empty at the end. */
  get here(): string {
    return this.text.charAt(this.at)
  }

  get isAtEnd(): boolean {
    return this.at >= this.text.length
  }

  /** Goes past `expected` if it stands here. */
  take(expected: string): boolean {
    if (!this.text.startsWith(expected, this.at)) return false
    this.at += expected.length
    return true
  }

  /** Goes past what matches here, and says what it was; `pattern` is sticky. */
  match(pattern: RegExp): string {
    pattern.lastIndex = this.at
    const [found = ''] = pattern.exec(this.text) ?? []
    this.at += found.length
    return found
  }

  fail(rule: string, position: number = this.at): Misreading {
    return new Misreading(position, rule)
  }
}
