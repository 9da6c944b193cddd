import type { Subject } from '../subject.ts'

/** What a node of the laboratory is told when it starts. */
export interface NodeOrders {
  readonly location: Subject['location']
  readonly groupId: string
  readonly taskId: string
  readonly livenessCheckIntervalMs: number
  readonly heartbeatIntervalMs: number
}

/** What it is told later: to stand still in the middle of its next transaction, after it has checked that it leads; or to leave. */
export type NodeMessage = 'stand still inside' | 'leave'
