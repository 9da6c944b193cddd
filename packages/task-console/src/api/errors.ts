/** What fails, and what comes next. */
import type { ErrorGroup, Upcoming } from '@taskstream/task-api'
import { sees } from '../core/access.ts'
import { checkSeen } from '../core/context.ts'
import { maskMessage } from '../core/mask.ts'
import { Problem } from '../core/problem.ts'
import type { Asked } from './route.ts'
import type { Bounded } from './tasks.ts'

export interface ErrorsAnswer {
  readonly errors: readonly ErrorGroup[]
  readonly bounded: Bounded
}

export async function readErrors(
  asked: Asked,
  { topic, withinMs }: { readonly topic?: string | undefined; readonly withinMs?: number | undefined },
): Promise<ErrorsAnswer> {
  if (topic !== undefined) checkSeen(asked, topic)
  const groups = await asked.read<readonly ErrorGroup[]>((transaction) =>
    asked.tasks.errors(transaction, { ...(topic !== undefined && { topic }), ...(withinMs !== undefined && { withinMs }) }),
  )
  const mine = groups.filter((group) => sees(asked.access, group.topic))
  return {
    errors: mine.slice(0, 500).map((group) => ({ ...group, error: maskMessage(group.error) })),
    bounded: { by: 'the newest 5,000 attempts of a topic, 200 topics, 500 errors', reached: mine.length > 500 },
  }
}

export async function readError(
  asked: Asked,
  given: { readonly fingerprint: string; readonly topic?: string | undefined },
): Promise<ErrorsAnswer> {
  const fingerprint = given.fingerprint
  const { errors, bounded } = await readErrors(asked, { topic: given.topic })
  const found = errors.filter((group) => group.fingerprint === fingerprint)
  if (found.length === 0)
    throw new Problem(
      'ERROR_UNKNOWN',
      404,
      'No kept attempt has failed by this error.',
      { fingerprint: fingerprint.slice(0, 100) },
      'taskstream errors',
    )
  return { errors: found, bounded }
}

export async function readUpcoming(
  asked: Asked,
  { topic, size }: { readonly topic?: string | undefined; readonly size: number },
): Promise<{
  readonly topics: readonly Upcoming[]
  readonly bounded: Bounded
}> {
  if (topic !== undefined) checkSeen(asked, topic)
  const { topics } = topic === undefined ? await asked.overview() : { topics: [{ topic }] }
  // Of all topics, those that do anything next: the overview has counted.
  const mine = topics.filter((each) => sees(asked.access, each.topic) && (!('ready' in each) || each.ready + each.delayed > 0))
  const most = 50
  return asked.read(async (transaction) => {
    const found: Upcoming[] = []
    for (const each of mine.slice(0, most)) found.push(await asked.tasks.upcoming(transaction, each.topic, { limit: size }))
    return { topics: found, bounded: { by: `${most} topics`, reached: mine.length > most } }
  })
}
