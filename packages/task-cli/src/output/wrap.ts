/** Texts on several lines of a terminal, with nothing cut. */
import { isTerminal, terminalWidth } from './print.ts'
import { widthOf } from './width.ts'

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' })

/** What does not end within quotes is one word. */
const words = /(?:'[^']*'|[^\s'])+|'/g

/**
 * The lines of a text, each at most so wide. Breaks between words, and within those that are wider than a line.
 *
 * @param width Infinity: one line
 * @param indent what each line begins with
 * @param join what is written at the end of each line but the last, such as the backslash of a shell
 */
export function wrapped(text: string, width: number, indent = '', join = ''): readonly string[] {
  const room = Math.max(1, width - indent.length - join.length)
  if (widthOf(text) <= room) return [indent + text]
  const lines: string[] = []
  let line = ''
  for (const word of text.match(words) ?? []) {
    const longer = line === '' ? word : `${line} ${word}`
    if (widthOf(longer) <= room) {
      line = longer
      continue
    }
    if (line !== '') lines.push(line)
    const pieces = piecesOf(word, room)
    lines.push(...pieces.slice(0, -1))
    line = pieces.at(-1)!
  }
  lines.push(line)
  return lines.map((each, index) => indent + each + (index < lines.length - 1 ? join : ''))
}

/** Prints a text, on a terminal so that no line is wider than it. Commands can still be copied as one. */
export function printWrapped(text: string, indent = ''): void {
  const join = text.startsWith('taskstream ') ? ' \\' : ''
  for (const line of wrapped(text, isTerminal() ? terminalWidth() : Infinity, indent, join)) console.log(line)
}

function piecesOf(word: string, room: number): readonly string[] {
  const pieces = ['']
  for (const { segment } of graphemes.segment(word)) {
    const longer = pieces.at(-1)! + segment
    if (widthOf(longer) <= room || pieces.at(-1) === '') pieces[pieces.length - 1] = longer
    else pieces.push(segment)
  }
  return pieces
}
