/** The name of a job that shares its queue with others is a header of its task. A job of its own topic has none. */
import { taskLimits } from '@taskstream/task-api'
import type { TaskHeaders, TaskInfo } from '@taskstream/task-api'
import type { TaskDefinition } from './task-settings.ts'

const header = 'job'

/** The headers that say which definition a task of a queue is of. */
export function nameHeaders({ name, settings }: TaskDefinition): TaskHeaders | undefined {
  return settings.queue && { [header]: name }
}

/**
 * The name of the definition of a task in a queue. A dead letter of a job of its own topic has the name of that. Undefined for a task that was pushed in
 * another way, which may have anything in its place.
 */
export function jobNameOf({ headers }: Pick<TaskInfo, 'headers'>): string | undefined {
  const { [header]: name, dead } = headers ?? {}
  if (isName(name)) return name
  const topic = typeof dead === 'object' && dead !== null && 'topic' in dead ? dead['topic'] : undefined
  return isName(topic) ? topic : undefined
}

function isName(name: unknown): name is string {
  return typeof name === 'string' && name !== '' && name.length <= taskLimits.topicLength
}

/** Whether a task is of a definition. In a queue others have tasks too. */
export function isOf(definition: TaskDefinition, task: Pick<TaskInfo, 'headers'>): boolean {
  return definition.settings.queue === undefined || jobNameOf(task) === definition.name
}
