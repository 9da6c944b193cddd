import { Misreading } from '../core/timer-error.ts'

/** A position in a text that is being read. */
export class Cursor {
  readonly text: string
  at = 0

  constructor(text: string) {
    this.text = text
  }

  /** The character at the position; empty at the end. */
  get here(): string {
    return this.text.charAt(this.at)
  }

  get isAtEnd(): boolean {
    return this.at >= this.text.length
  }

  /** Skips `expected` if it stands at the position. @returns whether it did */
  take(expected: string): boolean {
    if (!this.text.startsWith(expected, this.at)) return false
    this.at += expected.length
    return true
  }

  /** Skips the text that matches a sticky pattern at the position. @returns that text, which may be empty */
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
