import { stripVTControlCharacters } from 'node:util'

/**
 * The text that a program has written, as it may be stored and shown: in UTF-8, without colours and other commands to a terminal, so that no program
 * writes to the terminal of whoever lists tasks.
 */
export function plainText(written: string | Uint8Array): string {
  const text = typeof written === 'string' ? written : new TextDecoder().decode(written)
  return (
    stripVTControlCharacters(text)
      // A progress bar goes back to the beginning of its line.
      .replaceAll(/\r\n?/g, '\n')
      // oxlint-disable-next-line no-control-regex
      .replaceAll(/[\0-\u0008\u000B-\u001F\u007F-\u009F]/g, '\uFFFD')
      .trim()
  )
}

/** A text of a user on one line, so that an identifier cannot forge a line of the log. */
export function oneLine(text: string): string {
  return plainText(text).replaceAll(/\s+/g, ' ')
}
