/** Programs go by codes and limits: they stay what they are. */
import { filterStates, pollConditions, pollHolds, pollOrders, taskErrorCodes, taskLimits, TaskError } from '@taskstream/task-api'
import type { TaskErrorCode } from '@taskstream/task-api'
import { expect, test } from 'vitest'

/** The compiler sees to it that none is missing here. */
const codes: Readonly<Record<TaskErrorCode, true>> = {
  ARGUMENT_INVALID: true,
  TIMER_INVALID: true,
  TOPIC_UNKNOWN: true,
  TOPIC_DIFFERENT: true,
  TOPIC_IN_USE: true,
  PARTITION_DETACHING: true,
  TOPIC_NOT_KEYED: true,
  TIMER_UNKNOWN: true,
  TIMER_DUPLICATE: true,
  TIMER_AMBIGUOUS: true,
  INPUT_INVALID: true,
  INPUT_NEWER: true,
  OUTPUT_INVALID: true,
  OUTPUT_TOO_LONG: true,
  PROGRAM_NOT_STARTED: true,
  PROGRAM_FAILED: true,
  REQUEST_FAILED: true,
  JOB_ENDED: true,
  WAIT_TIMEOUT: true,
  ROUTE_MISSING: true,
  SIGNATURE_INVALID: true,
  TASK_UNREACHABLE: true,
  TOPIC_FULL: true,
  LIMITS_DIFFERENT: true,
  TASK_STATE: true,
  ACTION_UNKNOWN: true,
  ACTION_UNDONE: true,
  ACTION_FINAL: true,
  ISOLATION_UNSUPPORTED: true,
  OWNER_UNKNOWN: true,
  TASK_DUPLICATE: true,
  TASK_LOST: true,
  DECISIONS_MISSING: true,
  TASK_UNKNOWN: true,
  TRANSACTION_CLOSED: true,
  DATABASE_UNAVAILABLE: true,
  DATABASE_MISSING: true,
  AUTHENTICATION_FAILED: true,
  PERMISSION_DENIED: true,
  DATABASE_READ_ONLY: true,
  TRANSACTION_CONFLICT: true,
  TRANSACTION_ABANDONED: true,
  POOL_TOO_SMALL: true,
  DATABASE_BUSY: true,
  NOTIFICATIONS_UNDELIVERED: true,
  SCHEMA_MISSING: true,
  SCHEMA_OLDER: true,
  SCHEMA_NEWER: true,
  SEQUENCE_BEHIND: true,
  NUMBER_UNSAFE: true,
  RUNTIME_UNSUPPORTED: true,
  LEADERSHIP_LOST: true,
  TASK_ID_TAKEN: true,
  LEASE_LOST: true,
  TASK_TIMEOUT: true,
  HANDLERS_HUNG: true,
  SHUTDOWN: true,
  SUPPLEMENT_DUPLICATE: true,
  SUPPLEMENT_MISSING: true,
  DRAIN_ENDLESS: true,
  JOB_UNKNOWN: true,
  JOB_DUPLICATE: true,
  THREAD_FAILED: true,
  LIFECYCLE: true,
}

test('every code of an error is listed, and stands for itself', () => {
  expect(Object.entries(taskErrorCodes)).toEqual(Object.keys(codes).map((code) => [code, code]))
})

test('an error that says nothing of what it is about has no data', () => {
  expect(new TaskError('LIFECYCLE', 'no').data).toEqual({})
})

test('what is taken once is taken in every release', () => {
  expect(taskLimits).toEqual({
    topicLength: 250,
    identifierLength: 500,
    referenceLength: 500,
    externalIdLength: 500,
    ownerNameLength: 200,
    ownerLength: 250,
    releaseLength: 100,
    traceLength: 64,
    fingerprintLength: 20,
    noteLength: 500,
    actorLength: 250,
    inputLength: 2 ** 24,
    outputLength: 2 ** 16,
    headersLength: 2 ** 16,
    batchSize: 100_000,
    pollSize: 10_000,
    durationMs: 100 * 365 * 86_400_000,
    tries: 2 ** 15 - 1,
    priority: 2 ** 15 - 1,
  })
  expect(pollOrders).toEqual(['fifo', 'lifo', 'priority', 'shared'])
  expect(pollConditions).toEqual([
    'none',
    'singular-by-identifier',
    'singular-by-identifier-suspend-on-failure',
    'singular-by-identifier-suspend-until-success',
  ])
  expect(pollHolds).toEqual(['lease', 'transaction'])
  expect(filterStates).toEqual([
    'active',
    'ready',
    'expired',
    'failed',
    'suspended',
    'filtered',
    'succeeded',
    'recreated',
    'redundant',
    'delayed',
    'blocked',
  ])
})
