/** How many columns of a terminal a text takes, and what is left of it in fewer. */
import stringWidth from 'string-width'

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' })

/** Most texts are plain, and need no look at each character. */
const plain = /^[\x20-\x7E]*$/

export function widthOf(text: string): number {
  return plain.test(text) ? text.length : partsOf(text).reduce((sum, { width }) => sum + width, 0)
}

/** Cuts a text at its end. */
export function cutEnd(text: string, width: number): string {
  if (widthOf(text) <= width) return text
  return width < 1 ? '' : `${head(partsOf(text), width - 1)}…`
}

/** Cuts a text in its middle: the ends of identifiers tell more than their middles. */
export function cutMiddle(text: string, width: number): string {
  if (widthOf(text) <= width) return text
  if (width < 1) return ''
  const parts = partsOf(text)
  const behind = Math.floor((width - 1) / 2)
  const end = head(parts.toReversed(), behind, (shown, part) => part + shown)
  return `${head(parts, width - 1 - behind)}…${end}`
}

export function padEnd(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - widthOf(text)))
}

export function padStart(text: string, width: number): string {
  return ' '.repeat(Math.max(0, width - widthOf(text))) + text
}

interface Part {
  readonly text: string
  readonly width: number
}

function partsOf(text: string): Part[] {
  return Array.from(graphemes.segment(text), ({ segment }) => ({ text: segment, width: stringWidth(segment) }))
}

function head(parts: readonly Part[], width: number, add = (shown: string, part: string): string => shown + part): string {
  let [shown, left] = ['', width]
  for (const part of parts) {
    left -= part.width
    if (left < 0) break
    shown = add(shown, part.text)
  }
  return shown
}
