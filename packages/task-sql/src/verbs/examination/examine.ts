import { TaskError } from '@taskstream/task-api'
import type { Dialect } from '../../core/dialect.ts'
import type { Look, LookOptions, Looks } from '../../core/examination.ts'
import type { Row, Verb } from '../../core/verb.ts'
import { nodeLooks } from './nodes.ts'
import { taskLooks } from './tasks.ts'

/** Every look at this database. */
export function looksOf(dialect: Dialect): Looks {
  return { ...taskLooks(dialect), ...nodeLooks(dialect), ...dialect.examination.looks }
}

/**
 * Makes a look, in a transaction of its own, which only reads.
 *
 * @param limitMs how long the look may take. Undefined: as long as it takes
 * @throws TaskError DATABASE_BUSY if it would take longer; PERMISSION_DENIED
 */
export function* makeLook(
  { examination }: Pick<Dialect, 'examination'>,
  look: Look,
  options: LookOptions,
  limitMs: number | undefined,
): Verb<readonly Row[]> {
  for (const statement of examination.begin(limitMs ?? 0)) yield statement
  const verb = look.read(options)
  if (limitMs === undefined) return yield* verb
  const end = performance.now() + limitMs
  let step = verb.next()
  while (!step.done) {
    if (performance.now() > end)
      throw new TaskError('DATABASE_BUSY', `It took longer than ${limitMs} ms`, { shortOf: 'time', limitMs })
    step = verb.next(yield examination.limited(step.value, limitMs))
  }
  return step.value
}
