/** What is done to topics, processes and timers as a whole, and what undoes it. */
import { isTaskError } from '@taskstream/task-api'
import type { RecordedAction, StoredTimer, TopicOptions } from '@taskstream/task-api'
import {
  createTopic as makeTopic,
  destroyTopic,
  runTimer,
  switchNode,
  switchTimers,
  switchTopic,
  undo,
} from '@taskstream/task-operations'
import type { Undone } from '@taskstream/task-operations'
import { sees } from '../core/access.ts'
import { checkSeen } from '../core/context.ts'
import { Problem } from '../core/problem.ts'
import { operatorOf } from './actions.ts'
import type { Asked } from './route.ts'
import { readTimer } from './timers.ts'

export interface SwitchedAnswer {
  readonly changed: boolean
  /** The id for the audit and for an undo. */
  readonly audit?: string
}

export async function setActive(asked: Asked, topic: string, active: boolean, note?: string): Promise<SwitchedAnswer> {
  checkSeen(asked, topic)
  return toAnswer(await switchTopic(operatorOf(asked, note), topic, active ? 'resume' : 'pause'))
}

/** A topic of any name would be seen by nobody who sees some topics only. */
export async function createTopic(asked: Asked, topic: string, options: TopicOptions): Promise<SwitchedAnswer> {
  checkWhole(asked)
  return toAnswer(await makeTopic(operatorOf(asked), topic, options))
}

/** @param confirm the topic's name, once more: nothing brings the tasks back */
export async function removeTopic(asked: Asked, topic: string, confirm: string): Promise<SwitchedAnswer> {
  checkSeen(asked, topic)
  if (confirm !== topic)
    throw new Problem('ARGUMENT_INVALID', 400, 'Repeat the name of the topic in confirm: nothing brings its tasks back.', {
      argument: 'confirm',
    })
  return toAnswer(await destroyTopic(operatorOf(asked), topic))
}

/** A process handles tasks of all its topics. */
export async function setQuiet(asked: Asked, owner: string, quiet: boolean, note?: string): Promise<SwitchedAnswer> {
  checkWhole(asked)
  try {
    return toAnswer(await switchNode(operatorOf(asked, note), owner, quiet ? 'quiet' : 'resume'))
  } catch (error) {
    if (!isTaskError(error, 'OWNER_UNKNOWN')) throw error
    throw new Problem('NODE_UNKNOWN', 404, 'There is no such process that tells of itself.', { owner: owner.slice(0, 250) })
  }
}

export type TimerDeed = 'run' | 'pause' | 'resume'

export async function doToTimer(
  asked: Asked,
  { scope, id }: Pick<StoredTimer, 'scope' | 'id'>,
  deed: TimerDeed,
  note?: string,
): Promise<SwitchedAnswer & { readonly sequence?: number }> {
  await readTimer(asked, { scope, id })
  const operator = operatorOf(asked, note)
  if (deed !== 'run') return toAnswer(await switchTimers(operator, { scope, ids: [id] }, deed))
  const run = await runTimer(operator, scope, id)
  const sequence = run.submitted?.sequence ?? run.unfinished
  return { ...toAnswer(run), ...(sequence !== undefined && { sequence }) }
}

export interface UndoneAnswer {
  readonly dryRun: boolean
  readonly action: string
  readonly topic?: string
  readonly undone: number
  readonly taken: number
  readonly changed: number
  readonly overtaken: number
  readonly lost: number
  readonly audit: string
  readonly more: boolean
}

export async function undoAction(asked: Asked, id: string, dryRun: boolean, note?: string): Promise<UndoneAnswer> {
  const records = await asked.read<readonly RecordedAction[]>((transaction) =>
    asked.tasks.actions(transaction, { id, details: false, limit: 10_000 }),
  )
  if (records.some(({ topic }) => !sees(asked.access, topic)))
    throw new Problem('ACTION_UNKNOWN', 404, 'There is no such action, or you may not see it.', { id: id.slice(0, 60) })
  const {
    id: audit,
    action,
    topic,
    undone,
    taken,
    changed,
    overtaken,
    lost,
    hasMore,
    stopped,
  }: Undone = await undo(operatorOf(asked, note), id, {
    dryRun,
    signal: AbortSignal.timeout(1_500),
  })
  if (stopped?.error !== undefined && undone === 0) throw stopped.error
  return { dryRun, action, ...(topic !== undefined && { topic }), undone, taken, changed, overtaken, lost, audit, more: hasMore }
}

/** @throws Problem FORBIDDEN */
function checkWhole({ access }: Asked): void {
  if (access.topics !== undefined)
    throw new Problem('FORBIDDEN', 403, 'This concerns the whole database, and you may see some topics only.')
}

function toAnswer({ id, changed }: { readonly id?: string; readonly changed: boolean }): SwitchedAnswer {
  return { changed, ...(id !== undefined && { audit: id }) }
}
