import { TaskError } from '@taskstream/task-api'

/** The error of tasks that can never begin. No handler has seen them. */
export function unreachable(topic: string, count: number): TaskError {
  const what = count === 1 ? 'A task has' : `${count} tasks have`
  return new TaskError(
    'TASK_UNREACHABLE',
    `${what} failed with the reason "unreachable", as something that is needed did not succeed: \`taskstream why\` names what that is`,
    { topic, count },
  )
}
