/** The queues of asyncjobs: what is stored in them, how many tasks run beside each other, and who handles or creates them. */
import { generateKeyPairSync } from 'node:crypto'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { periodicTasks } from '@taskstream/task-scheduler'
import { codeOf, thrownBy } from '@taskstream/task-testing/suite'
import { asyncJobs, newTask } from 'taskstream/asyncjobs'
import type { Task } from 'taskstream/asyncjobs'
import { describe, expect, onTestFinished, test } from 'vitest'
import { canRun } from '../subject.ts'
import { comesTo, never, run, soon } from './asyncjobs-client.ts'
import { useJobFixture } from './job-fixture.ts'

describe.skipIf(!canRun)('a task in a queue of asyncjobs', () => {
  const fixture = useJobFixture()

  test('is stored once: a second of its id is in error, whatever its queue', async () => {
    await using stream = fixture.streamOf()
    const [client, other] = [asyncJobs(stream, { queue: 'ONCE' }), asyncJobs(stream, { queue: 'ONCEMORE' })]
    const first = await client.enqueueTask(newTask('once', 1, { id: 'order:7' }))
    for (const rival of [client, other]) {
      const second = newTask('once', 2, { id: 'order:7' })
      expect(await codeOf(() => rival.enqueueTask(second))).toBe('TASK_DUPLICATE')
      expect(second).toMatchObject({ queue: '', state: 'queue_error', lastErr: 'duplicate work queue item: order:7' })
    }
    expect((await other.loadTaskById(first.id)).json()).toBe(1)
    const made = await client.enqueueTask(newTask('once'))
    expect(await codeOf(() => other.enqueueTask(made))).toBe('TASK_DUPLICATE')
    const known = newTask('once', 2, { id: made.id })
    expect(await codeOf(() => client.enqueueTask(known))).toBe('TASK_DUPLICATE')
    const elsewhere = newTask('once', 2, { id: made.id })
    expect(await codeOf(() => other.enqueueTask(elsewhere))).toBe('TASK_DUPLICATE')
  })

  test('exists if, and only if, the transaction that enqueues it commits', async () => {
    await using stream = fixture.streamOf()
    const client = asyncJobs(stream, { queue: 'COMMITTED' })
    const [kept, lost] = [newTask('kept'), newTask('lost')]
    const enqueue = (task: Task): Promise<unknown> => stream.transaction((transaction) => client.enqueueTaskIn(transaction, task))
    expect(await thrownBy(() => enqueue(newTask('early')))).toMatchObject({
      code: 'TOPIC_UNKNOWN',
      message: 'queue not found: COMMITTED: call await client.prepare() once',
    })
    await client.prepare()
    await enqueue(kept)
    await thrownBy(() =>
      stream.transaction(async (transaction) => {
        await client.enqueueTaskIn(transaction, lost)
        throw new Error('rolled back')
      }),
    )
    expect((await client.loadTaskById(kept.id)).state).toBe('new')
    expect(await thrownBy(() => client.loadTaskById(lost.id))).toMatchObject({ message: `task not found: ${lost.id}` })
  })

  test('is enqueued only from the states new, retry and blocked, and to a queue that is there', async () => {
    await using stream = fixture.streamOf()
    const client = asyncJobs(stream, { queue: 'STATES' })
    await run(client, { '': () => undefined })
    const done = await comesTo(client, await client.enqueueTask(newTask('done')), 'complete')
    expect(await thrownBy(() => client.enqueueTask(done))).toMatchObject({
      code: 'TASK_STATE',
      message: 'cannot enqueue a task in state: "complete"',
    })
    const bound = asyncJobs(stream, { queue: { name: 'NOWHERE', noCreate: true } })
    const missing = { code: 'TOPIC_UNKNOWN', message: expect.stringMatching(/^queue not found: NOWHERE/) }
    expect(await thrownBy(() => bound.enqueueTask(newTask('bound')))).toMatchObject(missing)
    expect(await thrownBy(() => bound.run(bound.newTaskRouter()))).toMatchObject(missing)
    expect(
      await thrownBy(() => stream.transaction((transaction) => bound.enqueueTaskIn(transaction, newTask('bound')))),
    ).toMatchObject(missing)
    await asyncJobs(stream, { queue: 'NOWHERE' }).enqueueTask(newTask('first'))
    expect((await bound.enqueueTask(newTask('bound'))).queue).toBe('NOWHERE')
  })

  test('runs beside no more than the client handles at a time', async () => {
    await using stream = fixture.streamOf()
    const client = asyncJobs(stream, { queue: 'BESIDE', concurrency: 2 })
    const two = Promise.withResolvers<void>()
    let [running, most] = [0, 0]
    await run(client, {
      '': async () => {
        most = Math.max(most, ++running)
        if (running === 2) two.resolve()
        await two.promise
        running--
      },
    })
    const tasks = [newTask('a'), newTask('b'), newTask('c'), newTask('d')]
    for (const task of tasks) await client.enqueueTask(task)
    for (const task of tasks) await comesTo(client, task, 'complete')
    expect(most).toBe(2)
  })

  test('is handled by a program that finds it in a file, and whose output is the result', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'asyncjobs-test-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const program = join(folder, 'program')
    writeFileSync(
      program,
      '#!/bin/sh\ncat "$CHORIA_AJ_TASK"\ncase "$(cat "$CHORIA_AJ_TASK")" in *bad*) echo sorry >&2; exit 3;; esac\necho and more >&2\n',
    )
    chmodSync(program, 0o755)
    await using stream = fixture.streamOf()
    const client = asyncJobs(stream, { queue: 'PROGRAM', retryPolicy: never })
    const router = client.newTaskRouter()
    router.externalProcess('run', program).externalProcess('gone', `${program}-gone`).externalProcess('folder', folder)
    await client.run(router)
    const [good, bad, gone, wrong] = [newTask('run:good', { a: 1 }), newTask('run:bad'), newTask('gone'), newTask('folder')]
    for (const task of [good, bad, gone, wrong]) await client.enqueueTask(task)
    const text = String((await comesTo(client, good, 'complete')).result?.payload)
    expect(text).toContain('and more\n')
    const told: unknown = JSON.parse(text.replace('and more\n', ''))
    expect(told).toMatchObject({ id: good.id, type: 'run:good', state: 'active', payload: 'eyJhIjoxfQ==' })
    expect((await comesTo(client, bad, 'retry')).lastErr).toMatch(/^execution failed: ".*": exit code 3: sorry$/)
    expect((await comesTo(client, gone, 'retry')).lastErr).toMatch(/^command not found: .* is not there$/)
    expect((await comesTo(client, wrong, 'retry')).lastErr).toMatch(/^command not found: .* is a folder$/)
  })

  test('is created for an occurrence of its schedule, with an id of its own and the payload as it was given', async () => {
    await using stream = fixture.streamOf()
    const client = asyncJobs(stream, { queue: 'CLOCK' })
    client.schedules.handle()
    await run(client, { 'email:report': (task) => [task.json(), task.maxTries, task.deadline !== undefined] })
    const options = { deadlineMs: 60_000, maxTries: 3 }
    await client.schedules.newScheduledTask('nightly', '30 2 * * *', 'CLOCK', 'email:report', { kind: 'sales' }, options)
    const timers = periodicTasks(stream.tasks, { scope: 'asyncjobs' })
    await stream.transaction((transaction) => timers.runNow(transaction, 'nightly'))
    const all = async (): Promise<Task[]> => (await client.tasks()).filter(({ queue }) => queue === 'CLOCK')
    await expect.poll(async () => (await all().catch(() => [])).map(({ state }) => state)).toEqual(['complete'])
    const [task] = await all()
    expect(task?.id).toMatch(/^[0-9A-Za-z]{27}$/)
    expect(task?.result?.payload).toEqual([{ kind: 'sales' }, 3, true])
    const name = 'nightly'
    const again = client.schedules.newScheduledTask(name, '@daily', 'CLOCK', 'email:report')
    expect(await codeOf(() => again)).toBe('TIMER_DUPLICATE')
    expect(await codeOf(() => client.schedules.newScheduledTask('other', '@daily', 'GONE', 'a'))).toBe('TOPIC_UNKNOWN')
    expect((await client.schedules.scheduledTasks()).map((one) => one.name)).toEqual([name])
    await client.schedules.removeScheduledTask(name)
    expect(await client.schedules.count()).toBe(0)
    for (const look of [() => client.schedules.loadScheduledTaskByName(name), () => client.schedules.removeScheduledTask(name)])
      expect(await thrownBy(look)).toMatchObject({ code: 'TIMER_UNKNOWN', message: 'scheduled task not found: nightly' })
  })

  test('is refused when that is full, or has the oldest dropped, and both are in error; limits that are stored count first', async () => {
    await using stream = fixture.streamOf()
    const client = asyncJobs(stream, { queue: { name: 'FULL', maxEntries: 1 } })
    const first = await client.enqueueTask(newTask('first'))
    const second = newTask('second')
    expect(await codeOf(() => client.enqueueTask(second))).toBe('TOPIC_FULL')
    expect(second).toMatchObject({ queue: '', state: 'queue_error', lastErr: expect.stringContaining('FULL') })
    const later = asyncJobs(stream, { queue: { name: 'FULL', maxEntries: 1, discardOld: true } })
    expect(await codeOf(() => later.enqueueTask(newTask('stored')))).toBe('TOPIC_FULL')
    await client.queues.configureQueue('FULL', { maxEntries: 1, discardOld: true })
    const third = await client.enqueueTask(newTask('third'))
    expect(await client.loadTaskById(first.id)).toMatchObject({
      state: 'queue_error',
      lastErr: 'dropped by its queue, which was full',
    })
    expect((await client.loadTaskById(third.id)).state).toBe('new')
  })

  test('is handled only if it was signed, where its queue requires that, and whatever was done to it since', async () => {
    const { privateKey: key, publicKey } = generateKeyPairSync('ed25519')
    await using stream = fixture.streamOf({ signing: { key }, verification: { keys: { default: publicKey } } })
    await using stranger = fixture.streamOf()
    const required = { name: 'SIGNED', signed: 'required' } as const
    const client = asyncJobs(stream, { queue: required, retryPolicy: soon })
    const first = await client.enqueueTask(newTask('first', 1, { deadline: new Date(Date.now() + 3_600_000), maxTries: 3 }))
    const second = await client.enqueueTask(newTask('second', null, { dependsOn: [first] }))
    const unsigned = await asyncJobs(stranger, { queue: 'SIGNED' }).enqueueTask(newTask('unsigned'))
    const keyless = asyncJobs(stranger, { queue: required })
    for (const refused of [() => keyless.enqueueTask(newTask('keyless')), () => keyless.run(keyless.newTaskRouter())])
      expect(await codeOf(refused)).toBe('ARGUMENT_INVALID')
    expect(await codeOf(() => client.schedules.newScheduledTask('a', '@daily', 'SIGNED', 'a'))).toBe('ARGUMENT_INVALID')
    const handled: string[] = []
    await run(client, { '': ({ type }) => void handled.push(type) })
    for (const task of [first, second]) await comesTo(client, task, 'complete')
    await client.retryTaskById(first.id)
    await expect.poll(() => handled).toEqual(['first', 'second', 'first'])
    expect((await comesTo(client, unsigned, 'terminated')).lastErr).toMatch(/^SIGNATURE_INVALID: .* has no signature/)
    expect(handled).toHaveLength(3)
  })

  test('is handled without a signature where its queue does not require one, as is what the clock creates there', async () => {
    const { publicKey } = generateKeyPairSync('ed25519')
    await using stream = fixture.streamOf({ verification: { keys: { default: publicKey } } })
    const client = asyncJobs(stream, { queue: { name: 'PERHAPS', signed: 'optional' } })
    client.schedules.handle()
    await run(client, { '': () => 'done' })
    await comesTo(client, await client.enqueueTask(newTask('unsigned')), 'complete')
    await client.schedules.newScheduledTask('perhaps', '@yearly', 'PERHAPS', 'scheduled')
    const timers = periodicTasks(stream.tasks, { scope: 'asyncjobs' })
    await stream.transaction((transaction) => timers.runNow(transaction, 'perhaps'))
    await expect.poll(() => fixture.states({ name: 'asyncjobs.PERHAPS' })).toEqual({ succeeded: 2 })
    await client.schedules.removeScheduledTask('perhaps')
  })

  test('runs beside no more than all clients together may handle', async () => {
    await using one = fixture.streamOf()
    await using another = fixture.streamOf()
    const clients = [one, another].map((stream) => asyncJobs(stream, { queue: { name: 'TOGETHER', maxConcurrent: 1 } }))
    let [running, most] = [0, 0]
    const tasks = [newTask('a'), newTask('b'), newTask('c')]
    for (const task of tasks) await clients[0]!.enqueueTask(task)
    for (const client of clients)
      await run(client, {
        '': async () => {
          most = Math.max(most, ++running)
          await new Promise((resolve) => setImmediate(resolve))
          running--
        },
      })
    for (const task of tasks) await comesTo(clients[0]!, task, 'complete')
    expect(most).toBe(1)
  })

  test('is deleted when it was kept as long as its client says after its end', async () => {
    await using stream = fixture.streamOf()
    const client = asyncJobs(stream, { queue: 'RETENTION', taskRetentionMs: 0 })
    await run(client, { '': () => 'done' })
    const { id } = await client.enqueueTask(newTask('short'))
    await expect.poll(() => codeOf(() => client.loadTaskById(id)), { interval: 10 }).toBe('TASK_STATE')
  })

  test('is listed, counted and deleted, by itself or with its queue', async () => {
    await using stream = fixture.streamOf()
    const client = asyncJobs(stream, { queue: 'ADMIN' })
    const { queues } = client
    for (const name of await queues.queueNames()) await queues.deleteQueue(name)
    expect(await queues.queues()).toEqual([])
    expect(await thrownBy(() => client.tasks())).toMatchObject({ code: 'TASK_STATE', message: 'no tasks found' })
    const [first, second] = [await client.enqueueTask(newTask('a')), await client.enqueueTask(newTask('b'))]
    const third = await asyncJobs(stream, { queue: 'ZULU' }).enqueueTask(newTask('c'))
    expect((await client.tasks()).map(({ type, queue }) => `${type} ${queue}`)).toEqual(['a ADMIN', 'b ADMIN', 'c ZULU'])
    expect((await client.tasks(1)).map(({ id }) => id)).toEqual([first.id])
    expect(await queues.queues()).toEqual([
      { name: 'ADMIN', entries: 2, waiting: 2 },
      { name: 'ZULU', entries: 1, waiting: 1 },
    ])
    await stream.transaction((transaction) => stream.tasks.cancel(transaction, 'asyncjobs.ZULU', { externalId: third.id }))
    expect(await queues.queueInfo('ZULU')).toEqual({ name: 'ZULU', entries: 1, waiting: 0 })
    await client.deleteTask(first.id)
    expect(await codeOf(() => client.deleteTask(first.id))).toBe('TASK_STATE')
    expect((await client.tasks()).map(({ id }) => id)[0]).toBe(second.id)
    expect(await queues.purgeQueue('ADMIN')).toBe(1)
    expect(await queues.queueInfo('ADMIN')).toEqual({ name: 'ADMIN', entries: 0, waiting: 0 })
    await queues.deleteQueue('ZULU')
    expect(await queues.queueNames()).toEqual(['ADMIN'])
    for (const look of [() => queues.queueInfo('ZULU'), () => queues.purgeQueue('ZULU'), () => queues.deleteQueue('ZULU')])
      expect(await thrownBy(look)).toMatchObject({ code: 'TOPIC_UNKNOWN', message: 'queue not found: ZULU' })
  })
})
