/** What waits in another database of ours goes on here: nothing is lost, nothing is there twice, and the order stays. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { TaskDecision } from '@taskstream/task-api'
import type { HeldTask, TaskCreation, TaskInfo, TopicOptions } from '@taskstream/task-api'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { canRun, openSubject } from '../subject.ts'
import type { AnyTransaction, Subject, Tasks } from '../subject.ts'
import { follow, run, urlOf } from './command-line.ts'
import { countsOf, TargetDatabase } from './import-fixture.ts'
import type { Imported } from './import-fixture.ts'

const later = new Date('2100-01-01T00:00:00.000Z')

describe.skipIf(!canRun)('from another database of ours', () => {
  let source: Subject
  let target: TargetDatabase
  let tasks: Tasks
  let folder = ''
  beforeAll(async () => {
    source = await openSubject()
    target = await TargetDatabase.create(source)
    tasks = source.tasks()
    folder = mkdtempSync(join(tmpdir(), 'taskstream-import-'))
  })
  afterAll(async () => {
    await target[Symbol.asyncDispose]()
    await source[Symbol.asyncDispose]()
    rmSync(folder, { recursive: true, force: true })
  })

  const commit = <Result>(work: (transaction: AnyTransaction) => unknown): Promise<Result> =>
    source.transactions((transaction) => work(transaction) as Promise<Result>)
  /** Whoever lives there keeps tasks from being moved. */
  const leave = (): Promise<unknown> => commit((transaction) => tasks.purgeOwners(transaction, 0))
  const fill = (topic: string, creations: readonly TaskCreation[], options?: TopicOptions): Promise<unknown> =>
    commit(async (transaction) => {
      await tasks.initialize(transaction, topic, options)
      await tasks.push(transaction, topic, creations)
    })
  const decide = (topic: string, decision: TaskDecision, size = 1): Promise<unknown> =>
    commit(async (transaction) => {
      await tasks.register(transaction)
      const held: readonly HeldTask[] = await tasks.poll(transaction, topic, { size })
      await tasks.complete(transaction, topic, new Map(held.map((task) => [task, decision])))
      await tasks.unregister(transaction)
    })
  const waiting = async (topic: string): Promise<number> =>
    (
      await commit<readonly TaskInfo[]>((transaction) =>
        tasks.page(transaction, topic, { states: ['ready', 'delayed'], size: 10_000 }),
      )
    ).length
  const from = (...args: readonly string[]): string[] => ['taskstream', ...args, '--from', urlOf(source)]
  const plain = (count: number): TaskCreation[] => Array.from({ length: count }, (_, n) => ({ identifier: `${n}` }))

  test('a task keeps all that a worker goes by, and what stays is named', async () => {
    const options = { order: 'priority', condition: 'singular-by-identifier' } as const
    await fill('kept', [{ identifier: 'done' }, { identifier: 'broken' }, { identifier: 'again', maxTries: 5 }], options)
    await decide('kept', TaskDecision.success())
    await decide('kept', TaskDecision.failure('no'))
    await decide('kept', TaskDecision.retry({ afterMs: 3_600_000 }, 'not yet'))
    await fill('kept', [
      { identifier: 'ann', priority: -2, input: '{"n":1}', reference: 'r', headers: { version: 2, tags: { a: 1 } } },
      { identifier: 'ann', externalId: 'own', due: later },
      { identifier: 'bob', deadline: later, maxTries: 3 },
      { identifier: 'signed', maxTries: 3, externalId: 's', headers: { sig: { key: 'k' } } },
      { identifier: 'first' },
    ])
    await commit(async (transaction) => {
      await tasks.deactivate(transaction, 'kept')
      await tasks.limit(transaction, 'kept', { total: 3 })
    })
    const preview = await target.import(...from('kept', '--initialize', '--dry-run'))
    expect(preview).toMatchObject({ moved: 0, before: { there: 6, here: 0 }, after: { there: 6, here: 0 } })
    expect(countsOf(preview.lost)).toEqual({ pause: 1, limits: 1 })
    const done = await target.import(...from('kept', '--initialize'))
    expect(done).toMatchObject({ moved: 6, duplicates: 0, before: { there: 6, here: 0 }, after: { there: 0, here: 6 } })
    expect(countsOf(done.left)).toEqual({ 'failed, expired or suspended': 1 })
    const moved = await target.tasks('kept')
    expect(moved.map(({ identifier, priority, maxTries }) => [identifier, priority, maxTries])).toEqual([
      ['again', 0, 4],
      ['ann', -2, undefined],
      ['ann', 0, undefined],
      ['bob', 0, 3],
      ['signed', 0, 3],
      ['first', 0, undefined],
    ])
    expect(moved[0]).toMatchObject({ externalId: expect.stringMatching(/^@moved:\w+:\d+$/), due: expect.any(String) })
    expect(moved[1]).toMatchObject({ input: '{"n":1}', reference: 'r', headers: { version: 2, tags: { a: 1 } } })
    expect(moved[2]).toMatchObject({ externalId: 'own', due: later.toISOString() })
    expect(moved[3]).toMatchObject({ deadline: later.toISOString() })
    const { out } = await target.taskstream('topic', 'options', 'kept', '-o', 'json')
    expect(JSON.parse(out)).toMatchObject(options)
    for (const [url, action] of [
      [target.url, 'import'],
      [urlOf(source), 'export'],
    ] as const) {
      const { out: audit } = await run(['audit', '-o', 'json', '--url', url])
      const [{ id, ...told }] = JSON.parse(audit) as [{ id: string }]
      expect(told).toMatchObject({ action, topic: 'kept', count: 6 })
      expect((await run(['undo', id, '--url', url])).err).toMatch(/import them/)
    }
  })

  test('a task that others need stays with them', async () => {
    await fill('needed', plain(2))
    await commit(async (transaction) => {
      const [page, other]: readonly TaskInfo[] = await tasks.page(transaction, 'needed')
      const [report] = await tasks.push(transaction, 'needed', [{ identifier: 'report', suspended: true }])
      await tasks.depend(transaction, report!, [{ need: 'page', on: page! }])
      expect(other).toBeDefined()
    })
    await fill('nobody', [])
    expect((await target.import(...from('nobody', '--initialize'))).moved).toBe(0)
    expect((await target.taskstream('topics', '-o', 'name')).out).toContain('nobody')
    const done = await target.import(...from('needed', '--initialize'))
    expect([done.moved, countsOf(done.left)]).toEqual([1, { 'needed by others': 1, blocked: 1 }])
    expect((await target.tasks('needed')).map(({ identifier }) => identifier)).toEqual(['1'])
    expect(await waiting('needed')).toBe(1)
  })

  test('a topic that is polled in another way is refused, and so is the database itself', async () => {
    await fill('alike', plain(3))
    await target.taskstream('topic', 'create', 'alike', '--order', 'lifo')
    const other = await target.taskstream('import', ...from('alike'), '--yes')
    expect([other.code, other.err]).toEqual([5, expect.stringMatching(/"alike".* has order fifo and .* has order lifo/)])
    const url = urlOf(source)
    for (const how of ['--yes', '--dry-run']) {
      const same = await run(['import', ...from('alike'), how, '--url', url])
      expect([same.code, same.err]).toEqual([
        5,
        expect.stringMatching(/is the database of the tasks itself, or a copy of it: both have alike @/),
      ])
    }
    expect(await waiting('alike')).toBe(3)
    const unknown = await target.taskstream('import', ...from('allike'), '--yes')
    expect([unknown.code, unknown.err]).toEqual([3, expect.stringMatching(/--from: no topic "allike".*mean alike/)])
    const elsewhere = async (address: string, ...more: readonly string[]): Promise<[number | null, string]> => {
      const { code, err } = await target.taskstream('import', 'taskstream', 'alike', '--from', address, '--yes', ...more)
      return [code, err]
    }
    const file = `sqlite:${join(folder, 'empty.db')}`
    expect(await elsewhere(file)).toEqual([3, expect.stringMatching(/^error: --from: there is no file .*empty.db\n$/)])
    new DatabaseSync(join(folder, 'empty.db')).close()
    expect(await elsewhere(file)).toEqual([5, expect.stringMatching(/^error: --from: .*empty.db has no tables of taskstream\n$/)])
    expect(await elsewhere(file, '--from-schema', 'other')).toEqual([2, expect.stringMatching(/--from-schema: only/)])
    expect((await target.taskstream('import', ...from('alike'), '--key', 'input.n')).code).toBe(2)
    expect((await target.taskstream('import', 'taskstream', 'alike')).err).toMatch(/Give --from/)
    expect((await target.taskstream('import', 'taskstream', 'alike', '--from', 'shop.db')).err).toMatch(
      /^error: --from names no engine/,
    )
  })

  test('nothing moves while a worker there may be at it, nor past a task for which its identifier waits', async () => {
    await fill('busy', [...plain(3), { identifier: '0' }], { condition: 'singular-by-identifier-suspend-on-failure' })
    const other = source.tasks()
    await commit((transaction) => other.register(transaction))
    const refused = async (reason: RegExp): Promise<void> => {
      for (const how of ['--yes', '--dry-run']) {
        const { code, err } = await target.taskstream('import', ...from('busy', '--initialize'), how)
        expect([code, err]).toEqual([5, expect.stringMatching(reason)])
      }
      expect(await waiting('busy')).toBeGreaterThan(1)
      expect((await target.taskstream('topics', '-o', 'name')).out).not.toContain('busy')
    }
    // It need not have told which topics it processes: they may have been paused, or it has only begun.
    await refused(new RegExp(`${other.owner} may be at work in .*: stop them first`))
    const held = await commit<readonly HeldTask[]>((transaction) => other.poll(transaction, 'busy', { size: 1 }))
    await leave()
    await refused(/1 active task keeps others of the same identifier waiting/)
    await commit((transaction) => other.complete(transaction, 'busy', new Map([[held[0]!, TaskDecision.failure('no')]])))
    await refused(/1 failed task keeps others/)
    await commit((transaction) => tasks.redrive(transaction, 'busy'))
    const [first] = await commit<readonly TaskInfo[]>((transaction) => tasks.page(transaction, 'busy', { states: ['ready'] }))
    await fill('elsewhere', [{ identifier: 'report', suspended: true }])
    const [report] = await commit<readonly TaskInfo[]>((transaction) => tasks.page(transaction, 'elsewhere'))
    await commit((transaction) => tasks.depend(transaction, report!, [{ need: 'it', on: first! }]))
    await refused(/1 waiting task is needed by others/)
    await commit((transaction) => tasks.cancel(transaction, 'elsewhere', report!.sequence))
    expect((await target.import(...from('busy', '--initialize'))).moved).toBe(4)
  })

  test('there, back and forth again, each task is there once', async () => {
    await fill('to and fro', [{ identifier: 'a', externalId: 'own' }, { identifier: 'b' }])
    const back = ['import', 'taskstream', 'to and fro', '--from', target.url, '--url', urlOf(source), '--yes', '-o', 'json']
    for (let turn = 0; turn < 2; turn++) {
      expect(await target.import(...from('to and fro', '--initialize'))).toMatchObject({ moved: 2, duplicates: 0 })
      expect(await waiting('to and fro')).toBe(0)
      const { out } = await run(back)
      expect(JSON.parse(out)).toMatchObject({ moved: 2, duplicates: 0, after: { there: 0, here: 2 } })
    }
  })

  test('killed at any moment and given again, each task is here once, in its order', async () => {
    await fill('many', plain(3_000))
    const args = ['import', ...from('many', '--initialize', '--portion', '5', '--yes'), '--url', target.url]
    for (let kills = 0; kills < 3; kills++) {
      const before = await waiting('many')
      // The commands before were quicker than this process.
      if (before === 0) break
      const command = follow(args)
      await expect.poll(() => waiting('many'), { interval: 1, timeout: 30_000 }).toBeLessThan(before)
      // The portions are small, so that it is at work on others.
      await command[Symbol.asyncDispose]()
    }
    // A server notices some time later that a process was killed, and keeps what it had locked until then.
    await expect
      .poll(
        async () => {
          const { code, err } = await run([...args, '--portion', '500'])
          expect([code, code === 0 ? '' : err]).toEqual([0, ''])
          return await waiting('many')
        },
        { timeout: 60_000 },
      )
      .toBe(0)
    const moved = (await target.tasks('many')).map(({ identifier }) => identifier)
    expect(moved).toEqual(plain(3_000).map(({ identifier }) => identifier))
    const again = await run([...args, '-o', 'json'])
    expect(JSON.parse(again.out)).toMatchObject({ moved: 0 })
  })

  /** What a run leaves that dies between its two commits: each task on both sides. */
  const leaveTwice = async (topic: string): Promise<void> => {
    await fill(topic, plain(3))
    const id = await commit<string>((transaction) => tasks.record(transaction, { action: 'export', topic, count: 0 }))
    const inside = await commit<readonly TaskInfo[]>((transaction) => tasks.page(transaction, topic))
    const stdin = inside
      .map(({ identifier, sequence }) => JSON.stringify({ identifier, externalId: `@moved:${id}:${sequence}` }))
      .join('\n')
    await run(['push', topic, '--stdin', '--initialize', '--url', target.url], { stdin })
  }

  test('what a run before had moved when it lost the end of its transaction is recognized, on the way back too', async () => {
    await leaveTwice('twice')
    expect(await target.import(...from('twice'))).toMatchObject({ moved: 3, duplicates: 3, after: { there: 0, here: 3 } })
    await leaveTwice('returned')
    const { out } = await run([
      'import',
      'taskstream',
      'returned',
      '--from',
      target.url,
      '--url',
      urlOf(source),
      '--yes',
      '-o',
      'json',
    ])
    expect(JSON.parse(out)).toMatchObject({ moved: 3, duplicates: 3, after: { there: 0, here: 3 } })
    expect(await waiting('returned')).toBe(3)
  })

  test('tasks of two databases that have the same numbers are others, and so is one that has an external id in common', async () => {
    const other = `sqlite:${join(folder, 'other.db')}`
    await run(['migrate', 'up', '--url', other])
    await run(['push', 'merged', '0', '1', '--initialize', '--url', other])
    await fill('merged', plain(2))
    await target.import(...from('merged', '--initialize'))
    const merged = await target.import('taskstream', 'merged', '--from', other)
    expect(merged).toMatchObject({ moved: 2, duplicates: 0, after: { there: 0, here: 4 } })
    await fill('same', [
      { identifier: 'a', externalId: 'x', input: 'new' },
      { identifier: 'b', externalId: 'y', input: 'old' },
      { identifier: 'c' },
    ])
    const stdin = ['a', 'b'].map((identifier, n) => JSON.stringify({ identifier, externalId: 'xy'[n], input: 'old' })).join('\n')
    await run(['push', 'same', '--stdin', '--initialize', '--url', target.url], { stdin })
    const done = await target.import(...from('same'))
    expect(done).toMatchObject({ moved: 2, duplicates: 1, after: { there: 1, here: 3 } })
    expect(countsOf(done.left)).toEqual({ 'with the external id of another task here': 1 })
    expect((await target.import(...from('same'))).moved).toBe(0)
  })

  test('a copy of a database is refused, also after its first tasks have ended', async () => {
    const [url, copy] = ['original', 'copy'].map((name) => `sqlite:${join(folder, `${name}.db`)}`) as [string, string]
    await run(['migrate', 'up', '--url', url])
    await run(['push', 'copied', 'a', 'b', 'c', '--initialize', '--url', url])
    const database = new DatabaseSync(join(folder, 'original.db'))
    database.exec(`vacuum into '${join(folder, 'copy.db')}'`)
    database.close()
    await run(['purge', 'copied', '--state', 'ready', '--limit', '1', '--yes', '--url', copy])
    const { code, err } = await run(['import', 'taskstream', 'copied', '--from', url, '--url', copy, '--yes'])
    expect([code, err]).toEqual([5, expect.stringMatching(/or a copy of it: both have copied @2/)])
  })

  test('few large tasks are moved at a time, however many are asked for', async () => {
    await fill(
      'large',
      Array.from({ length: 3 }, (_, n) => ({ identifier: `${n}`, input: String(n).repeat(9_000_000) })),
    )
    const done = await target.import(...from('large', '--initialize', '--portion', '20000'))
    expect(done).toMatchObject({ moved: 3, after: { there: 0, here: 3 } })
  })

  test('a file of SQLite moves here, and a job without an id is still one', async () => {
    const url = `sqlite:${join(folder, 'shop.db')}`
    await run(['migrate', 'up', '--url', url])
    const stdin = plain(250)
      .map((creation) => JSON.stringify({ ...creation, headers: { job: 'mail' } }))
      .join('\n')
    await run(['push', 'mail', '--stdin', '--initialize', '--url', url], { stdin })
    const { code, out } = await target.taskstream(
      'import',
      'taskstream',
      'mail',
      '--from',
      url,
      '--initialize',
      '--yes',
      '-o',
      'json',
    )
    expect([code, JSON.parse(out) as Imported]).toMatchObject([0, { moved: 250, after: { there: 0, here: 250 } }])
    const moved = await target.tasks('mail')
    expect(moved.map(({ identifier }) => identifier)).toEqual(plain(250).map(({ identifier }) => identifier))
    expect(moved.every(({ externalId }) => externalId.startsWith('@'))).toBe(true)
  })
})
