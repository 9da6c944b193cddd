/** Draws again and again on the same place of a terminal, and gives the terminal back as it was, however the process ends. */
import { writeSync } from 'node:fs'
import { exitCodes } from './exit-codes.ts'

/** The alternate screen, without a cursor. */
const enter = '\u001B[?1049h\u001B[?25l'
const leave = '\u001B[?25h\u001B[?1049l'

/** The exit codes that a shell gives to these signals. */
const signals = { SIGINT: exitCodes.interrupted, SIGTERM: 143, SIGHUP: 129 } as const

let isEntered = false

export function enterScreen(): void {
  if (isEntered) return
  isEntered = true
  process.stdout.write(enter)
  process.on('exit', leaveScreen)
  for (const [signal, code] of Object.entries(signals)) process.on(signal, () => process.exit(code))
}

/** Does nothing if the screen was never entered. An error is written after this, because the alternate screen takes its text with it. */
export function leaveScreen(): void {
  if (!isEntered) return
  isEntered = false
  try {
    // The process may end before a stream has written.
    writeSync(process.stdout.fd, leave)
  } catch {
    // The terminal is gone.
  }
}

/** Draws lines from the top, as many as there is room for. */
export function draw(lines: readonly string[]): void {
  const shown = lines.slice(0, (process.stdout.rows || 24) - 1)
  process.stdout.write(`\u001B[H${shown.map((line) => `${line}\u001B[K\n`).join('')}\u001B[J`)
}
