/**
 * Makes texts of the database harmless on a terminal. An identifier may hold an escape sequence that clears the screen, or a mark that turns the
 * direction of all that follows.
 */

/** Of a longer text no more is looked at, so that a text of 16 MB costs no more than a short one. */
const mostShown = 10_000

/** Characters that control the terminal, are invisible or break lines. The two joiners are left out, because scripts and emoji need them. */
const hidden = /(?![\u200C\u200D])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu

/** The same characters without those that JSON escapes by itself. */
const unescaped = /(?![\u200C\u200D])[\u007F-\u009F\p{Cf}\p{Zl}\p{Zp}]/gu

/** Replaces what a terminal would not show as it is: a line end by ␊, a mark of direction by `\u202e`, the rest of a long text by an ellipsis. */
export function visible(text: string, most: number = mostShown): string {
  const shown = text.length > most ? `${text.slice(0, most)}…` : text
  return shown.replaceAll(hidden, replacement)
}

/** As `visible`, but line ends stay, for messages of several lines. */
export function visibleLines(text: string, most: number = mostShown): string {
  const cut = text.length > most ? `${text.slice(0, most)}…` : text
  return cut
    .split('\n')
    .map((line) => visible(line, Infinity))
    .join('\n')
}

/** Writes JSON that is the same value to every parser, and that a terminal shows as it is. */
export function toJson(value: unknown, indent?: number): string {
  return (JSON.stringify(value, undefined, indent) ?? 'null').replaceAll(unescaped, escaped)
}

function replacement(character: string): string {
  const code = character.codePointAt(0)!
  if (code < 0x20) return String.fromCodePoint(0x24_00 + code)
  if (code === 0x7f) return '␡'
  return code >= 0xd8_00 && code <= 0xdf_ff ? '\uFFFD' : escaped(character)
}

/** An escape for each of the code units, as JSON has them. */
function escaped(character: string): string {
  return [...Array(character.length).keys()]
    .map((index) => String.raw`\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`)
    .join('')
}
