/** The routes that change something, in the table of routes. */
import { filterStates, pollConditions, pollOrders, taskRecords, taskLimits, taskReasons } from '@taskstream/task-api'
import type { Rescheduling, TaskCreation } from '@taskstream/task-api'
import type { ActionCursor } from '@taskstream/task-operations'
import * as z from 'zod'
import { checkWritable, doDeed, doToTask } from './actions.ts'
import type { Deed } from './actions.ts'
import { noParameters, refParameter, topicParameter } from './parameters.ts'
import { pushTasks } from './push.ts'
import { writeRoute } from './route.ts'
import type { Route } from './route.ts'
import { createTopic, doToTimer, removeTopic, setActive, setQuiet, undoAction } from './switches.ts'

const note = z.string().min(1).max(taskLimits.noteLength).optional().describe('Why, for the audit.')
const dryRun = z.boolean().default(false).describe('Only tell what would be done.')
const instant = z
  .string()
  .meta({ format: 'date-time' })
  .transform((text) => new Date(text))
  .refine((date) => !Number.isNaN(date.getTime()), 'it must be an instant, ISO 8601')
const sequence = z.int().min(0)
const cursor = z.strictObject({ id: z.string(), portions: z.int().min(0), from: sequence.optional(), done: z.int().min(0) })
const state = z.enum(filterStates as [(typeof filterStates)[number], ...(typeof filterStates)[number][]])
const filter = z.strictObject({
  states: z.array(state).optional(),
  identifier: z.string().max(taskLimits.identifierLength).optional(),
  reference: z.string().max(taskLimits.referenceLength).optional(),
  reason: z.enum(taskReasons).optional(),
  from: sequence.optional(),
  to: sequence.optional(),
})
const seenTask = z.strictObject({ topic: z.string(), sequence, identifier: z.string(), state })
const date = z.string().meta({ format: 'date-time' })
const acted = z.union([
  z.strictObject({
    dryRun: z.literal(true),
    count: z.int(),
    asOf: date.describe('For the action itself: what has changed since is not meant.'),
    states: z.partialRecord(state, z.int()),
    tasks: z.array(seenTask).describe('At most 20 of them.'),
    to: sequence.optional().describe('For the action itself.'),
  }),
  z.strictObject({
    dryRun: z.literal(false),
    count: z.int(),
    first: sequence.optional(),
    last: sequence.optional(),
    taken: z.int().describe('How many of them were at work.'),
    audit: z.string().optional().describe('The id for the audit and for an undo.'),
    more: z.boolean().describe('Whether to ask again, with after.'),
    after: cursor.optional(),
  }),
])
const switched = z.strictObject({ changed: z.boolean(), audit: z.string().optional() })
const undone = z.strictObject({
  dryRun: z.boolean(),
  action: z.string(),
  topic: z.string().optional(),
  undone: z.int(),
  taken: z.int(),
  changed: z.int(),
  overtaken: z.int(),
  lost: z.int(),
  audit: z.string(),
  more: z.boolean(),
})

const deeds: readonly (readonly [deed: Deed, role: 'operator' | 'admin', does: string])[] = [
  ['redrive', 'operator', 'Makes tasks ready again that have failed, or are in the states that are named'],
  ['cancel', 'operator', 'Ends tasks that nobody wants any more'],
  ['run-now', 'operator', 'Makes delayed tasks ready at once'],
  ['reschedule', 'operator', 'Changes when tasks that wait are due, their deadline or their priority'],
  ['purge', 'admin', 'Deletes tasks that have ended, or are in the states that are named. Nothing brings them back'],
]

const ofTopic = z.strictObject({ topic: topicParameter })
const ofTask = z.strictObject({ topic: topicParameter, ref: refParameter })
const creation = z.strictObject({
  identifier: z.string().min(1).max(taskLimits.identifierLength),
  input: z.string().optional(),
  reference: z.string().max(taskLimits.referenceLength).optional(),
  externalId: z.string().min(1).max(taskLimits.externalIdLength).optional(),
  delayMs: z.int().min(0).max(taskLimits.durationMs).optional(),
  deadlineMs: z.int().min(0).max(taskLimits.durationMs).optional(),
  priority: z.int().min(-taskLimits.priority).max(taskLimits.priority).optional(),
  maxTries: z.int().min(1).max(taskLimits.tries).optional(),
})

const ofMany = z.strictObject({
  filter: filter.optional(),
  fingerprint: z.string().max(100).optional().describe('Only tasks whose last attempt failed by this error.'),
  try: z.int().min(1).max(1_000).optional().describe('Only the newest so many.'),
  dryRun,
  note,
  asOf: instant.optional(),
  to: sequence.optional(),
  limit: z.int().min(0).optional(),
  after: cursor.optional(),
})

const duration = z.int().min(0).max(taskLimits.durationMs)
const schedule = z
  .strictObject({
    due: instant.optional(),
    delayMs: duration.optional().describe('Due so many milliseconds from now. Not together with due.'),
    deadline: instant.nullable().optional().describe('Null: no deadline any more.'),
    deadlineMs: duration.optional().describe('A deadline so many milliseconds from now. Not together with deadline.'),
    priority: z.int().min(-taskLimits.priority).max(taskLimits.priority).optional(),
  })
  .describe('What changes; the rest stays.')

/** A rescheduling has to be told more than the tasks. */
function telling<Body extends z.ZodObject>(deed: Deed, body: Body): Body {
  return (deed === 'reschedule' ? body.extend({ schedule }) : body) as Body
}

function scheduleIn(body: object): Rescheduling | undefined {
  const { schedule: told } = body as { readonly schedule?: z.output<typeof schedule> }
  return told && given(told)
}

const routesOfTasks = deeds.flatMap(([deed, role, does]) => [
  writeRoute({
    method: 'POST',
    path: `/topics/:topic/${deed}`,
    role,
    summary: `${does}. Ask with dryRun first, then with its asOf, to and count as limit`,
    parameters: ofTopic,
    body: telling(deed, ofMany),
    answer: acted,
    handle: (asked, { topic }, { after, ...body }) => {
      checkWritable(asked)
      const more = { schedule: scheduleIn(body), ...(after && { after: toCursor(after) }) }
      return doDeed(asked, { topic, deed, ...body, filter: body.filter ?? {}, ...more })
    },
  }),
  ...(deed === 'purge'
    ? []
    : [
        writeRoute({
          method: 'POST',
          path: `/topics/:topic/tasks/:ref/${deed}`,
          role,
          summary: `As ${deed} of the topic, of one task`,
          parameters: ofTask,
          body: telling(deed, z.strictObject({ dryRun, note })),
          answer: acted,
          handle: (asked, { topic, ref }, body) => {
            checkWritable(asked)
            return doToTask(asked, { topic, ref, deed, ...body, schedule: scheduleIn(body) })
          },
        }),
      ]),
])

function toCursor({ from, ...rest }: z.output<typeof cursor>): ActionCursor {
  return { ...rest, ...(from !== undefined && { from }) }
}

export const writeRoutes: readonly Route[] = [
  ...routesOfTasks,
  writeRoute({
    method: 'POST',
    path: '/topics',
    role: 'operator',
    summary: 'Makes a topic known',
    parameters: noParameters,
    body: z.strictObject({
      topic: topicParameter,
      order: z.enum(pollOrders).optional(),
      condition: z.enum(pollConditions).optional(),
      keyed: z.boolean().optional(),
      record: z.enum(taskRecords).optional(),
    }),
    answer: switched,
    handle: (asked, _none, { topic, ...options }) => {
      checkWritable(asked)
      return createTopic(asked, topic, given(options))
    },
  }),
  writeRoute({
    method: 'POST',
    path: '/topics/:topic/tasks',
    role: 'operator',
    summary: 'Pushes tasks. Of a single task the header Idempotency-Key is its external id',
    parameters: ofTopic,
    body: z.strictObject({ tasks: z.array(creation).min(1).max(1_000), dryRun, note }),
    answer: z.strictObject({
      dryRun: z.boolean(),
      tasks: z.array(
        z.strictObject({
          topic: z.string(),
          sequence: sequence.optional().describe('Absent in a dry run of a task that is not there yet.'),
          identifier: z.string(),
          outcome: z.enum(['created', 'duplicate', 'redundant']),
          superseded: z.int().optional(),
        }),
      ),
      audit: z.string().optional().describe('Absent if no task was created.'),
    }),
    handle: (asked, { topic }, { tasks, ...how }) => {
      checkWritable(asked)
      return pushTasks(
        asked,
        topic,
        tasks.map((task) => given(task) as TaskCreation),
        how,
      )
    },
  }),
  writeRoute({
    method: 'PATCH',
    path: '/topics/:topic',
    role: 'operator',
    summary: 'Pauses a topic in every node, or resumes it',
    parameters: ofTopic,
    body: z.strictObject({ active: z.boolean(), note }),
    answer: switched,
    handle: (asked, { topic }, { active, note: why }) => {
      checkWritable(asked)
      return setActive(asked, topic, active, why)
    },
  }),
  writeRoute({
    method: 'DELETE',
    path: '/topics/:topic',
    role: 'admin',
    summary: 'Deletes a topic with all of its tasks. Nothing brings them back',
    parameters: ofTopic,
    body: z.strictObject({ confirm: z.string().describe('The name of the topic, once more.') }),
    answer: switched,
    handle: (asked, { topic }, { confirm }) => {
      checkWritable(asked)
      return removeTopic(asked, topic, confirm)
    },
  }),
  writeRoute({
    method: 'POST',
    path: '/nodes/:owner/quiet',
    role: 'operator',
    summary: 'Has a process take no more tasks, or take tasks again',
    parameters: z.strictObject({ owner: z.string().min(1).max(taskLimits.ownerLength) }),
    body: z.strictObject({ quiet: z.boolean().default(true), note }),
    answer: switched,
    handle: (asked, { owner }, { quiet, note: why }) => {
      checkWritable(asked)
      return setQuiet(asked, owner, quiet, why)
    },
  }),
  ...(['run', 'pause', 'resume'] as const).map((deed) =>
    writeRoute({
      method: 'POST',
      path: `/timers/:scope/:id/${deed}`,
      role: 'operator',
      summary: { run: 'Submits a task of a timer now', pause: 'Pauses a timer', resume: 'Resumes a timer from now on' }[deed],
      parameters: z.strictObject({ scope: z.string().min(1).max(210), id: z.string().min(1).max(210) }),
      body: z.strictObject({ note }),
      answer: z.strictObject({
        changed: z.boolean(),
        audit: z.string().optional(),
        sequence: sequence.optional().describe('The task that was submitted, or the unfinished one because of which none was.'),
      }),
      handle: (asked, timer, { note: why }) => {
        checkWritable(asked)
        return doToTimer(asked, timer, deed, why)
      },
    }),
  ),
  writeRoute({
    method: 'POST',
    path: '/audit/:id/undo',
    role: 'operator',
    summary: 'Undoes an action: what nobody has touched since becomes again what it was',
    parameters: z.strictObject({ id: z.string().min(1).max(60) }),
    body: z.strictObject({ dryRun, note }),
    answer: undone,
    handle: (asked, { id }, body) => {
      checkWritable(asked)
      return undoAction(asked, id, body.dryRun, body.note)
    },
  }),
]

/** The fields that are given. */
function given<Fields extends object>(fields: Fields): { [Name in keyof Fields]: Exclude<Fields[Name], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never
}
