import { randomUUID } from 'node:crypto'

/** Makes a UUID of version 7: its first 48 bits are the time, so later ones are greater, and an index takes them at its end. */
export function uuidV7(now: Date): string {
  const time = now.getTime().toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`
}
