/** What a task waits for is ready itself, or a task has gone on as another: the answer is then about that one. */
import type { Blocker, Diagnosis, TaskInfo } from '@taskstream/task-api'
import { raw, sql } from '../core/statement.ts'
import { toNumber } from '../core/task-row.ts'
import type { Verb } from '../core/verb.ts'
import type { Context } from '../core/verb-context.ts'
import { infoOf } from './reference.ts'
import { lookAt } from './why-found.ts'
import { whyReady } from './why-ready.ts'
import { mostLinks, toBlocker } from './why-waits.ts'

/** Says of the last of these tasks why it is not taken, if it is ready by its row. That is what all the others wait for. */
export function* withRoot(context: Context, by: readonly Blocker[]): Verb<readonly Blocker[]> {
  const last = by.at(-1)
  if (last?.code !== 'next') return by
  const { topic, sequence } = last
  const task = yield* infoOf(context, topic, sequence)
  // It was taken in the meantime.
  if (task?.state !== 'ready') return by
  const place = yield* lookAt(context, topic)
  const [[code, { paused }]] = (yield* whyReady(context, place, task)) as [readonly [Blocker['code'], Partial<Diagnosis>]]
  return [...by.slice(0, -1), { ...last, code, ...(code === 'paused' && paused && { since: paused.since }) }]
}

/** The last task as which one has gone on. */
export function* wentOnAs(context: Context, task: TaskInfo, nowMs: number): Verb<Pick<Diagnosis, 'successor'>> {
  const { result } = context.dialect.tables
  let [current, found]: [Pick<TaskInfo, 'topic' | 'sequence'>, TaskInfo | undefined] = [task, undefined]
  for (let links = 0; links < mostLinks; links++) {
    const [row] = yield sql`
      select e.next_topic, e.next_sequence
        from ${result} e
       where e.topic = ${current.topic} and e.sequence = ${current.sequence} and e.next_topic is not null
       ${context.dialect.expr.limit(raw('1'))}`
    if (!row) break
    current = { topic: String(row['next_topic']), sequence: toNumber(row['next_sequence']) }
    const next = yield* infoOf(context, current.topic, current.sequence)
    if (!next) break
    found = next
    if (next.state !== 'succeeded') break
  }
  return found ? { successor: yield* toBlocker(context, found, nowMs, undefined) } : {}
}
