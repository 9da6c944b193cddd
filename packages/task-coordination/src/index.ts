export { coordinated, CoordinatedListener } from './coordinated.ts'
export { Leader } from './leader.ts'
export type { Leadership, LeaderStopOptions } from './leader.ts'
export type { CoordinatedRepository, LeaderListener, LeaderOptions } from './leader-options.ts'
