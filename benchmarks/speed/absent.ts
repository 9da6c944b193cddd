/** What was meant to be measured beside taskstream and cannot be, each with the reason. */
import { absentBecause } from './redis-servers.ts'

export function absentPeers(): string[] {
  const redis = absentBecause()
  return [
    'queuert, since the npm registry had no package of its name, nor @queuert/postgres, on 26 November 2026',
    ...(redis ? [`BullMQ, since ${redis}`] : []),
  ]
}
