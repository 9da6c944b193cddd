/** What a user may not do on MariaDB or MySQL, told with what to grant. */
import { TaskError } from '@taskstream/task-api'

/** "SELECT, INSERT command denied to user 'shop'@'10.0.0.1' for table `app`.`task`"; MySQL leaves the database out, and says 'task'. */
const denied = /^(.+) command denied to user (\S+) for (?:table|column '[^']*' in table) (\S+)$/

/** "Access denied for user 'shop'@'%' to database 'app'" */
const deniedDatabase = /^Access denied for user (\S+) to database '(.+)'$/

/** The server names what is missing, unless its messages are in another language: then they are repeated as they are. */
export function permissionDenied(error: Error, errno: number): TaskError {
  const [, privilege, , table] = denied.exec(error.message) ?? []
  const [, , database] = deniedDatabase.exec(error.message) ?? []
  const needed =
    privilege !== undefined && table !== undefined
      ? `${privilege} on ${table.replaceAll(/['`]/g, '')}`
      : database === undefined
        ? undefined
        : `what docs/guides/grants.md lists on tables of ${database}`
  return new TaskError(
    'PERMISSION_DENIED',
    needed === undefined
      ? `The database does not let this user do that: grant it the right, or use another user (${error.message})`
      : `This user may not do that: grant ${needed} to it, as an administrator, or use another user (${error.message})`,
    { errno, ...(needed !== undefined && { needed }) },
    { cause: error },
  )
}
