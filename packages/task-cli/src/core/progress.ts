/** How far a long write has come: a bar on a terminal, and now and then a line elsewhere. It is written to standard error. */
import { duration } from '../output/duration.ts'
import { cutEnd } from '../output/width.ts'

/** Shorter work shows no progress. */
const quietMs = 1_000

/** A log gets a line this often. */
const lineMs = 10_000

const barWidth = 20

export class Progress {
  readonly #total: number
  readonly #begun = performance.now()
  #lastLine = performance.now()
  #isDrawn = false

  constructor(total: number) {
    this.#total = total
  }

  update(done: number): void {
    const now = performance.now()
    const passed = now - this.#begun
    if (passed < quietMs) return
    const text = progressText(done, this.#total, passed)
    if (process.stderr.isTTY) {
      this.#isDrawn = true
      const filled = Math.min(barWidth, Math.floor((done / this.#total) * barWidth))
      const bar = `[${'='.repeat(filled)}${' '.repeat(barWidth - filled)}] ${text}`
      process.stderr.write(`\r${cutEnd(bar, (process.stderr.columns || 80) - 1)}\u001B[K`)
    } else if (now - this.#lastLine >= lineMs) {
      this.#lastLine = now
      console.error(text)
    }
  }

  /** Takes the bar away. */
  end(): void {
    if (this.#isDrawn) process.stderr.write('\r\u001B[K')
  }
}

export function progressText(done: number, total: number, passedMs: number): string {
  const perSecond = done / (passedMs / 1_000)
  const left = Math.max(0, total - done)
  const rest = perSecond > 0 ? `, ${duration(Math.ceil(left / perSecond) * 1_000)} left` : ''
  return `${counted(done)} of ${counted(total)}, ${counted(Math.round(perSecond))}/s${rest}`
}

/** Writes a count with groups of three digits. */
export function counted(count: number): string {
  return count.toLocaleString('en')
}
