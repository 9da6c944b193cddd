/** What processes tell of themselves, and what people have done. */
import type { Activation, NodeInfo, NodeReport, NodesOptions, RecordedAction, ReportAnswer } from '@taskstream/task-api'
import { sql } from '@taskstream/task-sql'
import { expect, test } from 'vitest'
import { testClock } from '../test-clock.ts'
import { part } from './engine.ts'
import type { Part, Tasks } from './engine.ts'
import { codeOf, useFixture } from './fixture.ts'

export const nodes: Part = part('a process', (engine) => {
  const clock = testClock(new Date('2026-01-01T00:00:00.000Z'))
  const fixture = useFixture(engine, { clock: clock.now })
  const told: NodeReport = { kind: 'node', host: 'h', pid: 7, leaseMs: 30_000, topics: [] }

  const list = (options?: NodesOptions): Promise<readonly NodeInfo[]> =>
    fixture.commit<readonly NodeInfo[]>((transaction) => fixture.tasks.nodes(transaction, options))
  const report = async (by: Tasks, more: Partial<NodeReport> = {}): Promise<boolean> => {
    const { quiet } = await fixture.commit<{ quiet: boolean }>((transaction) => by.report(transaction, { ...told, ...more }))
    return quiet
  }
  const find = async (owner: string): Promise<NodeInfo | undefined> => (await list()).find((each) => each.owner === owner)

  test('tells what it is, and is silent, dead or stopped when it is', async () => {
    const owner = await fixture.owner('worker')
    const since = new Date('2025-12-31T23:59:00.000Z')
    const error = { activity: 'poll', message: 'no', since }
    const newer = { activity: 'handle', message: 'version 2', code: 'INPUT_NEWER', since }
    const topics = [{ topic: 'mail', mode: 'leased', size: 10, error, newer }] as const
    await report(owner, { topics, blockedMs: 5 })
    expect(await find(owner.owner)).toEqual({
      owner: owner.owner,
      name: 'worker',
      life: 'living',
      quiet: false,
      heartbeat: clock.now(),
      report: { ...told, topics, blockedMs: 5 },
      ...(process.env['npm_package_version'] !== undefined && { release: process.env['npm_package_version'] }),
      started: clock.now(),
      reported: clock.now(),
    })
    clock.advance(20_000)
    expect((await find(owner.owner))?.life).toBe('silent')
    clock.advance(20_000)
    expect((await find(owner.owner))?.life).toBe('dead')
    await fixture.commit((transaction) => owner.heartbeat(transaction))
    await report(owner)
    expect(await find(owner.owner)).toMatchObject({ life: 'living', reported: clock.now(), report: { topics: [] } })
    await report(owner, { stopped: true })
    expect((await find(owner.owner))?.life).toBe('stopped')
  })

  test('is found by a topic, and for a time after it has gone', async () => {
    const [one, other] = [await fixture.owner(), await fixture.owner()]
    await report(one, { topics: [{ topic: fixture.topic }] })
    await report(other)
    expect((await list({ topic: fixture.topic })).map(({ owner }) => owner)).toEqual([one.owner])
    await fixture.commit((transaction) => one.unregister(transaction))
    clock.advance(60_000)
    expect((await list({ topic: fixture.topic })).map(({ life }) => life)).toEqual(['dead'])
    expect(await list({ topic: fixture.topic, withinMs: 59_999 })).toEqual([])
    // Whoever is registered is always shown.
    expect((await list({ withinMs: 0 })).map(({ owner }) => owner)).toContain(other.owner)
  })

  test('that fires timers stands beside the node of its repository, and lives by its reports', async () => {
    const owner = await fixture.owner('both')
    const scheduler = `${owner.owner}/timers`
    await report(owner, { topics: [{ topic: 'mail' }] })
    await report(owner, { kind: 'scheduler', leaseMs: 90_000 })
    expect(await find(owner.owner)).toMatchObject({ life: 'living', report: { kind: 'node', leaseMs: 30_000 } })
    const lives = async (): Promise<unknown[]> => {
      const { life, heartbeat, reported, report: last, name } = (await find(scheduler))!
      return [life, heartbeat, reported, last?.kind, name]
    }
    const from = clock.now()
    clock.advance(45_000)
    expect(await lives()).toEqual(['living', undefined, from, 'scheduler', 'both'])
    clock.advance(45_000)
    expect((await lives())[0]).toBe('silent')
    clock.advance(1)
    expect((await lives())[0]).toBe('dead')
    expect((await find(owner.owner))?.life).toBe('dead')
    await report(owner, { kind: 'scheduler', leaseMs: 90_000, stopped: true })
    expect((await lives())[0]).toBe('stopped')
    // One is asked to be quiet without the other.
    await fixture.commit((transaction) => fixture.tasks.quiet(transaction, scheduler))
    expect([await report(owner), await report(owner, { kind: 'scheduler' })]).toEqual([false, true])
  })

  test('is told whether its release works on the tables', async () => {
    const owner = await fixture.owner()
    const answer = await fixture.commit<ReportAnswer>((transaction) => owner.report(transaction, told))
    expect(answer).toEqual({ quiet: false })
  })

  test('of an older release is shown by its heartbeat alone', async () => {
    const owner = await fixture.owner('old')
    expect(await find(owner.owner)).toEqual({
      owner: owner.owner,
      name: 'old',
      life: 'living',
      quiet: false,
      heartbeat: clock.now(),
    })
  })

  test('is forgotten a week after it was heard of, and not before', async () => {
    const owner = await fixture.owner()
    await report(owner)
    await fixture.commit((transaction) => owner.unregister(transaction))
    const week = 7 * 86_400_000
    const kept = async (): Promise<boolean> => {
      await fixture.commit((transaction) => fixture.tasks.purgeOwners(transaction, 1_000))
      return (await list({ withinMs: 10 * week })).some((each) => each.owner === owner.owner)
    }
    clock.advance(week)
    expect(await kept()).toBe(true)
    clock.advance(1)
    expect(await kept()).toBe(false)
  })

  test('is asked to be quiet, and is told so when it reports', async () => {
    const owner = await fixture.owner()
    const ask = (name: string, quiet?: boolean): Promise<boolean> =>
      fixture.commit<boolean>((transaction) => fixture.tasks.quiet(transaction, name, quiet))
    expect(await ask(owner.owner)).toBe(false)
    expect(await report(owner)).toBe(false)
    expect([await ask(owner.owner), await ask(owner.owner)]).toEqual([true, true])
    expect((await find(owner.owner))?.quiet).toBe(true)
    expect(await report(owner)).toBe(true)
    expect(await ask(owner.owner, false)).toBe(true)
    expect(await report(owner)).toBe(false)
    expect(await ask('nobody')).toBe(false)
  })

  test('that tells nonsense is refused', async () => {
    const owner = await fixture.owner()
    for (const wrong of [{ kind: 'x' }, { pid: -1 }, { leaseMs: 1.5 }, { topics: 'mail' }, { host: '' }])
      expect(await codeOf(() => report(owner, wrong as never))).toBe('ARGUMENT_INVALID')
    const long = { topics: [{ topic: 'x'.repeat(300_000) }] }
    expect(await codeOf(() => report(owner, long))).toBe('ARGUMENT_INVALID')
  })

  test('is shown though somebody has spoilt what it told', async () => {
    const owner = await fixture.owner('spoilt')
    await report(owner)
    const spoil = fixture.tasks.verb(function* ({ dialect }, topics: string, text: string) {
      yield sql`update ${dialect.tables.node} set topics = ${topics}, report = ${text} where owner = ${owner.owner}`
    })
    for (const [topics, text] of [
      ['no JSON', '{'],
      ['{}', 'null'],
      ['7', '[]'],
    ] as const) {
      await fixture.commit((transaction) => spoil(transaction, topics, text))
      expect(await find(owner.owner)).toMatchObject({ life: 'living', report: { kind: 'node', pid: 7, topics: [] } })
    }
  })

  test('is not the only one that acts: what people do is recorded, the latest first', async () => {
    const { tasks, topic, commit } = fixture
    const actions = (options?: Parameters<Tasks['actions']>[1]): Promise<readonly RecordedAction[]> =>
      commit<readonly RecordedAction[]>((transaction) => tasks.actions(transaction, options))
    const first = { action: 'redrive', topic, actor: 'kari', via: 'cli', note: 'fixed', count: 2, sequences: [[1, 2]] } as const
    const id = await commit<string>((transaction) => tasks.record(transaction, { ...first, filter: { states: ['failed'] } }))
    const at = clock.now()
    clock.advance(1_000)
    const second = await commit<string>((transaction) => tasks.record(transaction, { action: 'undo', count: 0, undoes: id }))
    expect(await actions({ limit: 2 })).toEqual([
      { id: second, at: clock.now(), action: 'undo', count: 0, undoes: id },
      { id, at, ...first, filter: { states: ['failed'] } },
    ])
    expect(await actions({ topic })).toMatchObject([{ id }])
    expect(await actions({ id: second })).toMatchObject([{ action: 'undo' }])
    expect(await actions({ withinMs: 999 })).toMatchObject([{ id: second }])
    expect(await codeOf(() => commit<unknown>((tx) => tasks.record(tx, { action: '', count: 0 })))).toBe('ARGUMENT_INVALID')
  })

  test('that is paused says who has paused it, and why', async () => {
    const { tasks, topic, commit } = fixture
    const activation = async (): Promise<Activation | undefined> => {
      const all = await commit<ReadonlyMap<string, Activation>>((transaction) => tasks.activations(transaction))
      return all.get(topic)
    }
    const told = { actor: 'kari', note: 'the bank is down' }
    await commit((transaction) => tasks.deactivate(transaction, topic, told))
    expect(await activation()).toEqual({ active: false, changed: clock.now(), ...told })
    await commit((transaction) => tasks.activate(transaction, topic))
    expect(await activation()).toEqual({ active: true, changed: clock.now() })
    expect(await codeOf(() => commit<unknown>((tx) => tasks.deactivate(tx, topic, { note: 'x'.repeat(501) })))).toBe(
      'ARGUMENT_INVALID',
    )
  })
})
