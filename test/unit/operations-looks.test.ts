/** What the doctor looks at beside the database, what has changed of late, and the tables of alerts and checks as they are. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { changes } from '@taskstream/task-operations'
import { describe, expect, onTestFinished, test } from 'vitest'
import { alerts } from '../../packages/task-operations/src/core/thresholds.ts'
import { checks } from '../../packages/task-operations/src/doctor/checks.ts'
import { clockRow, schemaRows } from '../../packages/task-operations/src/doctor/connection.ts'
import { fileLooks, filesOfThisMachine } from '../../packages/task-operations/src/doctor/files.ts'
import type { Files } from '../../packages/task-operations/src/doctor/files.ts'

test('alerts and checks have the words and levels that the file beside this one shows', async () => {
  await expect(`${JSON.stringify({ alerts, checks }, undefined, 2)}\n`).toMatchFileSnapshot('operations-tables.txt')
})

describe('a look at the connection', () => {
  test('says which clock is behind, and only what is more than half a round trip', () => {
    expect(clockRow({ roundTripMs: 10, aheadMs: 25 })).toEqual({ value: 20, side: 'behind the clock of the database' })
    expect(clockRow({ roundTripMs: 10, aheadMs: -25 })).toEqual({ value: 20, side: 'ahead of the clock of the database' })
    expect(clockRow({ roundTripMs: 10, aheadMs: 4 })['value']).toBe(0)
  })

  test('says what to do about tables of another release', () => {
    expect(schemaRows({ found: 3, known: 3, works: true } as never)).toEqual([])
    const up = 'taskstream migrate up'
    for (const [found, state, remedy] of [
      [0, 'the tables are missing', up],
      [2, 'the tables are older', up],
      [4, 'the tables are newer', 'upgrade taskstream'],
    ] as const)
      expect(schemaRows({ found, known: 3, works: false } as never)).toEqual([{ value: 1, state, found, known: 3, remedy }])
  })
})

describe('a look at the files', () => {
  const looked = (name: string, files: Partial<Files>): unknown =>
    fileLooks.find(([each]) => each === name)![1]('/data/tasks.db', files as Files)

  test.each([
    [0x6969, 'NFS'],
    [0x517b, 'SMB'],
    [0xff534d42, 'CIFS'],
    [0xfe534d42, 'SMB 2'],
    [0x01021997, '9p'],
    [0x5346414f, 'AFS'],
    [0x00c36400, 'Ceph'],
    [0x0bd00bd0, 'Lustre'],
    [0xef53, undefined],
  ])('finds that the file system %d is %s', async (type, kind) => {
    const asked: string[] = []
    const system: Files['system'] = async (folder) => {
      asked.push(folder)
      return { type, free: 0.25 }
    }
    expect(await looked('network-files', { system })).toEqual(kind === undefined ? [] : [{ value: 1, kind }])
    expect(await looked('free-space', { system })).toEqual([{ value: 0.25 }])
    expect(asked).toEqual(['/data', '/data'])
  })

  test('measures the log beside the file, which may not be there', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'taskstream-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const log = join(folder, 'tasks.db-wal')
    const look = fileLooks.find(([name]) => name === 'wal-size')![1]
    const path = join(folder, 'tasks.db')
    expect(await look(path, filesOfThisMachine)).toEqual([{ value: 0, path }])
    writeFileSync(log, 'x'.repeat(77))
    expect(await look(path, filesOfThisMachine)).toEqual([{ value: 77, path }])
    await expect(filesOfThisMachine.size(join(log, 'below'))).rejects.toThrow('ENOTDIR')
    const { type, free } = await filesOfThisMachine.system(folder)
    expect([type > 0, free > 0, free <= 1]).toEqual([true, true, true])
  })
})

describe('what has changed of late', () => {
  const now = Date.now()
  const ago = (minutes: number): Date => new Date(now - minutes * 60_000)
  const all = {
    nodes: [
      { name: 'w-1', release: '2.1', started: ago(9), life: 'stopped', reported: ago(2) },
      { name: 'w-2', started: ago(90), life: 'living', reported: ago(1), report: { kind: 'scheduler' } },
      { name: 'w-3', started: ago(8), life: 'living', reported: ago(1), report: { kind: 'scheduler' } },
      { name: 'w-4', life: 'dead' },
      { name: 'w-5', life: 'dead', started: ago(600), heartbeat: ago(2.2), reported: ago(2.8) },
      { name: 'w-6', life: 'dead', reported: ago(9.5), report: { kind: 'scheduler' } },
    ],
    activations: new Map([
      ['mail', { active: false, changed: ago(7), actor: 'kari', note: 'the bank is down' }],
      ['bills', { active: true, changed: ago(6) }],
    ]),
    errors: [
      { topic: 'mail', error: 'Error: no', first: ago(5), firstRelease: '2.1' },
      { topic: 'bills', error: 'Error: yes', first: ago(4.5) },
    ],
    timers: [{ scope: 'shop', id: 'report', changed: ago(4).getTime() }],
    actions: [
      { at: ago(3.5), action: 'pause', topic: 'mail', actor: 'kari', count: 0, note: 'wait' },
      { at: ago(3), action: 'redrive', topic: 'mail', count: 1 },
      { at: ago(2.5), action: 'timer pause', count: 2 },
    ],
  }
  const asked: unknown[] = []
  const found = (withinMs: number): ReturnType<typeof changes> =>
    changes({
      tasks: {
        nodes: (_: unknown, options: unknown) => (asked.push(options), all.nodes),
        activations: () => all.activations,
        errors: (_: unknown, options: unknown) => (asked.push(options), all.errors),
        timers: { list: () => all.timers },
        actions: (_: unknown, options: unknown) => (asked.push(options), all.actions),
      },
      transactions: (work: (transaction: unknown) => unknown) => work({}),
      withinMs,
    } as never)

  test('is told in one list, the latest first, by whom and why', async () => {
    expect((await found(3_600_000)).map(({ kind, topic, text }) => [kind, topic, text])).toEqual([
      ['stopped', undefined, 'w-1, release 2.1, has stopped'],
      ['died', undefined, 'w-5, was last heard of, and has not said that it stops'],
      ['action', undefined, 'timer pause: 2 tasks'],
      ['action', 'mail', 'redrive of mail: 1 task'],
      ['action', 'mail', 'pause of mail by kari; wait'],
      ['timer', undefined, 'timer report of shop was added or changed'],
      ['error', 'bills', 'bills: Error: yes, first seen'],
      ['error', 'mail', 'mail: Error: no, first seen in release 2.1'],
      ['resumed', 'bills', 'bills was resumed'],
      ['paused', 'mail', 'mail was paused by kari: the bank is down'],
      ['release', undefined, 'the scheduler of w-3, has started'],
      ['release', undefined, 'w-1, release 2.1, has started'],
      ['died', undefined, 'the scheduler of w-6, was last heard of, and has not said that it stops'],
    ])
    expect(asked).toEqual([{ withinMs: 3_600_000 }, { withinMs: 3_600_000 }, { withinMs: 3_600_000, limit: 1_000 }])
  })

  test('ends with the span that was asked for', async () => {
    expect(await found(140_000)).toHaveLength(2)
    expect(await found(100 * 60_000)).toHaveLength(14)
  })
})
