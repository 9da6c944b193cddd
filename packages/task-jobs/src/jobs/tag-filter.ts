import { invalid } from '@taskstream/task-api'
import type { TaskInfo } from '@taskstream/task-api'
import { checkTags } from '../definitions/task-settings.ts'
import type { JobTags } from '../definitions/task-settings.ts'
import { tagsOf } from '../definitions/job-ref.ts'

/**
 * Makes a test for tasks of jobs that have each of these tags, with the same value and type.
 *
 * @throws TaskError ARGUMENT_INVALID, naming the tag that is wrong
 * @example
 * tasks.filter(tagFilter({ tenant: 7 }))
 */
export function tagFilter(tags: JobTags): (task: Pick<TaskInfo, 'headers'>) => boolean {
  checkTags(tags)
  const wanted = Object.entries(tags)
  // To pass over it would find the jobs of every tenant for a tenant that the caller does not know.
  for (const [name, value] of wanted)
    if (value === undefined) throw invalid(`tags.${name}`, value, 'must be a string, a finite number or a boolean')
  return (task) => {
    const found = tagsOf(task)
    return wanted.every(([name, value]) => found[name] === value)
  }
}
