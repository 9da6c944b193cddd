/** Formats a statement for readers: it keeps the lines and indents them by their parentheses. */
export function pretty(text: string): string {
  let depth = 0
  const lines = text.split('\n').flatMap((line) => {
    const trimmed = line.trim()
    if (trimmed === '') return []
    const indent = '  '.repeat(Math.max(0, depth - (trimmed.startsWith(')') ? 1 : 0)))
    const plain = trimmed.replaceAll(/'[^']*'/g, '')
    depth += plain.split('(').length - plain.split(')').length
    return [indent + trimmed.replaceAll(/ {2,}/g, ' ')]
  })
  return lines.join('\n')
}
