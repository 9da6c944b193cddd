import { isTaskError } from '@taskstream/task-api'
import type { HeldTask } from '@taskstream/task-api'
import type { TaskListener } from '@taskstream/task-processor'
import { idOf } from '@taskstream/task-jobs'

/** Writes a line to the console when something goes wrong, or works again. A listener of your own replaces it. */
export const consoleListener: TaskListener = {
  onError: ({ activity, error, topic, tasks = [] }) => {
    const what = tasks.length > 0 ? `${tasks.map(named).join(', ')}, ${activity}` : [topic, activity].filter(Boolean).join(', ')
    console.error(`taskstream: ${what}: ${text(error)}`)
  },
  onRecovered: ({ activity, topic }) => console.error(`taskstream: ${[topic, activity].filter(Boolean).join(', ')}: works again`),
  onLost: ({ tasks }) =>
    console.error(
      `taskstream: ${tasks.map(named).join(', ')}: no longer held: cancelled, taken by another process, or completed by a commit that was not answered`,
    ),
  onStuck: ({ tasks, at, heldMs }) =>
    console.error(`taskstream: ${at ? named(at) : tasks.map(named).join(', ')}: its handler has not let go after ${heldMs} ms`),
  onLeaseLost: ({ leaseMs }) =>
    console.error(`taskstream: no heartbeat came through for ${leaseMs} ms: other processes may take the tasks of this one`),
  onFatal: ({ topic, error }) => console.error(`taskstream: ${topic} is not processed: ${text(error)}`),
}

function named(task: HeldTask): string {
  return `${task.topic} ${idOf(task)} (try ${task.tries})`
}

/** Our own errors say what to do; where others come from is in their stack. */
function text(error: unknown): string {
  if (isTaskError(error)) return `${error.code}: ${error.message}`
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}
