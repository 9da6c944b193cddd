/** Rewrites every descending range of a date or a time: `22..6:00` becomes `22..23,0..6:00`, and `~5..1` becomes `~1..5`. */
export function wrap(word: string): string {
  if (word.includes(':'))
    return word
      .split(':')
      .map((part, index) => wrapRanges(part, 0, index === 0 ? 23 : 59))
      .join(':')
  if (word.includes('~')) return word.replaceAll(range, (text, from, to) => (Number(from) > Number(to) ? `${to}..${from}` : text))
  const parts = word.split('-')
  return parts.map((part, index) => wrapRanges(part, 1, index === parts.length - 1 ? 31 : 12)).join('-')
}

const range = /\b(\d{1,2})\.\.(\d{1,2})\b(?![./])/g

function wrapRanges(text: string, least: number, most: number): string {
  return text.replaceAll(range, (text, from, to) =>
    Number(from) > Number(to) ? `${from}..${most},${least}..${to}`.replace(`${most}..${most}`, `${most}`) : text,
  )
}
