import { TaskError } from '@taskstream/task-api'

/** The two have the same drivers and errors, and other statements. */
export function otherServer(found: string, needed: 'mariadb' | 'mysql', cause?: unknown): TaskError {
  const message = `This server is ${found}: say \`${needed}\`, as the dialect ${needed}(), the option database or the beginning of the address, ${needed}://`
  return new TaskError('RUNTIME_UNSUPPORTED', message, { found, needed }, { cause })
}
