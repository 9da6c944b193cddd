/** The table of routes. The document of the API, the checks of parameters and the router are made from it. */
import { taskLimits } from '@taskstream/task-api'
import * as z from 'zod'
import { roles } from '../core/access.ts'
import {
  noParameters,
  reasonFilter,
  refParameter,
  sequenceParameter,
  size,
  stateFilter,
  textFilter,
  topicFilter,
  topicParameter,
  withinMs,
} from './parameters.ts'
import { readAttention, readTopic, readTopics } from './topics.ts'
import { readError, readErrors, readUpcoming } from './errors.ts'
import { readHeld, readNode, readNodes } from './nodes.ts'
import { readTimer, readTimers } from './timers.ts'
import { readAudit, readChanges, readExamination, readInfo } from './lists.ts'
import { route } from './route.ts'
import type { Route } from './route.ts'
import * as schemas from './schemas.ts'
import { writeRoutes } from './write-routes.ts'
import { readAttempts, readFound, readTask, readTasks, readWhy } from './tasks.ts'

const list = (name: string, each: z.ZodType): z.ZodType =>
  z.strictObject({ [name]: z.array(each), bounded: schemas.boundedSchema })
const ownerParameter = z.string().min(1).max(taskLimits.ownerLength).describe('The owner of the process.')
const task = z.strictObject({ topic: topicParameter, ref: refParameter })

export const routes: readonly Route[] = [
  route({
    path: '/info',
    role: 'viewer',
    summary: 'Who you are, and whether you may write',
    parameters: noParameters,
    answer: z.strictObject({
      name: z.string(),
      role: z.enum(roles),
      topics: z.array(z.string()).optional(),
      readOnly: z.boolean(),
      writes: z.boolean(),
      environment: z.string().optional(),
    }),
    handle: readInfo,
  }),
  route({
    path: '/attention',
    role: 'viewer',
    summary: 'What is wrong, the worst first',
    parameters: noParameters,
    answer: z.strictObject({ attention: z.array(schemas.attentionSchema) }),
    handle: readAttention,
  }),
  route({
    path: '/topics',
    role: 'viewer',
    summary: 'Topics, those first that need somebody',
    parameters: z.strictObject({ offset: z.coerce.number().int().min(0).max(1_000_000).default(0), size: size(200, 200) }),
    answer: z.strictObject({ topics: z.array(schemas.topicSchema), next: z.int().optional(), total: z.int() }),
    handle: readTopics,
  }),
  route({
    path: '/topics/:topic',
    role: 'viewer',
    summary: 'One topic',
    parameters: z.strictObject({ topic: topicParameter }),
    answer: schemas.topicSchema,
    handle: readTopic,
  }),
  route({
    path: '/topics/:topic/tasks',
    role: 'viewer',
    summary: 'Tasks of a topic, the latest first',
    parameters: z.strictObject({
      topic: topicParameter,
      state: stateFilter.describe('Only tasks in these states; may be given several times.'),
      identifier: textFilter,
      reference: textFilter,
      reason: reasonFilter,
      after: sequenceParameter.describe('Only greater sequences, in ascending order.'),
      before: sequenceParameter.describe('Only smaller sequences, in descending order.'),
      size: size(100, 50),
    }),
    answer: z.strictObject({
      tasks: z.array(schemas.taskSchema),
      next: z.int().optional().describe('The next after or before.'),
      bounded: schemas.boundedSchema,
    }),
    handle: readTasks,
  }),
  route({
    path: '/topics/:topic/tasks/:ref',
    role: 'viewer',
    summary: 'One task',
    parameters: task,
    answer: schemas.fullTaskSchema,
    handle: readTask,
  }),
  route({
    path: '/topics/:topic/tasks/:ref/why',
    role: 'viewer',
    summary: 'Why a task is not running, and what helps',
    parameters: task,
    answer: schemas.whySchema,
    handle: readWhy,
  }),
  route({
    path: '/topics/:topic/tasks/:ref/attempts',
    role: 'viewer',
    summary: 'Attempts at a task that did not succeed, the oldest first',
    parameters: task,
    answer: z.strictObject({ attempts: z.array(schemas.attemptSchema) }),
    handle: readAttempts,
  }),
  route({
    path: '/errors',
    role: 'viewer',
    summary: 'What fails, since when, and in which release',
    parameters: z.strictObject({ topic: topicFilter, withinMs }),
    answer: list('errors', schemas.errorSchema),
    handle: readErrors,
  }),
  route({
    path: '/errors/:fingerprint',
    role: 'viewer',
    summary: 'One error, in each topic that has it',
    parameters: z.strictObject({ fingerprint: z.string().min(1).max(100), topic: topicFilter }),
    answer: list('errors', schemas.errorSchema),
    handle: readError,
  }),
  route({
    path: '/upcoming',
    role: 'viewer',
    summary: 'What topics do next',
    parameters: z.strictObject({ topic: topicFilter, size: size(100, 20) }),
    answer: list('topics', schemas.upcomingSchema),
    handle: readUpcoming,
  }),
  route({
    path: '/nodes',
    role: 'viewer',
    summary: 'Processes of the last day, those that live first',
    parameters: z.strictObject({ topic: topicFilter }),
    answer: z.strictObject({ nodes: z.array(schemas.nodeSchema) }),
    handle: readNodes,
  }),
  route({
    path: '/nodes/:owner',
    role: 'viewer',
    summary: 'One process',
    parameters: z.strictObject({ owner: ownerParameter }),
    answer: schemas.nodeSchema,
    handle: readNode,
  }),
  route({
    path: '/nodes/:owner/tasks',
    role: 'viewer',
    summary: 'The tasks that a process holds, the longest held first',
    parameters: z.strictObject({ owner: ownerParameter, size: size(1_000, 100) }),
    answer: list('tasks', schemas.heldSchema),
    handle: readHeld,
  }),
  route({
    path: '/timers',
    role: 'viewer',
    summary: 'Timers, those that are due first',
    parameters: z.strictObject({ scope: z.string().max(200).optional() }),
    answer: list('timers', schemas.timerSchema),
    handle: readTimers,
  }),
  route({
    path: '/timers/:scope/:id',
    role: 'viewer',
    summary: 'One timer, and when it elapses next',
    parameters: z.strictObject({ scope: z.string().min(1).max(210), id: z.string().min(1).max(210) }),
    answer: (schemas.timerSchema as z.ZodObject).extend({ next: z.array(schemas.elapseSchema) }),
    handle: readTimer,
  }),
  route({
    path: '/changes',
    role: 'viewer',
    summary: 'What has changed, the latest first',
    parameters: z.strictObject({ withinMs: z.coerce.number().int().min(0).max(taskLimits.durationMs).default(7_200_000) }),
    answer: list('changes', schemas.changeSchema),
    handle: readChanges,
  }),
  route({
    path: '/audit',
    role: 'viewer',
    summary: 'What people have done, the latest first',
    parameters: z.strictObject({ topic: topicFilter, size: size(1_000, 100), withinMs }),
    answer: list('actions', schemas.actionSchema),
    handle: readAudit,
  }),
  route({
    path: '/examination',
    role: 'viewer',
    summary: 'How the database is',
    parameters: noParameters,
    answer: z.strictObject({ findings: z.array(schemas.findingSchema) }),
    handle: readExamination,
  }),
  route({
    path: '/find',
    role: 'viewer',
    summary: 'Topics and tasks by name',
    parameters: z.strictObject({
      q: z.string().min(1).max(600).describe('A part of a topic, or a task: @4711, ext:abc, id:inv-7.'),
    }),
    answer: z.strictObject({ topics: z.array(z.string()), tasks: z.array(schemas.taskSchema), bounded: schemas.boundedSchema }),
    handle: readFound,
  }),
  ...writeRoutes,
]
