/** Those who watch share one look for each topic, which reads a limited number of rows; nothing is paid when nobody watches. */
import { TaskError } from '@taskstream/task-api'
import type { PageOptions, TaskInfo, TaskKey } from '@taskstream/task-api'
import { defineJob, defineQueue, defineTopic, json } from 'taskstream'
import { beforeEach, describe, expect, test } from 'vitest'
import { pushedChange } from '../../packages/task-jobs/src/jobs/job-change.ts'
import { InProcess } from '../../packages/task-jobs/src/jobs/in-process.ts'
import type { Definition } from '../../packages/taskstream/src/definitions.ts'
import { JobWatches } from '../../packages/taskstream/src/job-watches.ts'
import type { StreamDriver } from '../../packages/taskstream/src/stream-options.ts'
import { taskOf, unheardOf } from './answering.ts'
import { ringingClock } from './ringing-clock.ts'
import type { RingingClock } from './ringing-clock.ts'

const letter = defineJob('letter')
const bill = defineJob('bill')

describe('those who watch', () => {
  let clock: RingingClock
  let rows: Map<string, TaskInfo[]>
  /** What each look asks for. */
  let asked: string[]
  let rowsRead: number
  let answer: () => void | Promise<void>
  /** The jobs whose work others go on with. */
  let goesOnAs: Map<number, number>
  let told: string[]
  let process: InProcess
  let handled: Map<string, Definition>
  let watches: JobWatches<object, 'async'>

  const settle = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve))
  const pass = async (ms: number): Promise<void> => {
    clock.pass(ms)
    await settle()
  }
  const put = (sequence: number, more: Partial<TaskInfo> = {}): void => {
    const { topic = 'letter' } = more
    const nothing = { identifier: 'a', state: 'ready', descent: 'ready', attempt: 0, tries: 0, priority: 0 } as const
    const row: TaskInfo = { ...nothing, topic, sequence, created: new Date(0), ...more }
    const others = (rows.get(topic) ?? []).filter((other) => other.sequence !== sequence)
    rows.set(
      topic,
      [...others, row].toSorted((left, right) => left.sequence - right.sequence),
    )
  }
  const read = (events: AsyncIterable<{ readonly ref: { readonly id: string }; readonly state: string }>): string[] => {
    const lines: string[] = []
    void (async () => {
      for await (const { ref, state } of events) lines.push(`${ref.id} ${state}`)
    })()
    return lines
  }

  beforeEach(() => {
    clock = ringingClock()
    rows = new Map([
      ['letter', []],
      ['bill', []],
    ])
    asked = []
    rowsRead = 0
    answer = () => {}
    goesOnAs = new Map()
    told = []
    process = new InProcess()
    handled = new Map()
    const repository = {
      page: async (_: object, topic: string, { after, before, size, ...filter }: PageOptions) => {
        // With a filter, an engine may read the topic to its end.
        expect(filter).toEqual({})
        asked.push(`page ${topic} ${after === undefined ? 'before' : `after ${after}`}`)
        await answer()
        const all = rows.get(topic)
        if (!all) throw new TaskError('TOPIC_UNKNOWN', topic)
        const found =
          before === undefined
            ? all.filter(({ sequence }) => sequence > after!).slice(0, size)
            : all
                .filter(({ sequence }) => sequence < before)
                .toReversed()
                .slice(0, size)
        rowsRead += found.length
        return found
      },
      endings: async (_: object, tasks: readonly TaskKey[]) => {
        asked.push(`endings ${tasks.length}`)
        rowsRead += tasks.length
        return tasks.map(({ topic, sequence }) => {
          const task = { topic, sequence: goesOnAs.get(sequence) ?? sequence }
          const row = rows.get(task.topic)?.find(({ sequence }) => sequence === task.sequence)
          return row && { task, state: row.state, ended: false, reason: undefined, value: undefined, output: undefined }
        })
      },
    }
    const transactions = async (work: (transaction: object) => unknown): Promise<unknown> => work({})
    const listener = {
      onError: ({ activity, error }: { activity: string; error: unknown }) =>
        void told.push(`${activity} ${error instanceof TaskError ? error.code : String(error)}`),
      onRecovered: ({ activity }: { activity: string }) => void told.push(`${activity} works`),
    }
    watches = new JobWatches(
      { repository, transactions } as unknown as StreamDriver<object, 'async'>,
      { process, handled },
      {
        clock,
        listener,
      },
    )
  })

  test('share one look, as often as the most impatient one asks; and nobody looks when nobody watches', async () => {
    await pass(10_000)
    expect([asked, clock.pauses, process.watching]).toEqual([[], [], undefined])
    const slow = watches.watch({ jobs: [letter], everyMs: 4_000 })
    const quick = watches.watch({ jobs: [letter] })
    const other = watches.watch({ jobs: [bill], everyMs: 4_000 })
    await pass(0)
    expect(asked).toEqual(['page letter before', 'page bill before'])
    for (let second = 0; second < 4; second++) await pass(1_000)
    expect(asked.filter((each) => each.startsWith('page letter'))).toHaveLength(5)
    expect(asked.filter((each) => each.startsWith('page bill'))).toHaveLength(2)
    asked = []
    await quick.return()
    await other.return()
    for (let second = 0; second < 4; second++) await pass(1_000)
    expect(asked).toHaveLength(1)
    asked = []
    await slow.return()
    await pass(100_000)
    expect([asked, process.watching]).toEqual([[], undefined])
  })

  test('are told of new jobs, of changes, and of no job twice, however often it is read', async () => {
    put(1)
    put(2, { state: 'succeeded' })
    const lines = read(watches.watch({ jobs: [letter] }))
    await pass(0)
    expect(lines).toEqual([])
    put(1, { state: 'active', attempt: 1 })
    put(4, { externalId: 'four' })
    await pass(1_000)
    expect(lines).toEqual(['@1 active', 'four ready'])
    // It was pushed before the other, and is committed after it.
    put(3)
    put(4, { state: 'failed', attempt: 1, externalId: 'four' })
    await pass(1_000)
    expect(lines.slice(2)).toEqual(['@3 ready', 'four failed'])
    put(1, { state: 'suspended', due: new Date(), attempt: 1, tries: 1 })
    rows.set(
      'letter',
      rows.get('letter')!.filter(({ sequence }) => sequence !== 3),
    )
    for (let look = 0; look < 3; look++) await pass(1_000)
    expect(lines.slice(4)).toEqual(['@1 retrying'])
    expect(asked.at(-1)).toBe('endings 1')
  })

  test('read a limited number of rows at each look, are up to date, and read later what they did not', async () => {
    for (let sequence = 1; sequence <= 500; sequence++) put(sequence)
    const lines = read(watches.watch({ jobs: [letter] }))
    await pass(0)
    const all = Array.from({ length: 5_000 }, (_, index): TaskInfo => ({ ...rows.get('letter')![0]!, sequence: index + 1 }))
    // All the old ones have changed, and stand far from each other.
    rows.set(
      'letter',
      all.map((row) => (row.sequence <= 500 && row.sequence % 2 === 0 ? { ...row, state: 'active', attempt: 1 } : row)),
    )
    rowsRead = 0
    await pass(1_000)
    expect(rowsRead).toBeLessThanOrEqual(4_000)
    expect(lines.at(-1)).toBe('@5000 ready')
    for (let look = 0; look < 5; look++) {
      rowsRead = 0
      await pass(1_000)
      expect(rowsRead).toBeLessThanOrEqual(4_000)
    }
    expect(lines.filter((line) => line.endsWith('active'))).toHaveLength(250)
    expect(new Set(lines).size).toBe(lines.length)
  })

  test('are told of a job whose work another goes on with, though that one is in the same state', async () => {
    put(1)
    const lines = read(watches.watch({ jobs: [letter] }))
    await pass(0)
    put(1, { state: 'succeeded', attempt: 1 })
    put(2)
    goesOnAs.set(1, 2)
    await pass(1_000)
    expect(lines).toEqual(['@1 succeeded', '@2 ready'])
  })

  test('read jobs that have changed in portions, and those that stand alone in turn', async () => {
    const sequences = Array.from({ length: 30 }, (_, index) =>
      Array.from({ length: 150 }, (_, other) => index * 1_000 + other + 1),
    )
    put(1, { state: 'succeeded' })
    const [row] = rows.get('letter')!
    rows.set(
      'letter',
      sequences.flat().map((sequence) => ({ ...row!, sequence, state: sequence % 1_000 === 1 ? 'ready' : 'succeeded' })),
    )
    const lines = read(watches.watch({ jobs: [letter] }))
    const open = Array.from({ length: 30 }, (_, index) => index * 1_000 + 1)
    process.watching!(open.map((sequence) => ({ topic: 'letter', sequence, identifier: 'a', job: 'letter', state: 'ready' })))
    await pass(0)
    expect(lines).toHaveLength(30)
    for (const sequence of open) put(sequence, { state: 'succeeded', attempt: 1 })
    const counts: number[] = []
    for (let look = 0; look < 3; look++) {
      await pass(1_000)
      counts.push(lines.length)
    }
    expect(counts).toEqual([40, 50, 60])
  })

  test('see that jobs are looked at soon which this process has lost or moved, and are told nothing before', async () => {
    handled.set('letter', letter)
    const lines = read(watches.watch({ everyMs: 60_000 }))
    await pass(0)
    put(1, { state: 'filtered', reason: 'cancelled', attempt: 1 })
    watches.listener.onStart!({ topic: 'letter', tasks: [{ ...taskOf('a', 1), topic: 'letter' }] })
    watches.listener.onLost!({ topic: 'letter', tasks: [{ ...taskOf('a', 1), topic: 'letter' }] })
    await settle()
    expect(lines).toEqual(['@1 ready', '@1 active'])
    await pass(20)
    expect(lines).toEqual(['@1 ready', '@1 active', '@1 filtered'])
  })

  test('are told of jobs, and not of other topics; of what is handled in one transaction only what has become of it', async () => {
    const queue = defineQueue('queue')
    const topic = defineTopic('topic', { input: json<number>() })
    for (const definition of [letter, queue, topic]) handled.set(definition.name, definition)
    watches.processed('letter', { mode: 'transactional' })
    const lines = read(watches.watch({}))
    for (const [index, name] of ['letter', 'queue', 'topic', 'unknown'].entries())
      watches.listener.onStart!({ topic: name, tasks: [{ ...taskOf('a', index), topic: name }] })
    watches.listener.onReturned!({ topic: 'queue', tasks: [{ ...taskOf('a', 1), topic: 'queue' }] })
    watches.listener.onReturned!({ topic: 'letter', tasks: [{ ...taskOf('a', 0), topic: 'letter' }] })
    await settle()
    expect(lines).toEqual(['@1 ready', '@1 active', '@1 ready'])
    process.pushedTo.add('bill')
    await pass(0)
    const pages = asked.filter((each) => each.startsWith('page'))
    expect(new Set(pages.map((each) => each.split(' ')[1]))).toEqual(new Set(['letter', 'queue', 'bill']))
  })

  test('go on when the database is away, which is told once, and when nobody has pushed yet, which is not told', async () => {
    using unheard = unheardOf()
    rows.clear()
    const lines = read(watches.watch({ jobs: [letter, bill] }))
    await pass(0)
    put(1)
    await pass(1_000)
    expect([lines, told]).toEqual([['@1 ready'], []])
    answer = () => {
      throw new TaskError('DATABASE_UNAVAILABLE', 'away')
    }
    asked = []
    for (let look = 0; look < 3; look++) await pass(1_000)
    expect(told).toEqual(['watch DATABASE_UNAVAILABLE'])
    // The other topic is in the same database.
    expect(asked.every((each) => each.startsWith('page letter'))).toBe(true)
    put(2)
    answer = () => {}
    await pass(1_000)
    expect([lines, told]).toEqual([
      ['@1 ready', '@2 ready'],
      ['watch DATABASE_UNAVAILABLE', 'watch works'],
    ])
    // A look under way ends after the last who watched, and nobody hears of it.
    const gate = Promise.withResolvers<void>()
    answer = () => gate.promise
    await pass(1_000)
    watches.stop()
    gate.reject(new Error('closed'))
    await settle()
    await pass(100_000)
    expect([told.length, unheard.errors, process.watching]).toEqual([2, [], undefined])
  })

  test('are told that a job was ready before it is active, though its push is answered later', () => {
    handled.set('letter', letter)
    const lines = read(watches.watch({}))
    watches.listener.onStart!({ topic: 'letter', tasks: [{ ...taskOf('a', 1), topic: 'letter', attempt: 1, tries: 1 }] } as never)
    const pushed = { topic: 'letter', sequence: 1, identifier: 'a', outcome: 'created' } as const
    process.watching!([pushedChange('letter', pushed, { identifier: 'a' }, [])!])
    return expect.poll(() => lines).toEqual(['@1 ready', '@1 active'])
  })
})
