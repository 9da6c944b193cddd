/** The parts of which questions and answers are made. The document of the API names those that are registered here. */
import {
  attemptOutcomes,
  diagnosisCodes,
  filterStates,
  nodeKinds,
  pollConditions,
  pollOrders,
  taskRecords,
  taskReasons,
  timerStatuses,
} from '@taskstream/task-api'
import { attentionIds, changeKinds, checkNames, severities } from '@taskstream/task-operations'
import * as z from 'zod'

/** The schemas that the document names. */
export const named: z.core.$ZodRegistry<{ readonly id: string }> = z.registry<{ readonly id: string }>()

const instant = z.string().meta({ format: 'date-time' })
const count = z.int().min(0)
const sequence = z.int().min(0)
const text = z.string()
const task = { topic: text, sequence, identifier: text }
const bounded = z.strictObject({ by: text.describe('What bounds the answer.'), reached: z.boolean() })
const trouble = z.strictObject({ activity: text, message: text, code: text.optional(), since: instant })
const state = z.enum(filterStates as [string, ...string[]])

export const attentionSchema: z.ZodType = z.strictObject({
  id: z.enum(attentionIds),
  severity: z.enum(['warn', 'crit']),
  topic: text.optional(),
  text,
  command: text,
})

export const topicSchema: z.ZodType = z.strictObject({
  topic: text,
  order: z.enum(pollOrders),
  condition: z.enum(pollConditions),
  keyed: z.boolean(),
  record: z.enum(taskRecords).describe('What is written of a task while it is done.'),
  ready: count.describe('1,000 stands for that many or more.'),
  active: count,
  delayed: count,
  oldestReadyMs: count.optional(),
  failed: count.describe('Attempts of the last hour that did not succeed, out of the newest 5,000.'),
  nodes: count.describe('Living nodes that process the topic.'),
  ended: count.describe('Attempts that ended in the last minute, as nodes tell.'),
  state: z.enum(['running', 'paused', 'unattended', 'unknown']),
  paused: z.strictObject({ since: instant, actor: text.optional(), note: text.optional() }).optional(),
})

const taskFields = {
  ...task,
  state,
  reason: z.enum(taskReasons).optional(),
  attempt: count,
  tries: count,
  maxTries: count.optional(),
  owner: text.optional(),
  reference: text.optional(),
  externalId: text.optional(),
  priority: z.int(),
  created: instant,
  started: instant.optional(),
  completed: instant.optional(),
  due: instant.optional(),
  deadline: instant.optional(),
}

/** A task without its payload. */
export const taskSchema: z.ZodType = z.strictObject(taskFields)

const payload = z
  .strictObject({ text, length: count, cut: z.boolean() })
  .describe('Secrets are masked. Of a long text only the beginning is there.')
export const attemptSchema: z.ZodType = z.strictObject({
  attempt: count,
  started: instant.optional(),
  ended: instant,
  outcome: z.enum(attemptOutcomes),
  reason: z.enum(taskReasons).optional(),
  owner: text.optional(),
  error: text.optional(),
  message: text.optional().describe('Only from the role reader on.'),
  fingerprint: text.optional(),
  release: text.optional(),
  trace: text.optional().describe('The id of the trace that shows the attempt.'),
})
export const fullTaskSchema: z.ZodType = z.strictObject({
  ...taskFields,
  input: payload.optional(),
  headers: payload.optional(),
  output: payload.optional(),
  hidden: z
    .array(z.enum(['input', 'headers', 'output', 'message']))
    .describe('What the role viewer may not see, of what there is.'),
})

const blocker = z.strictObject({
  topic: text,
  sequence,
  identifier: text.optional(),
  state: state.optional(),
  code: z.enum(diagnosisCodes),
  need: text.optional(),
  since: instant.optional(),
  error: text.optional(),
})
export const whySchema: z.ZodType = z.strictObject({
  at: instant,
  code: z.enum(diagnosisCodes),
  answer: text.describe('The answer in one sentence.'),
  more: z.array(text),
  commands: z.array(text).describe('What helps, as commands.'),
  also: z.array(z.enum(diagnosisCodes)),
  since: instant.optional(),
  until: instant.optional(),
  by: z.array(blocker).describe('What it waits for; the root is last.'),
  successor: blocker.optional().describe('As which task it went on.'),
  owner: z.strictObject({ owner: text, heartbeat: instant.optional(), release: text.optional() }).optional(),
  ahead: count.optional(),
  pace: z.number().optional(),
  session: z.int().optional().describe('The session of the server that has locked the row.'),
  task: taskSchema.optional(),
})

export const errorSchema: z.ZodType = z.strictObject({
  topic: text,
  fingerprint: text,
  error: text,
  count,
  open: count.describe('Of these attempts. If none is, a hundred older ones count too.'),
  pending: count.describe('Attempts whose tasks are still to be done.'),
  first: instant,
  firstRelease: text.optional(),
  last: instant,
  lastSequence: sequence,
  releases: z.array(text),
})

export const nodeSchema: z.ZodType = z.strictObject({
  owner: text,
  name: text,
  life: z.enum(['living', 'silent', 'dead', 'stopped']),
  quiet: z.boolean(),
  kind: z.enum(nodeKinds).optional(),
  release: text.optional(),
  host: text.optional(),
  pid: z.int().optional(),
  started: instant.optional(),
  heartbeat: instant.optional(),
  reported: instant.optional(),
  leaseMs: count.optional(),
  blockedMs: count.optional(),
  error: trouble.optional(),
  omitted: count.optional().describe('Topics that are left out, as they are too many.'),
  topics: z.array(
    z.strictObject({
      topic: text,
      mode: z.enum(['leased', 'transactional']).optional(),
      size: count.optional(),
      concurrency: count.optional(),
      busy: count.optional(),
      ended: count.optional(),
      failed: count.optional(),
      idleMs: count.optional(),
      emptyMs: count.optional().describe('For how long polls have found nothing.'),
      stuck: z
        .array(z.strictObject({ sequence, attempt: count, forMs: count }))
        .optional()
        .describe('Handlers that were asked to let go, and have not.'),
      hung: count.optional().describe('How many handlers run on, though their tasks were decided without them.'),
      error: trouble.optional(),
      newer: trouble.optional().describe('Since when it puts off what a later release has pushed.'),
    }),
  ),
})

export const heldSchema: z.ZodType = z.strictObject({
  ...task,
  owner: text,
  started: instant.optional(),
  attempt: count,
  tries: count,
})

export const upcomingSchema: z.ZodType = z.strictObject({
  topic: text,
  ready: z.array(z.strictObject({ ...task, priority: z.int(), created: instant })),
  due: z.array(z.strictObject({ ...task, due: instant, tries: count })),
})

export const timerSchema: z.ZodType = z.strictObject({
  scope: text,
  id: text,
  name: text.optional(),
  summary: text.optional(),
  application: text.optional(),
  timer: text,
  topic: text,
  identifier: text,
  status: z.enum(timerStatuses),
  note: text.optional(),
  due: instant.optional(),
  overdueMs: count.optional(),
  fired: count,
  skipped: count,
  last: z.strictObject({ topic: text, sequence, occurrence: instant.optional() }).optional(),
})
export const elapseSchema: z.ZodType = z.strictObject({
  instant: text,
  local: text,
  offset: text,
  abbreviation: text,
  sincePreviousMs: count.optional(),
  notes: z.array(text),
})

export const changeSchema: z.ZodType = z.strictObject({ at: instant, kind: z.enum(changeKinds), topic: text.optional(), text })
export const actionSchema: z.ZodType = z.strictObject({
  id: text,
  at: instant,
  action: text,
  topic: text.optional(),
  actor: text.optional(),
  via: text.optional(),
  note: text.optional(),
  count,
  filter: z.unknown().optional(),
  undoes: text.optional(),
})
export const findingSchema: z.ZodType = z.strictObject({
  check: z.enum(checkNames),
  severity: z.enum(severities),
  measured: text,
  threshold: text,
  remedy: text.optional(),
  page: text.optional(),
  facts: z.looseObject({}),
})
export const problemSchema: z.ZodType = z.strictObject({
  type: text,
  title: text,
  status: z.int(),
  detail: text,
  code: text.describe('A code that never changes its meaning.'),
  data: z.looseObject({}),
  suggestion: text.optional(),
})
export const boundedSchema: z.ZodType = bounded

for (const [id, schema] of Object.entries({
  Attention: attentionSchema,
  Topic: topicSchema,
  Task: taskSchema,
  TaskWithPayload: fullTaskSchema,
  Attempt: attemptSchema,
  Why: whySchema,
  ErrorGroup: errorSchema,
  Node: nodeSchema,
  HeldTask: heldSchema,
  Upcoming: upcomingSchema,
  Timer: timerSchema,
  Elapse: elapseSchema,
  Change: changeSchema,
  Action: actionSchema,
  Finding: findingSchema,
  Bounded: boundedSchema,
  Problem: problemSchema,
}))
  named.add(schema, { id })
