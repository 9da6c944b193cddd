/** What goes wrong is told on the console, and whether a try that failed is followed by another one. */
import { TaskDecision, TaskDecisionError, TaskError } from '@taskstream/task-api'
import type { HeldTask, TaskLease } from '@taskstream/task-api'
import { consoleListener, defineJob, defineTopic, fixed, json, never, versioned } from 'taskstream'
import { taskstream } from 'taskstream/node-sqlite'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, expect, test, vi } from 'vitest'

afterEach(() => vi.restoreAllMocks())

const task = (fields: Partial<HeldTask> = {}): HeldTask => ({
  topic: 'email',
  sequence: 5,
  identifier: 'a',
  lease: 1 as unknown as TaskLease,
  attempt: 1,
  tries: 1,
  priority: 0,
  ...fields,
})

const printed = (): { readonly lines: string[] } => {
  const lines: string[] = []
  vi.spyOn(console, 'error').mockImplementation((line: unknown) => void lines.push(String(line)))
  return { lines }
}

test.each<[string, TaskDecision, Partial<HeldTask>, string]>([
  ['the next try', TaskDecision.retry({ afterMs: 5_000 }), {}, 'email @5 (try 1, the next in 5 s)'],
  ['a try left', TaskDecision.retry({ afterMs: 0 }), { tries: 2, maxTries: 3 }, 'email @5 (try 2, the next in 0 ms)'],
  ['no try left', TaskDecision.retry({ afterMs: 5_000 }), { tries: 3, maxTries: 3 }, 'email @5 (try 3, the last)'],
  [
    'a try that is refunded',
    TaskDecision.snooze({ afterMs: 999 }),
    { tries: 3, maxTries: 3, externalId: 'order 7' },
    'email order 7 (try 3, the next in 999 ms)',
  ],
  ['no retry', TaskDecision.failure('no'), { tries: 4 }, 'email @5 (try 4, the last)'],
  ['a suspension', TaskDecision.suspension('later'), {}, 'email @5 (try 1, suspended)'],
  ['a filter', TaskDecision.filter('no more'), {}, 'email @5 (try 1, filtered)'],
  ['a success', TaskDecision.success(), {}, 'email @5 (try 1, succeeded)'],
])('a try that failed is told with %s', (_, decision, fields, name) => {
  const { lines } = printed()
  const tasks = [task(fields)]
  consoleListener.onError!({
    activity: 'handle',
    topic: 'email',
    tasks,
    error: new TaskError('TASK_TIMEOUT', 'it took too long'),
    decisions: new Map([[tasks[0]!, decision]]),
  })
  expect(lines).toEqual([`taskstream: ${name}, handle: TASK_TIMEOUT: it took too long`])
})

test('pauses are told in the unit that is easiest to read', () => {
  const { lines } = printed()
  for (const afterMs of [999, 1_000, 1_540, 59_900, 60_000, 90_000, 3_600_000, 86_400_000]) {
    const one = task()
    const decisions = new Map([[one, TaskDecision.retry({ afterMs })]])
    consoleListener.onError!({ activity: 'handle', topic: 'email', tasks: [one], error: 'no', decisions })
  }
  expect(lines.map((line) => /next in (.*)\)/.exec(line)?.[1])).toEqual([
    '999 ms',
    '1 s',
    '1.5 s',
    '59.9 s',
    '1 min',
    '1.5 min',
    '1 h',
    '1 d',
  ])
})

test('each task of a batch is told with its own end, and what decides nothing is told without', () => {
  const { lines } = printed()
  const tasks = [task(), task({ sequence: 6 })]
  consoleListener.onError!({
    activity: 'handle',
    topic: 'email',
    tasks,
    error: 'no',
    decisions: new Map([
      [tasks[0]!, TaskDecision.retry({ afterMs: 60_000 })],
      [tasks[1]!, TaskDecision.failure()],
    ]),
  })
  consoleListener.onError!({ activity: 'handle', topic: 'email', tasks, error: 'rolled back' })
  consoleListener.onError!({ activity: 'poll', topic: 'email', error: 'gone' })
  consoleListener.onError!({ activity: 'timers', timer: { scope: 'jobs', id: 'nightly' }, error: 'no topic' })
  consoleListener.onError!({ activity: 'timers', error: 'gone' })
  consoleListener.onLost!({ topic: 'email', tasks })
  expect(lines).toEqual([
    'taskstream: email @5 (try 1, the next in 1 min), email @6 (try 1, the last), handle: no',
    'taskstream: email @5 (try 1), email @6 (try 1), handle: rolled back',
    'taskstream: email, poll: gone',
    'taskstream: timer nightly of jobs, timers: no topic',
    'taskstream: timers: gone',
    expect.stringMatching(/^taskstream: email @5 \(try 1\), email @6 \(try 1\): no longer held/),
  ])
})

test('an error of a handler is told with the lines of its stack that are of the program', () => {
  const { lines } = printed()
  const error = new Error('no money')
  error.stack = [
    'Error: no money',
    '    at charge (file:///app/src/charge.ts:7:9)',
    '    at query (file:///app/node_modules/pg/lib/client.js:1:2)',
    '    at file:///app/node_modules/taskstream/dist/stream.js:3:4',
    '    at async handle (file:///app/node_modules/.pnpm/@taskstream+task-jobs@1/node_modules/@taskstream/task-jobs/dist/a.js:5:6)',
    String.raw`    at run (C:\app\node_modules\@taskstream\task-processor\dist\b.js:5:6)`,
    '    at AsyncLocalStorage.run (node:internal/async_local_storage/async_context_frame:63:14)',
  ].join('\n')
  consoleListener.onError!({ activity: 'handle', topic: 'email', tasks: [task()], error })
  expect(lines[0]?.split('\n').slice(1)).toEqual([
    '    at charge (file:///app/src/charge.ts:7:9)',
    '    at query (file:///app/node_modules/pg/lib/client.js:1:2)',
  ])
})

test('of a large batch the first tasks are named, so that the error is not lost behind a thousand names', () => {
  const { lines } = printed()
  const tasks = Array.from({ length: 200 }, (_, sequence) => task({ sequence }))
  consoleListener.onError!({ activity: 'handle', topic: 'email', tasks, error: 'no' })
  consoleListener.onLost!({ topic: 'email', tasks })
  const named = 'taskstream: email @0 (try 1), email @1 (try 1), email @2 (try 1) and 197 more'
  expect(lines).toEqual([
    `${named}, handle: no`,
    expect.stringMatching(new RegExp(`^${named.replace(/[()]/g, String.raw`\$&`)}: no longer`)),
  ])
})

test('a stream tells of each try of its jobs whether another one follows', async () => {
  const { lines } = printed()
  using database = new DatabaseSync(':memory:')
  await using stream = taskstream(database)
  const tried = defineJob('tried', { retry: fixed({ tries: 2, afterMs: 1, jitter: 0 }) })
  const limited = defineJob('limited', { retry: fixed({ tries: 9, afterMs: 1, jitter: 0 }), maxTries: 1 })
  const once = defineJob('once', { retry: never })
  const decided = defineJob('decided')
  for (const job of [tried, limited, once])
    stream.handle(job, () => {
      throw 'no'
    })
  stream.handle(decided, () => {
    throw new TaskDecisionError(TaskDecision.filter('no more'))
  })
  await stream.start()
  for (const job of [tried, limited, once, decided]) await stream.submit(job)
  await expect.poll(() => lines.length).toBe(5)
  const told = (name: string): unknown[] =>
    lines.filter((line) => line.startsWith(`taskstream: ${name} `)).map((line) => /\((.*?)\), handle: /.exec(line)?.[1])
  expect(told('tried')).toEqual(['try 1, the next in 1 ms', 'try 2, the last'])
  expect(told('limited')).toEqual(['try 1, the last'])
  expect(told('once')).toEqual(['try 1, the last'])
  expect(told('decided')).toEqual(['try 1, filtered'])
})

test('a stream tells once of each definition that inputs of a later version wait', async () => {
  const { lines } = printed()
  using database = new DatabaseSync(':memory:')
  await using stream = taskstream(database)
  const newer = versioned(json<number>()).to(json<number>(), (old) => old)
  const [job, topic] = [defineJob('bill', { input: json<number>() }), defineTopic('bills', { input: json<number>() })]
  stream.handle(job, () => {})
  stream.topic(topic).process({ handler: () => {} })
  await stream.start()
  for (const input of [1, 2, 3]) await stream.submit(defineJob('bill', { input: newer }), input)
  await stream.topic(defineTopic('bills', { input: newer })).submit([1, 2, 3])
  const waiting = (name: string): unknown => stream.tasks.count(database, { topic: name }).get(name)?.get('delayed')?.count
  await expect.poll(() => [waiting('bill'), waiting('bills')]).toEqual([3, 3])
  const told = 'has version 2, and this program knows none after 1: such tasks wait for a worker of the release that pushes them'
  expect(lines.toSorted()).toEqual(
    ['bill', 'bills'].map((name) =>
      expect.stringMatching(
        new RegExp(
          `^taskstream: ${name} @\\d+ \\(try 1, the next in 1 s\\), handle: INPUT_NEWER: The input of a task "${name}" ${told}$`,
        ),
      ),
    ),
  )
})

test('a standstill is told with the job whose handler was called last', () => {
  const { lines } = printed()
  consoleListener.onBlocked!({ blockedMs: 4_000, batches: [{ topic: 'email', tasks: [task()], at: task() }] })
  consoleListener.onBlocked!({ blockedMs: 1_500, batches: [] })
  expect(lines).toEqual([
    'taskstream: the event loop stood still for 4 s, after the handler of email @5 (try 1) was called: this process did nothing else meanwhile',
    'taskstream: the event loop stood still for 1.5 s: this process did nothing else meanwhile',
  ])
})

test('an error is told with its cause, and cannot clear the terminal', () => {
  const { lines } = printed()
  const error = new Error('the pool says \u001B[2J no\u0085', { cause: new Error('no route to host') })
  consoleListener.onError!({ activity: 'poll', topic: 'email', error })
  expect(lines).toHaveLength(1)
  expect(lines[0]).toContain('Error: the pool says \u241B[2J no\uFFFD\n')
  expect(lines[0]).toContain('\nCaused by: Error: no route to host')
})
