import { checkNames, optionNames } from '@taskstream/task-api'
import type { HeldTask } from '@taskstream/task-api'
import type { Postprocess } from './pushes.ts'

interface TaggingOptions {
  readonly override?: boolean
}

const names = optionNames<TaggingOptions>('tagging', { override: true })

/**
 * Gives every creation that is pushed for a task a reference to this task. By this reference `page` and `count` find the pushed tasks.
 *
 * @param referent returns the reference to a task, up to 500 characters. Default: the task's sequence
 * @param options with `override: false`, a creation that has a reference keeps it. Default: true
 * @example
 * pushing({ repository: tasks, postprocess: tagging(({ topic, sequence }) => `${topic}@${sequence}`) })
 */
export function tagging(
  referent: (task: HeldTask) => string = ({ sequence }) => String(sequence),
  options: TaggingOptions = {},
): Postprocess {
  checkNames(names, options)
  const { override = true } = options
  return (creation, task) =>
    // A blank reference counts as no reference.
    override || !creation.reference?.trim() ? { ...creation, reference: referent(task) } : creation
}
