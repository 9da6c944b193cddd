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
    await register()
    folder = mkdtempSync(join(tmpdir(), 'taskstream-import-'))
  })
  afterAll(async () => {
    await target[Symbol.asyncDispose]()
    await source[Symbol.asyncDispose]()
    rmSync(folder, { recursive: true, force: true })
  })

  const commit = <Result>(work: (transaction: AnyTransaction) => unknown): Promise<Result> =>
    source.transactions((transaction) => work(transaction) as Promise<Result>)
  /** Registers the owner of these tests, which says that it works on no topic. */
  const register = (): Promise<unknown> =>
    commit(async (transaction) => {
      await tasks.register(transaction)
      await tasks.report(transaction, { kind: 'node', host: 'h', pid: 1, leaseMs: 30_000, topics: [] })
    })
  const fill = (topic: string, creations: readonly TaskCreation[], options?: TopicOptions): Promise<unknown> =>
    commit(async (transaction) => {
      await tasks.initialize(transaction, topic, options)
      await tasks.push(transaction, topic, creations)
    })
  const decide = (topic: string, decision: TaskDecision, size = 1): Promise<unknown> =>
    commit(async (transaction) => {
      const held: readonly HeldTask[] = await tasks.poll(transaction, topic, { size })
      await tasks.complete(transaction, topic, new Map(held.map((task) => [task, decision])))
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
    expect(moved[0]).toMatchObject({ externalId: expect.stringMatching(/^@moved:\d+:\d+$/), due: expect.any(String) })
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
    const report = (stopped: boolean): Promise<unknown> =>
      commit((transaction) =>
        other.report(transaction, { kind: 'node', host: 'h', pid: 7, leaseMs: 30_000, topics: [{ topic: 'busy' }], stopped }),
      )
    await commit((transaction) => other.register(transaction))
    const refused = async (reason: RegExp): Promise<void> => {
      const { code, err } = await target.taskstream('import', ...from('busy', '--initialize'), '--yes')
      expect([code, err]).toEqual([5, expect.stringMatching(reason)])
      expect(await waiting('busy')).toBeGreaterThan(1)
    }
    // It has told nothing of itself yet.
    await refused(/may still be at work/)
    await report(false)
    await refused(new RegExp(`${other.owner} may still be at work on "busy" in .*stop what works there first`))
    await report(true)
    const held = await commit<readonly HeldTask[]>((transaction) => other.poll(transaction, 'busy', { size: 1 }))
    await refused(/1 active task keeps others of the same identifier waiting/)
    await commit((transaction) => other.complete(transaction, 'busy', new Map([[held[0]!, TaskDecision.failure('no')]])))
    await refused(/1 failed task keeps others/)
    await commit((transaction) => tasks.redrive(transaction, 'busy'))
    expect((await target.import(...from('busy', '--initialize'))).moved).toBe(4)
  })

  test('what a dead worker held moves too', async () => {
    await fill('left behind', plain(2), { condition: 'singular-by-identifier' })
    const dead = source.tasks()
    await commit(async (transaction) => {
      await dead.register(transaction)
      await dead.poll(transaction, 'left behind', { size: 1 })
    })
    // A silence of a minute and more is that of a dead one.
    await commit((transaction) => tasks.purgeOwners(transaction, 0))
    expect(await target.import(...from('left behind', '--initialize'))).toMatchObject({ moved: 2 })
    await register()
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
          const { code, err } = await run(args)
          expect([code, code === 0 ? '' : err]).toEqual([0, ''])
          return await waiting('many')
        },
        { timeout: 30_000 },
      )
      .toBe(0)
    const moved = (await target.tasks('many')).map(({ identifier }) => identifier)
    expect(moved).toEqual(plain(3_000).map(({ identifier }) => identifier))
    const again = await run([...args, '-o', 'json'])
    expect(JSON.parse(again.out)).toMatchObject({ moved: 0 })
  })

  test('what a run before had moved when it lost the end of its transaction is recognized', async () => {
    await fill('twice', plain(3))
    const inside = await commit<readonly TaskInfo[]>((transaction) => tasks.page(transaction, 'twice'))
    // What the lost run has left here: the same tasks, pushed and committed.
    const names = inside.map(({ sequence, created }) => `@moved:${sequence}:${created.getTime()}`)
    await target.taskstream('topic', 'create', 'twice')
    const stdin = names.map((externalId, n) => JSON.stringify({ identifier: `${n}`, externalId })).join('\n')
    await run(['push', 'twice', '--stdin', '--url', target.url], { stdin })
    expect(await target.import(...from('twice'))).toMatchObject({ moved: 3, duplicates: 3, after: { there: 0, here: 3 } })
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
