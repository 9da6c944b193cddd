/** Handlers that take longer than they may, and what their node makes of them. */
import type { NodeBatch } from './node-ledger.ts'

/** Whether its handler goes on after its own transaction was committed. The node waits for such a handler, stuck or not. */
export function isWaitedFor({ holds }: NodeBatch): boolean {
  return holds.some(({ inTransaction, end, answered }) => inTransaction && end === 'completed' && answered)
}

/** Whether its handler is stuck, and its node, which knows what became of the tasks, has made room for another batch. */
export function isGivenUp(batch: NodeBatch): boolean {
  const { call, isStuck, isFormer, holds } = batch
  if (call === undefined || !isStuck || isFormer || isWaitedFor(batch)) return false
  return holds.every(({ toldEnd }) => toldEnd !== undefined)
}
