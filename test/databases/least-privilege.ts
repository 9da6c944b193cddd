/** The users of databases whose tables belong to an owner, while the suite works as a user with only the rights that docs/guides/grants.md grants. */

/** The URLs with which a database's owner and its worker connect. */
export interface Users {
  readonly owner: string
  readonly worker: string
  /** Gives the worker its rights. Call this once the owner has made the tables. */
  grant(): Promise<void>
  remove(): Promise<void>
}

/** Roles that may do anything. The suite's own statements run with them, in the worker's transactions. */
export const administrators = { postgres: 'postgres', mariadb: 'taskstream_administrator' }

/** Returns the administrator's URL for a worker's URL. The URL of another user stays the same. */
export function administratorOf(url: string): string {
  const { protocol, pathname } = new URL(url)
  return isWorker(url) ? at(url, pathname, protocol === 'mysql:' ? 'root' : administrators.postgres) : url
}

/** Whether this is the URL of a worker, who has only the granted rights. */
export function isWorker(url: string): boolean {
  return new URL(url).username.endsWith('_worker')
}

/** Returns the URL of another database, or of another user. */
export function at(url: string, pathname: string, username?: string): string {
  const other = new URL(url)
  other.pathname = pathname
  if (username !== undefined) other.username = username
  return other.href
}
