/** What an operator does to processes, timers and topics as a whole is recorded in the transaction that does it, and only that. */
import { addTimer, audit, createTopic, removeTimers, repairTopic, switchNode, undo } from '@taskstream/task-operations'
import type { AuditEntry, Operator } from '@taskstream/task-operations'
import { periodicTasks } from '@taskstream/task-scheduler'
import { raw, sql } from '@taskstream/task-sql'
import { codeOf, useFixture } from '@taskstream/task-testing/suite'
import { describe, expect, test } from 'vitest'
import { canRun, engine, isOracle, isPostgres } from '../subject.ts'

describe.skipIf(!canRun)('an action of an operator', () => {
  // Each look at the clock is later than the one before, so the audit has the actions in their order.
  let at = Date.UTC(2026, 0, 1)
  const fixture = useFixture(engine, { clock: () => new Date((at += 1)) })
  const operator = (): Operator =>
    ({ tasks: fixture.tasks, transactions: fixture.subject.transactions, actor: 'kari', via: 'test' }) as unknown as Operator
  const entry = async (id: string | undefined): Promise<AuditEntry | undefined> =>
    (await audit(operator(), { limit: 1_000 })).find((each) => each.id === id)
  const gone = new Error('the connection is gone')
  /** Its transactions are rolled back at their end. */
  const breaking = (): Operator => ({
    ...operator(),
    transactions: ((work: (transaction: unknown) => unknown) =>
      operator().transactions(async (transaction) => {
        await work(transaction)
        throw gone
      })) as Operator['transactions'],
  })
  /** Does something in a transaction that is rolled back, and finds neither the change nor a record. */
  const leavesNothing = async (act: (operator: Operator) => Promise<unknown>, look: () => Promise<unknown>): Promise<void> => {
    const before = [await look(), (await audit(operator(), { limit: 1_000 })).length]
    await expect(act(breaking())).rejects.toThrow(gone)
    expect([await look(), (await audit(operator(), { limit: 1_000 })).length]).toEqual(before)
  }

  test('has a process take no more tasks, or take them again, and is undone unless somebody has switched it since', async () => {
    await fixture.nextTopic()
    const node = await fixture.owner('worker')
    const report = { kind: 'node', host: 'h', pid: 1, leaseMs: 30_000, topics: [{ topic: fixture.topic }] } as const
    const isQuiet = async (): Promise<boolean> =>
      ((await fixture.commit((tx) => node.report(tx, report))) as { readonly quiet: boolean }).quiet
    expect(await isQuiet()).toBe(false)
    await leavesNothing((by) => switchNode(by, node.owner, 'quiet'), isQuiet)
    const quieted = await switchNode({ ...operator(), note: 'is to be moved' }, node.owner, 'quiet')
    expect(await isQuiet()).toBe(true)
    expect(await entry(quieted.id)).toMatchObject({
      action: 'node quiet',
      filter: { owner: node.owner },
      actor: 'kari',
      via: 'test',
      note: 'is to be moved',
      undone: 'no',
    })
    expect(await switchNode(operator(), node.owner, 'quiet')).toEqual({ changed: false })
    expect(await undo(operator(), quieted.id!, { dryRun: true })).toMatchObject({ undone: 1 })
    expect(await isQuiet()).toBe(true)
    expect(await undo(operator(), quieted.id!)).toMatchObject({ action: 'node quiet', undone: 1, changed: 0 })
    expect([await isQuiet(), (await entry(quieted.id))?.undone]).toEqual([false, 'yes'])
    expect(await codeOf(() => undo(operator(), quieted.id!))).toBe('ACTION_UNDONE')
    const again = await switchNode(operator(), node.owner, 'quiet')
    const resumed = await switchNode(operator(), node.owner, 'resume')
    expect(await undo(operator(), again.id!)).toMatchObject({ undone: 0, changed: 1 })
    expect(await isQuiet()).toBe(false)
    expect(await undo(operator(), resumed.id!)).toMatchObject({ undone: 1 })
    expect(await isQuiet()).toBe(true)
    expect(await codeOf(() => switchNode(operator(), 'nobody', 'quiet'))).toBe('OWNER_UNKNOWN')
  })

  test('adds, changes and removes timers, and an undo is refused by name', async () => {
    await fixture.nextTopic()
    const { topic } = fixture
    const scope = `scope of ${topic}`
    const timers = periodicTasks(fixture.tasks, { scope })
    const list = async (): Promise<unknown> => await fixture.commit<unknown>((tx) => timers.list(tx))
    await leavesNothing((by) => addTimer(by, scope, { id: 'one', timer: 'daily', topic }), list)
    const added = await addTimer(operator(), scope, { id: 'one', timer: 'daily', topic })
    await addTimer(operator(), scope, { id: 'two', timer: 'daily', topic })
    expect(await codeOf(() => addTimer(operator(), scope, { id: 'one', timer: 'daily', topic }))).toBe('TIMER_DUPLICATE')
    const changed = await addTimer(operator(), scope, { id: 'one', timer: 'yearly', topic }, true)
    expect(await addTimer(operator(), scope, { id: 'one', timer: 'yearly', topic }, true)).toEqual({
      changed: false,
      done: 'unchanged',
    })
    await leavesNothing((by) => removeTimers(by, scope, ['one', 'two']), list)
    expect(await codeOf(() => removeTimers(operator(), scope, ['one', 'nobody']))).toBe('TIMER_UNKNOWN')
    const removed = await removeTimers(operator(), scope, ['one', 'two'])
    expect(await list()).toEqual([])
    for (const [id, action, ids] of [
      [added.id, 'timer add', ['one']],
      [changed.id, 'timer change', ['one']],
      [removed.id, 'timer remove', ['one', 'two']],
    ] as const) {
      expect(await entry(id)).toMatchObject({ action, filter: { scope, ids }, actor: 'kari' })
      expect(await codeOf(() => undo(operator(), id!))).toBe('ACTION_FINAL')
    }
    expect((await audit(operator(), { topic })).map(({ action }) => action)).toEqual(['timer change', 'timer add', 'timer add'])
  })

  test('makes a topic known once, and an undo is refused by name', async () => {
    const topic = `made ${fixture.topic}`
    const topics = async (): Promise<unknown> => await fixture.commit<unknown>((tx) => fixture.tasks.topics(tx))
    await leavesNothing((by) => createTopic(by, topic), topics)
    const { id } = await createTopic(operator(), topic, { order: 'priority' })
    expect(await createTopic(operator(), topic)).toEqual({ changed: false })
    expect(await audit(operator(), { topic })).toMatchObject([{ id, action: 'topic create' }])
    expect(await codeOf(() => undo(operator(), id!))).toBe('ACTION_FINAL')
    expect(await codeOf(() => createTopic(operator(), topic, { order: 'lifo' }))).toBe('TOPIC_DIFFERENT')
  })

  test.skipIf(isOracle || !engine.adapts)('repairs a topic, and is recorded only if anything was wrong', async () => {
    await fixture.nextTopic({ order: 'lifo' })
    const { topic } = fixture
    await fixture.push('a', 'b')
    expect(await repairTopic(operator(), topic)).toMatchObject({ corrected: 0 })
    expect(await audit(operator(), { topic })).toEqual([])
    // A restore from a dump of rows leaves them so.
    const [table, off] = [raw(isPostgres ? 'taskstream.task' : 'task'), raw(isPostgres ? 'false' : '0')]
    await fixture.commit((tx) => fixture.subject.execute(tx, sql`update ${table} set listed = ${off} where topic = ${topic}`))
    const { id, corrected } = await repairTopic(operator(), topic)
    expect(corrected).toBeGreaterThan(0)
    expect(await audit(operator(), { topic })).toMatchObject([{ id, action: 'repair', count: corrected }])
    expect(await codeOf(() => undo(operator(), id!))).toBe('ACTION_FINAL')
  })
})
