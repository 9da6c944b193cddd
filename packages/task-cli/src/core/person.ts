import { hostname, userInfo } from 'node:os'
import { taskLimits } from '@taskstream/task-api'

/** Who runs the command, as the audit has it. Some users of containers have no name. */
export function personOf(): string {
  let name = 'somebody'
  try {
    name = userInfo().username
  } catch {
    // The machine's file of users does not know this one.
  }
  return `${name}@${hostname()}`.slice(0, taskLimits.actorLength)
}
