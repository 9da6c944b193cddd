import { TaskError } from './task-error.ts'

/**
 * Says what is wrong with the release of Node.js, in place of the first function that it lacks.
 *
 * @throws TaskError RUNTIME_UNSUPPORTED
 */
export function checkNode(version: string): void {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (major > 22 || (major === 22 && minor >= 14)) return
  throw new TaskError('RUNTIME_UNSUPPORTED', `taskstream needs Node.js 22.14 or later, and this is ${version}`, {
    found: version,
    needed: '22.14',
  })
}

checkNode(process.versions.node)
