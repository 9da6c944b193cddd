/** An option or a field of a name that nobody knows is refused: what was meant by it would be left undone without a word. */
import { checkNames, duplicates, optionNames, partialBatch } from '@taskstream/task-api'
import type { TaskError } from '@taskstream/task-api'
import {
  buffering,
  composite,
  eachTask,
  exponential,
  fixed,
  handleBatch,
  linear,
  pushing,
  steps,
  stopOnSignal,
  TaskNode,
} from '@taskstream/task-processor'
import {
  cron,
  every,
  JobListener,
  ClockJobScheduler,
  periodicTasks,
  PeriodicScheduler,
  PersistedClockJobs,
  preview,
  typedTasks,
} from '@taskstream/task-scheduler'
import { sqlTaskRepository } from '@taskstream/task-sql'
import { mariadb } from '@taskstream/task-sql/mysql2'
import { oracle } from '@taskstream/task-sql/oracledb'
import { postgres } from '@taskstream/task-sql/pg'
import { testTasks } from '@taskstream/task-testing'
import { describe, expect, test } from 'vitest'

const thrownBy = async (work: () => unknown): Promise<Partial<TaskError>> => {
  try {
    return { message: `was taken, and answered ${String(await work())}` }
  } catch (error) {
    return error as TaskError
  }
}

describe('names of options', () => {
  const names = optionNames<{ delayMs?: number; size?: number; olderThanMs?: number }>('a wait', {
    delayMs: true,
    size: true,
    olderThanMs: true,
  })

  test('are checked by name alone, whatever their values are', () => {
    checkNames(names, {})
    checkNames(names, { delayMs: undefined, size: 'five' })
    checkNames(names, undefined)
    expect(() => checkNames(names, { delay: undefined })).toThrow('delay is no option of a wait: did you mean delayMs?')
  })

  test('that are inherited count as those that are given, and what every object has does not', () => {
    checkNames(names, Object.create({ size: 1 }) as object)
    expect(() => checkNames(names, Object.create({ sizes: 1 }) as object)).toThrow('did you mean size?')
    for (const name of ['toString', 'constructor', '__proto__', 'hasOwnProperty'])
      expect(() => checkNames(names, JSON.parse(`{ "${name}": 1 }`) as object)).toThrow(`${name} is no option of a wait`)
  })

  test('are told with what was given, and where, a long one not whole', () => {
    const refusal = (given: object, at?: string): unknown => {
      try {
        return checkNames(names, given, at)
      } catch (error) {
        return error
      }
    }
    expect(refusal({ delay: 7 })).toMatchObject({ data: { argument: 'delay', value: 7, suggestion: 'delayMs' } })
    expect((refusal({ colour: 'red' }, 'waits[1].') as TaskError).data).toStrictEqual({
      argument: 'waits[1].colour',
      value: 'red',
    })
    expect((refusal({ ['x'.repeat(200)]: 1 }) as TaskError).data['argument']).toBe(`${'x'.repeat(99)}…`)
    expect(refusal(7 as never, 'waits[1].')).toMatchObject({ data: { argument: 'waits[1].options', value: 7 } })
  })

  test('are suggested when they differ in little, in their case, or in what was left out', () => {
    const suggestion = (name: string): unknown => {
      try {
        return checkNames(names, { [name]: 1 })
      } catch (error) {
        return (error as TaskError).data['suggestion']
      }
    }
    expect(['delay', 'DELAYMS', 'dealyMs', 'olderThan', 'older', 'ThanMs', 'siz'].map(suggestion)).toEqual([
      'delayMs',
      'delayMs',
      'delayMs',
      'olderThanMs',
      'olderThanMs',
      'olderThanMs',
      'size',
    ])
    expect(['DELAY', 'THANMS', 'OLDERTHAN', 'del', 'hanms'].map(suggestion)).toEqual([
      'delayMs',
      'olderThanMs',
      'olderThanMs',
      'delayMs',
      'olderThanMs',
    ])
    expect(['colour', 's', 'de', 'Ms', '', 'x'.repeat(100_000)].map(suggestion)).toEqual(Array(6).fill(undefined))
    expect(() => checkNames(names, { colour: 1 })).toThrow('colour is no option of a wait: it has delayMs, size, olderThanMs')
  })
})

test('are refused by whatever takes options', async () => {
  await using tasks = await testTasks({ topics: ['mail'] })
  const { repository, transactions } = tasks
  const handler = eachTask(() => {})
  const node = new TaskNode({ repository, transactions })
  const timers = periodicTasks(repository)
  const timer = { id: 'a', timer: 'daily', topic: 'mail' }
  const given = (options: object): never => options as never
  const jobs = new ClockJobScheduler()
  const persisted = new PersistedClockJobs({ repository, transactions, handlers: { report: () => {} } })
  const cases: Readonly<Record<string, () => unknown>> = {
    leaseMs: () => new TaskNode(given({ repository, transactions, lease: 1_000 })),
    'heartbeatThread.hungMs': () =>
      new TaskNode(given({ repository, transactions, heartbeatThread: { module: new URL('file:///a.js'), hung: 1 } })),
    retainMs: () => node.process('mail', given({ handler, retain: { succeeded: 0 } })),
    size: () => node.stream('mail', given({ sizes: 5 })).next(),
    insertion: () => node.submit('mail', 'a', given({ insertions: 'replace' })),
    graceMs: () => node.stop(given({ grace: 5 })),
    onStopped: () => stopOnSignal(node, given({ onStop: () => {} })),
    timeoutMs: () => eachTask(() => {}, given({ timeout: 5 })),
    workers: () => buffering(given({ buffer: 1, workers: 1, worker: 2, handler })),
    pendingOnClose: () => composite(given({ pendingOnclose: 'fail' })),
    concurrency: () => composite().each('a', () => {}, given({ concurency: 5 })),
    after: () => composite().batch('a', () => {}, given({ afters: [] })),
    postprocess: () => pushing(given({ repository, postProcess: () => {} })),
    tries: () => fixed(given({ tries: 1, afterMs: 5, trie: 3 })),
    stepMs: () => linear(given({ tries: 1, firstMs: 5, step: 3 })),
    factor: () => exponential(given({ tries: 1, firstMs: 5, factr: 3 })),
    steps: () => steps(given({ tries: 1, minMs: 5, maxMs: 5, step: 3 })),
    retry: () =>
      handleBatch([], given({ repository, transactions, topic: 'mail', handler, retrys: fixed({ tries: 1, afterMs: 1 }) })),
    rounds: () => tasks.drain('mail', handler, given({ round: 5 })),
    topics: () => testTasks(given({ topic: ['mail'] })),
    key: () => duplicates.all(given({ keys: () => 'a' })),
    fallback: () => partialBatch(given({ predicate: () => true, delegate: () => {}, fallbak: 1 })),
    from: () => every(5, given({ form: new Date() })),
    zone: () => cron('@daily', given({ zones: 'UTC' })),
    'after, of a preview': () => preview(every(5), 1, given({ after: 0, afters: 0 })),
    scope: () => periodicTasks(repository, given({ scopes: 'a' })),
    'input, of typed tasks': () => typedTasks(repository, given({ name: 'a', topic: 'mail', input: {}, inputs: {} })),
    misfire: () => transactions((tx) => timers.schedule(tx, given({ ...timer, missfire: 'skip' }))),
    maxTries: () => transactions((tx) => timers.add(tx, given({ ...timer, maxtries: 5 }))),
    undeclared: () => transactions((tx) => timers.reconcile(tx, 'a', [], given({ undeclard: 'remove' }))),
    jitterMs: () => transactions((tx) => timers.reconcile(tx, 'a', [given({ ...timer, jitter: 5 })])),
    application: () => transactions((tx) => timers.list(tx, given({ aplication: 'a' }))),
    pollIntervalMs: () => new PeriodicScheduler(given({ repository, transactions, pollInterval: 500 })),
    waitingTimeMs: () => new ClockJobScheduler(given({ waitingTime: 5 })),
    'workers, of a scheduler': () => jobs.configure(given({ worker: 5 })),
    whenLate: () => jobs.schedule(() => {}, given({ intervalMs: 5, whenlate: 'ignore' })),
    'id, of a job': () => jobs.scheduleOnce(() => {}, new Date(Date.now() + 60_000), given({ ID: 'a' })),
    'graceMs, of jobs': () => jobs.stop(given({ grace: 5 })),
    trigger: () => new JobListener(given({ trigger: { intervalMs: 5 }, triggers: {} })),
    'maxCount, of a listener': () => new JobListener(given({ trigger: { intervalMs: 5, maxcount: 5 } })),
    replace: () => new JobListener({ trigger: { intervalMs: 5 } }).attach(() => {}, 'a', given({ replaces: true })),
    handlers: () => new PersistedClockJobs(given({ repository, transactions, handlers: {}, handler: {} })),
    'onError, of a persisted job': () => persisted.schedule('report', given({ intervalMs: 5_000, onErrors: 'continue' })),
    'whenLate, of a persisted job': () =>
      persisted.scheduleOnce('report', new Date(Date.now() + 60_000), given({ whenlate: 'ignore' })),
    clock: () => sqlTaskRepository(given({ dialect: postgres(), adapter: {}, clocks: () => new Date() })),
    partitioned: () => postgres(given({ partition: true })),
    database: () => mariadb(given({ databse: 'a' })),
    schema: () => oracle(given({ shema: 'a' })),
  }
  for (const [meant, work] of Object.entries(cases)) {
    const error = await thrownBy(work)
    const name = meant.replace(/,.*/, '')
    expect([meant, error.code, error.message]).toEqual([
      meant,
      'ARGUMENT_INVALID',
      expect.stringContaining(`did you mean ${name.replace(/.*[.]/, '')}?`),
    ])
  }
  await node.stop()
  await jobs.stop()
})
