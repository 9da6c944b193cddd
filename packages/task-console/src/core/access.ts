/** Who asks, and what they may see and do. */

/** From the least to the most: each may do what those before it may. */
export const roles = ['viewer', 'reader', 'operator', 'admin'] as const

/**
 * - `viewer`: sees topics, tasks and errors, and no payload
 * - `reader`: sees payloads too, with secrets masked
 * - `operator`: also redrives, cancels, pauses
 * - `admin`: also deletes
 */
export type Role = (typeof roles)[number]

/** Somebody whom your program knows. */
export interface Access {
  /** Who it is, for the audit: 1 to 250 characters. */
  readonly name: string
  readonly role: Role
  /** The topics that they may see. Default: all. */
  readonly topics?: readonly string[]
}

/** Whether a role may do what needs another one. */
export function may(role: Role, needed: Role): boolean {
  return roles.indexOf(role) >= roles.indexOf(needed)
}

/** Whether somebody may see a topic. What concerns no topic is seen only by those who see all. */
export function sees({ topics }: Access, topic: string | undefined): boolean {
  return topics === undefined || (topic !== undefined && topics.includes(topic))
}

/** Whether a value that a program returned says who asks. */
export function isAccess(value: unknown): value is Access {
  if (typeof value !== 'object' || value === null) return false
  const { name, role, topics } = value as Partial<Access>
  return (
    typeof name === 'string' &&
    name !== '' &&
    roles.includes(role as Role) &&
    (topics === undefined || (Array.isArray(topics) && topics.every((topic) => typeof topic === 'string')))
  )
}
