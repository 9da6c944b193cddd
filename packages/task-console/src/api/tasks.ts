/** Tasks of a topic: a page of them, and everything about one. */
import { isTaskError } from '@taskstream/task-api'
import type {
  Blocker,
  Diagnosis,
  FilterState,
  PageOptions,
  TaskAttempt,
  TaskInfo,
  TaskReason,
  TaskReference,
} from '@taskstream/task-api'
import { sayWhy } from '@taskstream/task-operations'
import type { SaidWhy } from '@taskstream/task-operations'
import { may } from '../core/access.ts'
import { checkSeen, unknownTopic } from '../core/context.ts'
import type { AnyTransaction, PayloadField } from '../core/context.ts'
import { maskMessage, maskText } from '../core/mask.ts'
import type { Shown } from '../core/mask.ts'
import { Problem } from '../core/problem.ts'
import type { Asked } from './route.ts'
import { seek } from './seek.ts'

export type TaskAnswer = Omit<TaskInfo, 'state' | 'descent' | 'blocked' | 'input' | 'output' | 'headers'> & {
  readonly state: FilterState
}

export interface FullTaskAnswer extends TaskAnswer {
  readonly input?: Shown
  readonly headers?: Shown
  readonly output?: Shown
  readonly hidden: readonly PayloadField[]
}

export interface WhyAnswer extends Omit<Diagnosis, 'remedies' | 'task' | 'paused' | 'limit' | 'nodes' | 'last'> {
  readonly answer: string
  readonly more: readonly string[]
  readonly commands: readonly string[]
  readonly task?: TaskAnswer
}

export interface Bounded {
  readonly by: string
  readonly reached: boolean
}

export interface TasksAnswer {
  readonly tasks: readonly TaskAnswer[]
  /** The sequence from which to go on, in the same direction. */
  readonly next?: number
  readonly bounded: Bounded
}

export interface TasksAsked {
  readonly topic: string
  readonly state?: readonly FilterState[] | undefined
  readonly identifier?: string | undefined
  readonly reference?: string | undefined
  readonly reason?: TaskReason | undefined
  readonly after?: number | undefined
  readonly before?: number | undefined
  readonly size: number
}

/** The latest tasks first, unless `after` is given. */
export async function readTasks(asked: Asked, given: TasksAsked): Promise<TasksAnswer> {
  const { topic, state, identifier, reference, reason, after, size } = given
  checkSeen(asked, topic)
  if (after !== undefined && given.before !== undefined)
    throw new Problem('ARGUMENT_INVALID', 400, 'Either after or before can be given, not both.', { argument: 'after' })
  return asked.read(async (transaction) => {
    const filter: PageOptions = {
      ...(state && { states: state }),
      ...(identifier !== undefined && { identifier }),
      ...(reference !== undefined && { reference }),
      ...(reason !== undefined && { reason }),
    }
    const {
      tasks: found,
      edge,
      sought,
    } = await seek(asked, transaction, topic, { filter, size: size + 1, after, before: given.before })
    const page = found.slice(0, size)
    const hasMore = found.length > size
    const next = hasMore ? page.at(-1)?.sequence : edge
    return {
      tasks: page.map(toTask),
      ...(next !== undefined && { next }),
      bounded: {
        by: sought === undefined ? `${size} tasks` : `${sought.toLocaleString('en')} sequences`,
        reached: next !== undefined,
      },
    }
  })
}

/** Reads how a task is named. @throws Problem */
function referenceOf(text: string): TaskReference {
  const sequence = /^@?(\d{1,16})$/.exec(text)?.[1]
  if (sequence !== undefined) return Number(sequence)
  const [, kind, name] = /^(id|ext):(.+)$/s.exec(text) ?? []
  if (kind === 'ext') return { externalId: name! }
  return { identifier: kind === 'id' ? name! : text }
}

export async function readTask(asked: Asked, given: { readonly topic: string; readonly ref: string }): Promise<FullTaskAnswer> {
  const topic = given.topic
  checkSeen(asked, topic)
  const task = await asked.read((transaction) => find(asked, transaction, topic, given.ref))
  return toFull(asked, task)
}

export async function readWhy(asked: Asked, given: { readonly topic: string; readonly ref: string }): Promise<WhyAnswer> {
  const topic = given.topic
  checkSeen(asked, topic)
  const told = await asked.read<Diagnosis>((transaction) => asked.tasks.why(transaction, topic, referenceOf(given.ref)))
  return toWhy(asked, told)
}

export interface AttemptsAnswer {
  readonly attempts: readonly TaskAttempt[]
}

export async function readAttempts(
  asked: Asked,
  given: { readonly topic: string; readonly ref: string },
): Promise<AttemptsAnswer> {
  const topic = given.topic
  checkSeen(asked, topic)
  const found = await asked.read(async (transaction) => {
    const { sequence } = await find(asked, transaction, topic, given.ref)
    return { sequence, attempts: (await asked.tasks.attempts(transaction, topic, sequence)) as readonly TaskAttempt[] }
  })
  const task = { topic, sequence: found.sequence }
  return { attempts: found.attempts.map((attempt) => toAttempt(asked, task, attempt)) }
}

async function find({ tasks }: Asked, transaction: AnyTransaction, topic: string, ref: string): Promise<TaskInfo> {
  const reference = referenceOf(ref)
  const task = await (async (): Promise<TaskInfo | undefined> => {
    if (typeof reference === 'number') return tasks.task(transaction, topic, reference)
    if ('externalId' in reference) return tasks.task(transaction, topic, { externalId: reference.externalId })
    // It knows which task of an identifier is meant.
    const { task }: Diagnosis = await tasks.why(transaction, topic, reference)
    return task && tasks.task(transaction, topic, task.sequence)
  })()
  if (!task)
    throw new Problem(
      'TASK_UNKNOWN',
      404,
      `There is no task ${JSON.stringify(ref.slice(0, 200))} in topic ${JSON.stringify(topic)}.`,
      {
        topic,
        task: ref.slice(0, 200),
      },
    )
  return task
}

function toTask({
  state,
  descent: _descent,
  blocked,
  input: _input,
  output: _output,
  headers: _headers,
  ...task
}: TaskInfo): TaskAnswer {
  return { ...task, state: blocked ? 'blocked' : task.due === undefined ? state : 'delayed' }
}

function toFull(asked: Asked, task: TaskInfo): FullTaskAnswer {
  const fields: Readonly<Partial<Record<PayloadField, string | undefined>>> = {
    input: task.input,
    headers: task.headers && JSON.stringify(task.headers),
    output: task.output,
  }
  const there = Object.entries(fields).filter((entry): entry is [PayloadField, string] => entry[1] !== undefined)
  if (!may(asked.access.role, 'reader')) return { ...toTask(task), hidden: there.map(([field]) => field) }
  const shown = there.map(([field, text]) => [field, shownOf(asked, task, field, text)] as const)
  return { ...toTask(task), ...Object.fromEntries(shown), hidden: [] }
}

function shownOf({ redact }: Asked, task: TaskInfo, field: PayloadField, text: string): Shown {
  const masked = maskText(text)
  return { ...masked, text: redact(task, field, masked.text) }
}

function toAttempt(
  { access, redact }: Asked,
  task: { readonly topic: string; readonly sequence: number },
  attempt: TaskAttempt,
): TaskAttempt {
  const { message, error, ...rest } = attempt
  return {
    ...rest,
    ...(error !== undefined && { error: maskMessage(error) }),
    ...(message !== undefined && may(access.role, 'reader') && { message: redact(task, 'message', maskMessage(message)) }),
  }
}

/** Of tasks that this one may not see, only the fact that something is waited for is told. */
function toWhy(asked: Asked, told: Diagnosis): WhyAnswer {
  const { topics } = asked.access
  const isSeen = (topic: string): boolean => topics === undefined || topics.includes(topic)
  const shown = (link: Blocker): Blocker => {
    if (!isSeen(link.topic)) return { topic: '', sequence: 0, code: link.code, ...(link.state && { state: link.state }) }
    return { ...link, ...(link.error !== undefined && { error: maskMessage(link.error) }) }
  }
  const by = told.by.map(shown)
  const successor = told.successor && shown(told.successor)
  const { remedies: _, task, successor: _successor, paused: _paused, limit: _limit, ...others } = told
  const { nodes: _nodes, last: _last, putOff: _putOff, ...facts } = others
  const { answer, more, remedies }: SaidWhy = sayWhy({
    ...told,
    by,
    ...(successor && { successor }),
    remedies: told.remedies.filter(({ topic }) => isSeen(topic)),
  })
  return {
    ...facts,
    by: by.filter(({ topic }) => topic !== ''),
    ...(successor?.topic && { successor }),
    answer: maskMessage(answer),
    more: more.map(maskMessage),
    commands: remedies,
    ...(task && { task: toTask(task) }),
  }
}

export interface FoundAnswer {
  readonly topics: readonly string[]
  readonly tasks: readonly TaskAnswer[]
  readonly bounded: Bounded
}

/** So many topics are looked through for a task. */
const mostTopics = 50

/** Finds topics by a part of their names, and tasks by sequence, external id or identifier. */
export async function readFound(asked: Asked, { q }: { readonly q: string }): Promise<FoundAnswer> {
  const { access, tasks } = asked
  return asked.read(async (transaction) => {
    const every: readonly string[] = await tasks.topics(transaction)
    const all = access.topics === undefined ? every : every.filter((topic) => access.topics!.includes(topic))
    const lower = q.toLowerCase()
    const named = all.filter((topic) => topic.toLowerCase().includes(lower)).slice(0, 100)
    const found: TaskInfo[] = []
    for (const topic of all.slice(0, mostTopics)) found.push(...(await within(asked, transaction, topic, q)))
    return {
      topics: named,
      tasks: found.slice(0, 100).map(toTask),
      bounded: { by: `the first ${mostTopics} topics`, reached: all.length > mostTopics },
    }
  })
}

async function within({ tasks }: Asked, transaction: AnyTransaction, topic: string, q: string): Promise<readonly TaskInfo[]> {
  const reference = referenceOf(q)
  const one = async (task: number | { readonly externalId: string }): Promise<readonly TaskInfo[]> => {
    const found: TaskInfo | undefined = await tasks.task(transaction, topic, task)
    return found ? [found] : []
  }
  if (typeof reference === 'number') return one(reference)
  if ('externalId' in reference) return one(reference)
  const [named] = q.startsWith('id:') ? [] : await one({ externalId: q })
  try {
    const { task }: Diagnosis = await tasks.why(transaction, topic, reference)
    return [...(named ? [named] : []), ...(task && task.sequence !== named?.sequence ? [task] : [])]
  } catch (error) {
    // Without an index of identifiers the whole topic would be read.
    if (isTaskError(error, 'TOPIC_NOT_KEYED')) return named ? [named] : []
    if (isTaskError(error, 'TOPIC_UNKNOWN')) throw unknownTopic(topic)
    throw error
  }
}
