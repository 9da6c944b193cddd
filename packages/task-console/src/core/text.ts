/** Makes texts of the database safe to look at: an identifier may hold marks that turn the direction of all that follows, or nothing that is visible. */

/** Characters that control, are invisible or break lines. The two joiners are left out, because scripts and emoji need them. */
const hidden = /(?![\u200C\u200D])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu

/** Replaces what could not be seen by what can: NUL by ␀, a mark of direction by its escape. A long text is cut. */
export function visible(text: string, most = 300): string {
  return cut(text, most).replaceAll(hidden, replacement)
}

/** As `visible`, but lines and tabs stay. */
export function visibleLines(text: string, most = 70_000): string {
  return cut(text, most).replaceAll(hidden, (character) =>
    character === '\n' || character === '\t' ? character : replacement(character),
  )
}

function cut(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most)}…` : text
}

function replacement(character: string): string {
  const code = character.codePointAt(0)!
  if (code < 0x20) return String.fromCodePoint(0x24_00 + code)
  if (code === 0x7f) return '␡'
  if (code >= 0xd8_00 && code <= 0xdf_ff) return '\uFFFD'
  return `\\u{${code.toString(16)}}`
}

/** Writes a span of time in one or two units. Less than a minute is written in steps, so that a page that shows it changes less often. */
export function roughly(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000))
  if (seconds < 5) return 'a moment'
  if (seconds < 60) return `${Math.floor(seconds / 10) * 10 || 5} s`
  const units = [
    ['d', 86_400],
    ['h', 3_600],
    ['min', 60],
  ] as const
  const first = units.findIndex(([, size]) => seconds >= size)
  const [name, size] = units[first]!
  const whole = Math.floor(seconds / size)
  const next = units[first + 1]
  const rest = next && whole < 10 ? Math.floor((seconds % size) / next[1]) : 0
  return rest > 0 ? `${whole} ${name} ${rest} ${next![0]}` : `${whole} ${name}`
}
