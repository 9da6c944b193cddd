import { InvalidArgumentError } from 'commander'

/** What a shell would act on. Here it would be passed on as it is, which nobody who writes it means. */
const forShells = /[|&;<>()$`*?[\]~#]/

/**
 * Takes a command apart as a POSIX shell does with quotes and backslashes, and nothing else of a shell: no variables, no patterns, no pipes.
 *
 * @throws InvalidArgumentError if a quote is not closed, or an unquoted character needs a shell
 */
export function commandWords(text: string): readonly [program: string, ...args: string[]] {
  const words: string[] = []
  let word: string | undefined
  for (let at = 0; at < text.length; at++) {
    const one = text[at]!
    if (/\s/.test(one)) {
      if (word !== undefined) words.push(word)
      word = undefined
    } else if (one === "'" || one === '"') {
      const [inside, end] = quoted(text, at)
      word = (word ?? '') + inside
      at = end
    } else if (one === '\\') {
      at++
      if (at === text.length) throw new InvalidArgumentError('Nothing follows its last backslash.')
      word = (word ?? '') + text[at]
    } else {
      if (forShells.test(one))
        throw new InvalidArgumentError(`Its ${one} is for a shell: add --shell, or quote it if it is to be passed on as it is.`)
      word = (word ?? '') + one
    }
  }
  if (word !== undefined) words.push(word)
  const [program, ...args] = words
  if (program === undefined || program === '') throw new InvalidArgumentError('It names no program.')
  return [program, ...args]
}

/** Reads a quoted text. @param from where its quote stands @returns the text, and where the closing quote stands */
function quoted(text: string, from: number): [inside: string, end: number] {
  const quote = text[from]!
  let inside = ''
  for (let at = from + 1; at < text.length; at++) {
    const one = text[at]!
    if (one === quote) return [inside, at]
    // In double quotes a backslash is one, unless it stands before what would have a meaning there.
    if (one === '\\' && quote === '"' && /["\\$`]/.test(text[at + 1] ?? '')) at++
    inside += text[at]
  }
  throw new InvalidArgumentError(`Its quote ${quote} is not closed.`)
}
