import { readFileSync } from 'node:fs'
import { TaskError } from '@taskstream/task-api'

/**
 * Reads headers of requests from a file, as they are no arguments: others on the machine can see those.
 *
 * @throws TaskError ARGUMENT_INVALID that names the line, and shows nothing of it
 */
export function headersIn(path: string): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const [index, line] of textIn('--headers-file', path).split(/\r?\n/).entries()) {
    if (line.trim() === '' || line.startsWith('#')) continue
    const [, name, value = ''] = /^([^\s:]+):\s*(.*?)\s*$/.exec(line) ?? []
    if (name === undefined)
      throw new TaskError('ARGUMENT_INVALID', `Line ${index + 1} of ${path} is no header, such as authorization: Bearer …`, {
        argument: 'headers-file',
      })
    headers[name] = value
  }
  return headers
}

/** Reads a secret: the whole file, without the line end that editors add. @throws TaskError ARGUMENT_INVALID */
export function secretIn(path: string): string {
  return textIn('--secret-file', path).trim()
}

function textIn(option: string, path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    throw new TaskError('ARGUMENT_INVALID', `${option}: ${path} cannot be read: ${code}`, { argument: option }, { cause })
  }
}
