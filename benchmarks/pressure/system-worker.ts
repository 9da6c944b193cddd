/** One worker process of a system. It says when the system has started, and reports the errors that the system tells. */
import type { Connection } from '../speed/database.ts'
import { loadSystem } from './systems.ts'
import type { SystemName } from './systems.ts'
import type { WorkerSettings } from './system.ts'

export interface WorkerOrder {
  readonly system: SystemName
  readonly connection: Connection
  readonly settings: WorkerSettings
}

export type WorkerMessage = { readonly ready: true } | { readonly error: string }

const tell = (message: WorkerMessage, then?: () => void): void => void process.send?.(message, undefined, undefined, then)
const textOf = (error: unknown): string => {
  const { code, message } = error as { code?: unknown; message?: unknown }
  return [code, message].filter(Boolean).join(' ') || String(error)
}

process.once('message', async ({ system, connection, settings }: WorkerOrder) => {
  const reports = {
    error: (error: unknown) => tell({ error: textOf(error) }),
    fatal: (error: unknown) => tell({ error: `fatal: ${textOf(error)}` }, () => process.exit(1)),
  }
  try {
    await (await loadSystem(system)).work(connection, reports, settings)
    tell({ ready: true })
  } catch (error) {
    reports.fatal(error)
  }
})
// The parent has gone, so nobody counts what this worker does.
process.once('disconnect', () => process.exit())
