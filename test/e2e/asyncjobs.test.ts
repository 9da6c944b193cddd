/** Tasks in the words of asyncjobs: each comes to its end state. */
import { thrownBy } from '@taskstream/task-testing/suite'
import { asyncJobs, newTask, TerminateTaskError } from 'taskstream/asyncjobs'
import type { Task, TaskHandler } from 'taskstream/asyncjobs'
import { describe, expect, test } from 'vitest'
import { canRun } from '../subject.ts'
import type { AnyTransaction } from '../subject.ts'
import { comesTo, never, run, soon } from './asyncjobs-client.ts'
import { useJobFixture } from './job-fixture.ts'

const fails = (message: string): never => {
  throw new Error(message)
}

describe.skipIf(!canRun)('a task of asyncjobs', () => {
  const fixture = useJobFixture()

  test('is complete once its handler has returned: what that returned is its result, and its JSON is that of the wire', async () => {
    await using stream = fixture.streamOf()
    const client = asyncJobs(stream, { queue: 'COMPLETE' })
    await run(client, { 'email:new': (task) => ({ sent: task.json(), state: task.state, tries: task.tries }) })
    const deadline = new Date(Date.now() + 3_600_000)
    const task = await client.enqueueTask(newTask('email:new', { to: 'ann' }, { deadline, maxTries: 3 }))
    expect([task.queue, task.state]).toEqual(['COMPLETE', 'new'])
    const done = await comesTo(client, task, 'complete')
    expect(JSON.parse(JSON.stringify(done))).toEqual({
      id: task.id,
      type: 'email:new',
      queue: 'COMPLETE',
      payload: Buffer.from('{"to":"ann"}').toString('base64'),
      deadline: deadline.toISOString(),
      max_tries: 3,
      result: { payload: { sent: { to: 'ann' }, state: 'active', tries: 1 }, completed: expect.stringMatching(/Z$/) },
      state: 'complete',
      created: task.createdAt.toISOString(),
      tried: expect.stringMatching(/Z$/),
      tries: 1,
    })
  })

  test('is tried again after its handler threw, and waits for that in the state retry, with the last error, unless it is enqueued again', async () => {
    await using stream = fixture.streamOf()
    const quick = asyncJobs(stream, { queue: 'QUICK', retryPolicy: soon })
    const slow = asyncJobs(stream, { queue: 'SLOW', retryPolicy: never })
    let isOver = false
    const twice: TaskHandler<AnyTransaction> = async ({ id, tries }) => {
      if (tries === 1 && !isOver) throw new Error('simulated')
      const { state, lastErr } = await quick.loadTaskById(id)
      return { state, lastErr }
    }
    slow.handle(slow.newTaskRouter().handleFunc('', twice))
    await run(quick, { '': twice })
    const [again, waits] = [newTask('again', 1), newTask('waits', 1)]
    await quick.enqueueTask(again)
    await slow.enqueueTask(waits)
    expect(await comesTo(quick, again, 'complete')).toMatchObject({
      tries: 2,
      lastErr: '',
      result: { payload: { state: 'active', lastErr: '' } },
    })
    const waiting = await comesTo(slow, waits, 'retry')
    expect(waiting).toMatchObject({ tries: 1, lastErr: 'simulated', result: undefined })
    isOver = true
    await slow.enqueueTask(waiting)
    expect(await comesTo(slow, waits, 'complete')).toMatchObject({ tries: 1 })
  })

  test('expires when it has had its tries: its own, or those of its queue if these are fewer', async () => {
    await using stream = fixture.streamOf()
    const client = asyncJobs(stream, { queue: { name: 'TRIES', maxTries: 2 }, retryPolicy: soon })
    const [once, often, endless] = [1, 9, 0].map((maxTries) => newTask('fails', null, { maxTries }))
    await run(client, { fails: () => fails('no') })
    for (const task of [once, often, endless]) await client.enqueueTask(task!)
    expect(await comesTo(client, once!, 'expired')).toMatchObject({ tries: 1, maxTries: 1, lastErr: 'no' })
    expect(await comesTo(client, often!, 'expired')).toMatchObject({ tries: 2, maxTries: 9 })
    expect(await comesTo(client, endless!, 'expired')).toMatchObject({ tries: 2, maxTries: 0 })
  })

  test('expires without being handled if its deadline is over, or it is older than its queue allows', async () => {
    await using stream = fixture.streamOf()
    const client = asyncJobs(stream, { queue: { name: 'DEADLINE', maxAgeMs: 1 } })
    const late = await client.enqueueTask(newTask('late', null, { deadline: new Date(Date.now() - 1_000) }))
    const old = await client.enqueueTask(newTask('old', null, { deadline: new Date(Date.now() + 3_600_000) }))
    await expect.poll(() => Date.now() - old.createdAt.getTime()).toBeGreaterThan(1)
    await run(client, { '': () => fails('it was handled') })
    for (const task of [late, old])
      expect(await comesTo(client, task, 'expired')).toMatchObject({ tries: 0, lastErr: 'past its deadline' })
  })

  test('is terminated by an error that says so, also as the cause of another, and not tried again', async () => {
    await using stream = fixture.streamOf()
    const client = asyncJobs(stream, { queue: 'TERMINATED', retryPolicy: soon })
    const cause = new TerminateTaskError()
    await run(client, {
      itself: () => {
        throw cause
      },
      cause: () => {
        throw new Error('the customer is gone', { cause })
      },
    })
    const itself = await client.enqueueTask(newTask('itself'))
    const wrapped = await client.enqueueTask(newTask('cause'))
    expect(await comesTo(client, itself, 'terminated')).toMatchObject({ tries: 1, lastErr: 'terminate task' })
    expect(await comesTo(client, wrapped, 'terminated')).toMatchObject({ tries: 1, lastErr: 'the customer is gone' })
  })

  test('is unreachable if one that it depends on did not complete or is not there, and so is all that depends on it', async () => {
    await using stream = fixture.streamOf()
    const client = asyncJobs(stream, { queue: 'UNREACHABLE', retryPolicy: soon })
    await run(client, {
      '': () => fails('it was handled'),
      fails: () => {
        throw new TerminateTaskError()
      },
    })
    const [bad, missing] = [newTask('fails'), newTask('missing')]
    const child = newTask('child', null, { dependsOn: [bad] })
    const grandchild = newTask('grandchild', null, { dependsOn: [child] })
    const orphan = newTask('orphan', null, { dependsOnIds: [missing.id, 'gone'] })
    for (const task of [bad, child, grandchild, orphan]) await client.enqueueTask(task)
    for (const task of [grandchild, child, orphan])
      expect(await comesTo(client, task, 'unreachable')).toMatchObject({ tries: 0, lastErr: expect.stringContaining('need') })
    expect((await client.loadTaskById(orphan.id)).lastErr).toMatch(`task not found: ${missing.id}, gone, needed by this one`)
  })

  test('is blocked until all that it depends on are complete, of other queues too, and gets their results if it requires them', async () => {
    await using other = fixture.streamOf()
    const elsewhere = asyncJobs(other, { queue: 'ELSEWHERE' })
    await run(elsewhere, { far: () => 'far' })
    const far = await elsewhere.enqueueTask(newTask('far'))
    await comesTo(elsewhere, far, 'complete')
    await using stream = fixture.streamOf()
    const client = asyncJobs(stream, { queue: 'BLOCKED', retryPolicy: soon })
    const gate = Promise.withResolvers<string>()
    const [near, last] = [newTask('near'), newTask('last')]
    const given = (task: Task): unknown =>
      task.dependencyResults && Object.entries(task.dependencyResults).map(([id, { payload }]) => [id, payload])
    await run(client, { near: () => 'near', last: () => gate.promise, loads: given, waits: given })
    const dependsOn = [last, near, far, last]
    const loads = newTask('loads', null, { dependsOn, requiresDependencyResults: true })
    const waits = newTask('waits', null, { dependsOn })
    for (const task of [near, last, loads, waits]) await client.enqueueTask(task)
    await comesTo(client, near, 'complete')
    expect((await client.loadTaskById(loads.id)).state).toBe('blocked')
    gate.resolve('last')
    expect((await comesTo(client, loads, 'complete')).result?.payload).toEqual([
      [last.id, 'last'],
      [near.id, 'near'],
      [far.id, 'far'],
    ])
    expect(await comesTo(client, waits, 'complete')).toMatchObject({
      dependencies: [last.id, near.id, far.id],
      result: { payload: null },
    })
  })

  test('commits what its handler writes together with its result, or nothing', async () => {
    await using stream = fixture.streamOf()
    const client = asyncJobs(stream, { queue: 'COMMITS', retryPolicy: soon })
    await run(client, {
      writes: ({ tries }, { commit }) =>
        commit(async (transaction) => {
          await fixture.effect(transaction, `written ${tries}`)
          return tries === 1 ? fails('rolled back') : 'done'
        }),
    })
    const task = await client.enqueueTask(newTask('writes'))
    expect((await comesTo(client, task, 'complete')).result?.payload).toBe('done')
    expect(await fixture.effects()).toEqual(['written 2'])
  })

  test('is tried again by hand: with all its tries, without its deadline and its result, and once it can be reached', async () => {
    await using stream = fixture.streamOf()
    const client = asyncJobs(stream, { queue: 'AGAIN', retryPolicy: soon })
    let isBroken = true
    const gate = Promise.withResolvers<void>()
    const late = await client.enqueueTask(newTask('ends', null, { deadline: new Date(Date.now() - 1_000) }))
    await run(client, {
      ends: async ({ tries }) => {
        if (isBroken) throw new Error('broken')
        await gate.promise
        return tries
      },
    })
    const used = await client.enqueueTask(newTask('ends', null, { maxTries: 1 }))
    const child = await client.enqueueTask(newTask('ends', null, { dependsOn: [used] }))
    for (const [task, state] of [
      [late, 'expired'],
      [used, 'expired'],
      [child, 'unreachable'],
    ] as const)
      await comesTo(client, task, state)
    isBroken = false
    for (const { id } of [used, late, child]) await client.retryTaskById(id)
    expect((await client.loadTaskById(child.id)).state).toBe('blocked')
    gate.resolve()
    for (const task of [late, used, child])
      expect(await comesTo(client, task, 'complete')).toMatchObject({ tries: 1, result: { payload: 1 }, deadline: undefined })
    expect(await thrownBy(() => client.retryTaskById('nobody'))).toMatchObject({ message: 'task not found: nobody' })
  })

  test('that was tried again by hand is in the state retry, without its result, until a handler takes it', async () => {
    const queue = 'BYHAND'
    await using pushing = fixture.streamOf()
    const client = asyncJobs(pushing, { queue })
    const task = await client.enqueueTask(newTask('done'))
    expect(await thrownBy(() => client.retryTaskById(task.id))).toMatchObject({
      code: 'TASK_STATE',
      message: expect.stringMatching(`^cannot enqueue a task in state: "new": ${task.id} is tried again by hand once`),
      data: { id: task.id, state: 'new' },
    })
    {
      await using stream = fixture.streamOf()
      await run(asyncJobs(stream, { queue }), { '': () => 7 })
      await comesTo(client, task, 'complete')
    }
    await client.retryTaskById(task.id)
    expect(await client.loadTaskById(task.id)).toMatchObject({ state: 'retry', tries: 0, result: undefined })
  })

  test('is active until its process has died, and then run again from the start, which counts as a try', async () => {
    await using stream = fixture.streamOf()
    const client = asyncJobs(stream, { queue: 'DEAD', retryPolicy: never })
    const [again, once] = [newTask('again'), newTask('once', null, { maxTries: 1 })]
    for (const task of [again, once]) await client.enqueueTask(task)
    const dead = fixture.subject.tasks()
    await fixture.commit(async (transaction) => {
      await dead.register(transaction)
      await dead.poll(transaction, 'asyncjobs.DEAD', { size: 2 })
    })
    expect(await client.loadTaskById(again.id)).toMatchObject({ state: 'active', tries: 1 })
    await fixture.commit(async (transaction) => void (await dead.unregister(transaction)))
    await run(client, { '': ({ tries }) => tries })
    expect(await comesTo(client, again, 'complete')).toMatchObject({ tries: 2, result: { payload: 2 } })
    const lastErr = 'the process that handled it has died, and it has no tries left'
    expect(await comesTo(client, once, 'expired')).toMatchObject({ tries: 1, result: undefined, lastErr })
  })

  test('is asked to let go when it has run as long as its queue allows, and has failed a try', async () => {
    await using stream = fixture.streamOf()
    const client = asyncJobs(stream, { queue: { name: 'RUNTIME', maxRunMs: 20 }, retryPolicy: never })
    await run(client, {
      hangs: (_task, { signal }) =>
        new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error))),
    })
    const task = await client.enqueueTask(newTask('hangs'))
    expect((await comesTo(client, task, 'retry')).lastErr).toMatch(/took longer than 20 ms/)
  })

  test('whose type has no handler is tried again, as is one whose row was written by others', async () => {
    await using stream = fixture.streamOf()
    const client = asyncJobs(stream, { queue: 'UNHANDLED', retryPolicy: never })
    await run(client, { email: () => undefined })
    const task = await client.enqueueTask(newTask('sms'))
    expect((await comesTo(client, task, 'retry')).lastErr).toBe('no handler for task type: "sms"')
    const topic = 'asyncjobs.UNHANDLED'
    await stream.transaction((transaction) =>
      stream.tasks.push(transaction, topic, {
        identifier: 'by hand',
        externalId: 'by:hand',
        input: '{"kind":"other"}',
        headers: { job: `${topic}.task` },
      }),
    )
    await expect.poll(() => fixture.states({ name: topic })).toMatchObject({ failed: 1 })
    expect(await client.loadTaskById('by:hand')).toMatchObject({ state: '', type: '', tries: 1 })
  })
})
