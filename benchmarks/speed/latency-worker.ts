/** A process that takes the latency of one subject. */
import type { Connection } from '../hot-path/database.ts'
import { latency } from './latency.ts'
import type { Scale } from './scenario.ts'

export interface LatencyOrder {
  readonly connection: Connection
  readonly subject: string
  readonly scale: Scale
}

process.once('message', async ({ connection, subject, scale }: LatencyOrder) => {
  const figures = await latency[subject]!(connection, scale)
  process.send?.(figures, undefined, undefined, () => process.exit())
})
