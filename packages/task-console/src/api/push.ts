/** Tasks that operators push. */
import type { PushedTask, TaskCreation } from '@taskstream/task-api'
import { push } from '@taskstream/task-operations'
import { checkSeen } from '../core/context.ts'
import { operatorOf } from './actions.ts'
import type { Asked } from './route.ts'

export interface PushAnswer {
  readonly dryRun: boolean
  /** A task that a dry run would create has no sequence. */
  readonly tasks: readonly (Omit<PushedTask, 'sequence'> & { readonly sequence?: number })[]
  /** The id for the audit and for an undo, if a task was created. */
  readonly audit?: string
}

export async function pushTasks(
  asked: Asked,
  topic: string,
  creations: readonly TaskCreation[],
  { dryRun, note }: { readonly dryRun: boolean; readonly note?: string | undefined },
): Promise<PushAnswer> {
  checkSeen(asked, topic)
  const { id, tasks } = await push(operatorOf(asked, note), topic, creations, dryRun)
  const told = dryRun
    ? tasks.map(({ sequence, ...task }) => ({ ...task, ...(task.outcome === 'duplicate' && { sequence }) }))
    : tasks
  return { dryRun, tasks: told, ...(id !== undefined && { audit: id }) }
}
