/** The names of what may be wrong, the worst first. None is given to anything else. */
export const attentionIds = [
  'schema',
  'database',
  'nobody-processes',
  'node-failing',
  'owner-silent',
  'paused-long',
  'overdue',
  'timer-overdue',
  'failing-new',
  'failing',
  'input-newer',
  'active-long',
  'backlog-age',
  'release-skew',
] as const
export type AttentionId = (typeof attentionIds)[number]

/** Something that somebody should look at. */
export interface Attention {
  readonly id: AttentionId
  readonly severity: 'warn' | 'crit'
  readonly topic?: string
  /** One sentence. */
  readonly text: string
  /** The command that tells more. */
  readonly command: string
}
