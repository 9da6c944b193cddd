/** A completion takes effect for tasks that are still held, and reports the others as lost. */
import { TaskDecision, taskLimits } from '@taskstream/task-api'
import type { Completion, HeldTask, TaskInfo } from '@taskstream/task-api'
import { beforeAll, expect, test } from 'vitest'
import { useFixture } from './fixture.ts'
import { part } from './engine.ts'
import type { Part, Tasks } from './engine.ts'

export const complete: Part = part('complete', (engine) => {
  const fixture = useFixture(engine)
  let rival: Tasks
  beforeAll(async () => {
    rival = await fixture.owner()
  })
  const held = async (...identifiers: string[]): Promise<HeldTask[]> => {
    await fixture.commit((transaction) => fixture.tasks.push(transaction, fixture.topic, identifiers))
    return fixture.commit<HeldTask[]>((transaction) =>
      fixture.tasks.poll(transaction, fixture.topic, { size: identifiers.length }),
    )
  }
  const complete = (by: Tasks, decisions: ReadonlyMap<HeldTask, TaskDecision>, strict = false): Promise<Completion> =>
    fixture.commit<Completion>((transaction) => by.complete(transaction, fixture.topic, decisions, { strict }))
  const info = (task: HeldTask): Promise<TaskInfo | undefined> =>
    fixture.commit<TaskInfo | undefined>((transaction) => fixture.tasks.task(transaction, fixture.topic, task.sequence))

  test('cuts a message that is too long between two characters, and stores the rest of the batch', async () => {
    const [a, b, c] = await held('a', 'b', 'c')
    const long = '😀'.repeat(taskLimits.outputLength)
    await complete(
      fixture.tasks,
      new Map([
        [a!, TaskDecision.success(long)],
        [b!, TaskDecision.success(`x${long}`)],
        [c!, TaskDecision.success()],
      ]),
    )
    const outputs = [(await info(a!))?.output ?? '', (await info(b!))?.output ?? '']
    for (const output of outputs) expect(output).toMatch(/^x?(😀)+…$/u)
    expect(outputs.map(({ length }) => length)).toEqual([taskLimits.outputLength - 1, taskLimits.outputLength])
    expect(await info(c!)).toMatchObject({ state: 'succeeded' })
  })

  test('stores each decision as a state, with its message as the output', async () => {
    const [a, b, c, d] = await held('a', 'b', 'c', 'd')
    const decisions = new Map([
      [a!, TaskDecision.success('done "well", {ok}\n')],
      [b!, TaskDecision.failure(new Error('broken'))],
      [c!, TaskDecision.suspension()],
      [d!, TaskDecision.filter('gone')],
    ])
    const { completed, lost } = await complete(fixture.tasks, decisions)
    expect([completed, lost]).toEqual([[a, b, c, d], []])
    expect(await info(a!)).toMatchObject({
      state: 'succeeded',
      output: 'done "well", {ok}\n',
      owner: fixture.tasks.owner,
      completed: expect.any(Date),
    })
    expect(await info(b!)).toMatchObject({ state: 'failed', output: expect.stringContaining('Error: broken') })
    expect(await info(c!)).toMatchObject({ state: 'suspended' })
    expect((await info(c!))?.output).toBeUndefined()
    expect(await info(d!)).toMatchObject({ state: 'filtered', output: 'gone' })
  })

  test('of nothing writes nothing', async () => {
    expect(await complete(fixture.tasks, new Map())).toEqual({ completed: [], lost: [] })
  })

  test('that rolls back leaves the tasks held', async () => {
    const [a] = await held('a')
    await fixture
      .commit(async (transaction) => {
        await fixture.tasks.complete(transaction, fixture.topic, new Map([[a!, TaskDecision.success()]]))
        throw new Error('no')
      })
      .catch(() => {})
    expect(await info(a!)).toMatchObject({ state: 'active' })
    expect((await complete(fixture.tasks, new Map([[a!, TaskDecision.success()]]))).completed).toEqual([a])
  })

  test('reports a task that another owner has taken up as lost, and completes the rest', async () => {
    const [a, b] = await held('a', 'b')
    await fixture.commit((transaction) => fixture.tasks.handBack(transaction, fixture.topic, [a!]))
    const [taken] = await fixture.commit<HeldTask[]>((transaction) => rival.poll(transaction, fixture.topic))
    const decisions = new Map([a!, b!].map((task) => [task, TaskDecision.success('late')]))
    expect(await complete(fixture.tasks, decisions)).toEqual({ completed: [b], lost: [a] })
    expect(await info(a!)).toMatchObject({ state: 'active', owner: rival.owner, attempt: 2 })
    expect((await complete(rival, new Map([[taken!, TaskDecision.success('mine')]]))).completed).toEqual([taken])
    expect(await info(a!)).toMatchObject({ state: 'succeeded', output: 'mine' })
  })

  test('refuses an earlier attempt of the same owner', async () => {
    const [a] = await held('a')
    await fixture.commit((transaction) => fixture.tasks.handBack(transaction, fixture.topic, [a!]))
    const [again] = await fixture.commit<HeldTask[]>((transaction) => fixture.tasks.poll(transaction, fixture.topic))
    expect((await complete(fixture.tasks, new Map([[a!, TaskDecision.failure('stale')]]))).lost).toEqual([a])
    expect((await complete(fixture.tasks, new Map([[again!, TaskDecision.success()]]))).completed).toEqual([again])
    // A batch may mix attempts: each task is judged by its own.
    const [b, c] = await held('b', 'c')
    const stale: HeldTask = { ...c!, lease: again!.lease }
    const mixed = new Map([b!, stale].map((task) => [task, TaskDecision.success()]))
    expect(await complete(fixture.tasks, mixed)).toEqual({ completed: [b], lost: [stale] })
  })

  test('takes a task that has been through JSON', async () => {
    const [a] = await held('a')
    const read = JSON.parse(JSON.stringify(a)) as HeldTask
    expect((await complete(fixture.tasks, new Map([[read, TaskDecision.success()]]))).completed).toEqual([read])
    expect(await info(a!)).toMatchObject({ state: 'succeeded' })
  })

  test('refuses another owner, whatever it knows of the task', async () => {
    const [a] = await held('a')
    expect((await complete(rival, new Map([[a!, TaskDecision.success('stolen')]]))).lost).toEqual([a])
    expect(await fixture.commit((transaction) => rival.hold(transaction, fixture.topic, [a!]))).toEqual({ held: [], lost: [a] })
    expect(await fixture.commit((transaction) => rival.handBack(transaction, fixture.topic, [a!]))).toEqual({
      completed: [],
      lost: [a],
    })
    expect(await info(a!)).toMatchObject({ state: 'active', owner: fixture.tasks.owner, attempt: 1 })
    expect((await complete(fixture.tasks, new Map([[a!, TaskDecision.success()]]))).completed).toEqual([a])
  })

  test('reports a second completion as lost, and keeps the first', async () => {
    const [a] = await held('a')
    await complete(fixture.tasks, new Map([[a!, TaskDecision.success('first')]]))
    expect((await complete(fixture.tasks, new Map([[a!, TaskDecision.failure('second')]]))).lost).toEqual([a])
    expect(await info(a!)).toMatchObject({ state: 'succeeded', output: 'first' })
  })

  test('throws TASK_LOST under strict, and nothing is completed when the caller rolls back', async () => {
    const [a, b] = await held('a', 'b')
    await fixture.commit((transaction) => fixture.tasks.handBack(transaction, fixture.topic, [a!]))
    const decisions = new Map([a!, b!].map((task) => [task, TaskDecision.success()]))
    await expect(complete(fixture.tasks, decisions, true)).rejects.toMatchObject({ code: 'TASK_LOST', data: { lost: [a] } })
    expect(await info(b!)).toMatchObject({ state: 'active' })
  })

  test('in two steps hands over what is still held, and then loses none of it', async () => {
    const [a, b, c] = await held('a', 'b', 'c')
    await fixture.commit((transaction) => fixture.tasks.handBack(transaction, fixture.topic, [b!]))
    await fixture.commit(async (transaction) => {
      const holding = await fixture.tasks.hold(transaction, fixture.topic, [c!, a!, b!])
      expect(holding).toEqual({ held: [a, c], lost: [b] })
      const decisions = new Map(holding.held.map((task) => [task, TaskDecision.success()]))
      expect((await fixture.tasks.complete(transaction, fixture.topic, decisions)).completed).toEqual([a, c])
    })
  })

  test('of a retry suspends until it is due, keeps the place in order, and fails when no tries are left', async () => {
    await fixture.commit((transaction) => fixture.tasks.push(transaction, fixture.topic, [{ identifier: 'a', maxTries: 2 }, 'b']))
    const next = async (): Promise<HeldTask> => {
      const [task] = await fixture.commit<HeldTask[]>((transaction) => fixture.tasks.poll(transaction, fixture.topic))
      return task!
    }
    const first = await next()
    await complete(fixture.tasks, new Map([[first, TaskDecision.retry({ afterMs: 0 }, 'once more')]]))
    expect(await info(first)).toMatchObject({ state: 'suspended', due: expect.any(Date), output: 'once more' })
    await fixture.commit((transaction) => fixture.tasks.promoteDue(transaction, fixture.topic))
    const second = await next()
    expect(second).toMatchObject({ identifier: 'a', attempt: 2, tries: 2 })
    await complete(fixture.tasks, new Map([[second, TaskDecision.retry({ afterMs: 0 })]]))
    expect(await info(second)).toMatchObject({ state: 'failed', reason: 'tries' })
    expect((await info(second))?.due).toBeUndefined()
    expect(await next()).toMatchObject({ identifier: 'b' })
  })

  test('keeps the reason that a decision gives, of each task its own, and no longer than until the next poll', async () => {
    await fixture.commit((transaction) =>
      fixture.tasks.push(transaction, fixture.topic, ['a', 'b', 'c', { identifier: 'd', maxTries: 1 }]),
    )
    const [a, b, c, d] = await fixture.commit<HeldTask[]>((transaction) =>
      fixture.tasks.poll(transaction, fixture.topic, { size: 4 }),
    )
    const decisions = new Map([
      [a!, TaskDecision.filter().because('cancelled')],
      [b!, TaskDecision.success()],
      [c!, TaskDecision.retry({ afterMs: 0 }).because('timeout')],
      [d!, TaskDecision.retry({ afterMs: 0 }).because('timeout')],
    ])
    expect((await complete(fixture.tasks, decisions)).completed).toEqual([a, b, c, d])
    const reasonOf = async (task: HeldTask): Promise<string> => {
      const { state, reason } = (await info(task))!
      return `${state} ${reason}`
    }
    const all = (): Promise<string[]> => Promise.all([a!, b!, c!, d!].map(reasonOf))
    expect(await all()).toEqual(['filtered cancelled', 'succeeded undefined', 'suspended timeout', 'failed tries'])
    const cancelled = await fixture.commit<TaskInfo[]>((transaction) =>
      fixture.tasks.page(transaction, fixture.topic, { reason: 'cancelled' }),
    )
    expect(cancelled.map(({ identifier }) => identifier)).toEqual(['a'])
    await fixture.commit((transaction) => fixture.tasks.promoteDue(transaction, fixture.topic))
    await fixture.commit((transaction) => fixture.tasks.poll(transaction, fixture.topic))
    expect(await reasonOf(c!)).toBe('active undefined')
  })

  test('takes a batch of a thousand with outputs of their own', async () => {
    const batch = await held(...Array.from({ length: 1_000 }, (_, index) => `t${index}`))
    const decisions = new Map(batch.map((task) => [task, TaskDecision.success(`out ${task.identifier}`)]))
    expect((await complete(fixture.tasks, decisions)).completed).toHaveLength(1_000)
    const page = await fixture.commit<TaskInfo[]>((transaction) =>
      fixture.tasks.page(transaction, fixture.topic, { size: 1_000 }),
    )
    expect(page.every(({ identifier, output, state }) => output === `out ${identifier}` && state === 'succeeded')).toBe(true)
  })
})
