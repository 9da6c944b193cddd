/** What waits in BullMQ becomes tasks: nothing is lost, and nothing is there twice. */
import { FlowProducer, Queue, Worker } from 'bullmq'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startRedis, withoutRedis } from '../redis.ts'
import type { RedisServer } from '../redis.ts'
import { canRun, openSubject } from '../subject.ts'
import type { Subject } from '../subject.ts'
import { follow } from './command-line.ts'
import { countsOf, TargetDatabase } from './import-fixture.ts'

describe.skipIf(!canRun || withoutRedis)('from BullMQ', () => {
  let subject: Subject
  let target: TargetDatabase
  let redis: RedisServer
  const queues: Queue[] = []
  beforeAll(async () => {
    subject = await openSubject()
    target = await TargetDatabase.create(subject)
    redis = await startRedis()
  })
  afterAll(async () => {
    for (const queue of queues) await queue.close()
    await redis[Symbol.asyncDispose]()
    await target[Symbol.asyncDispose]()
    await subject[Symbol.asyncDispose]()
  })

  const connection = (): { url: string; maxRetriesPerRequest: null } => ({ url: redis.url, maxRetriesPerRequest: null })
  const open = (name: string): Queue => {
    const queue = new Queue(name, { connection: connection() })
    queues.push(queue)
    return queue
  }
  const fill = async (name: string, count: number): Promise<Queue> => {
    const queue = open(name)
    await queue.addBulk(Array.from({ length: count }, (_, n) => ({ name: 'job', data: { n } })))
    return queue
  }
  const numbers = async (topic: string): Promise<readonly number[]> =>
    (await target.tasks(topic)).map(({ input }) => (JSON.parse(input!) as { n: number }).n)
  const counting = (count: number): readonly number[] => Array.from({ length: count }, (_, n) => n)
  const from = (): readonly string[] => ['--from', redis.url]

  test('payloads, names, times, priorities, keys and tries are kept, and what stays or is not kept is named', async () => {
    const queue = open('kept')
    const flows = new FlowProducer({ connection: connection() })
    const due = Date.UTC(2100, 0)
    const failing = new Worker('kept', () => Promise.reject(new Error('no')), { connection: connection(), autorun: false })
    await queue.add('lost', { n: 9 })
    await queue.add('again', { n: 7 }, { attempts: 5 })
    for (const token of ['a', 'b']) {
      const job = await failing.getNextJob(token)
      await job!.moveToFailed(new Error('no'), token)
    }
    await queue.add('letter', { n: 1, text: 'Grüße "😀"' }, { deduplication: { id: 'ann', ttl: 60_000 } })
    await queue.add('later', { n: 2 }, { delay: due - Date.now(), attempts: 3, backoff: 5_000 })
    await queue.add('low', { n: 3 }, { priority: 10 })
    await queue.add('lower', { n: 4 }, { priority: 100_000 })
    await flows.add({ name: 'parent', queueName: 'kept', children: [{ name: 'child', queueName: 'kept' }] })
    await queue.upsertJobScheduler('nightly', { pattern: '0 0 3 * * *' })
    await failing.close()
    await flows.close()

    await target.taskstream('topic', 'create', 'mail', '--order', 'priority', '--keyed')
    const args = ['bullmq', 'kept', '--topic', 'mail', '--names', ...from()]
    expect(await target.import(...args, '--dry-run')).toMatchObject({ moved: 0, after: { there: 5, here: 0 } })
    const done = await target.import(...args)
    expect(done).toMatchObject({ moved: 5, duplicates: 0, before: { there: 5, here: 0 }, after: { there: 0, here: 5 } })
    expect(countsOf(done.left)).toEqual({ failed: 1, 'in a flow': 2, 'of a job scheduler': 1 })
    expect(countsOf(done.lost)).toEqual({ backoff: 1, 'priority beyond 32767': 1, 'time of deduplication': 1 })

    const tasks = await target.tasks('mail')
    const byName = new Map(tasks.map((task) => [task.headers!['job'], task]))
    expect([...byName.keys()]).toEqual(['again', 'letter', 'low', 'lower', 'later'])
    expect(byName.get('again')).toMatchObject({ maxTries: 4, state: 'ready' })
    expect(byName.get('letter')).toMatchObject({ identifier: 'ann', maxTries: 1, priority: 0 })
    expect(JSON.parse(byName.get('letter')!.input!)).toEqual({ n: 1, text: 'Grüße "😀"' })
    expect(byName.get('low')!.priority).toBe(-10)
    expect(byName.get('lower')!.priority).toBe(-32_767)
    expect(byName.get('later')!.maxTries).toBe(3)
    expect(Math.abs(Date.parse(byName.get('later')!.due!) - due)).toBeLessThan(1_000)
    expect(await target.import(...args)).toMatchObject({ moved: 0, after: { there: 0, here: 5 } })
  })

  test('a job that was pushed and not removed is recognized by its id', async () => {
    const queue = await fill('both', 30)
    await target.taskstream('topic', 'create', 'both')
    // As if a worker had it: it cannot be removed.
    await redis.client.set('bull:both:3:lock', 'somebody')
    const { code, err } = await target.taskstream('import', 'bullmq', 'both', ...from(), '--yes')
    expect([code, err]).toEqual([1, expect.stringMatching(/1 of the jobs that were pushed could not be removed, the first is 3/)])
    expect([await queue.count(), await numbers('both')]).toEqual([1, counting(30)])
    await redis.client.del('bull:both:3:lock')
    expect(await target.import('bullmq', 'both', ...from())).toMatchObject({
      moved: 1,
      duplicates: 1,
      after: { there: 0, here: 30 },
    })
    expect(await numbers('both')).toEqual(counting(30))
  })

  test('killed at any moment and given again, each job is a task once', async () => {
    const queue = await fill('many', 400)
    await target.taskstream('topic', 'create', 'many')
    const args = ['bullmq', 'many', ...from(), '--portion', '5']
    for (let kills = 0; kills < 3; kills++) {
      const before = await queue.count()
      const command = follow(['import', ...args, '--yes', '--url', target.url])
      await expect.poll(() => queue.count(), { interval: 1, timeout: 30_000 }).toBeLessThan(before)
      // The portions are small, so that it is at work on others.
      await command[Symbol.asyncDispose]()
    }
    expect((await target.import(...args)).after).toEqual({ there: 0, here: 400 })
    expect((await numbers('many')).toSorted((left, right) => left - right)).toEqual(counting(400))
    expect(await target.import(...args)).toMatchObject({ moved: 0, after: { there: 0, here: 400 } })
  })

  test('a job whose payload is no JSON stays and is named, and others of its queue move', async () => {
    const queue = await fill('broken', 3)
    const [, broken] = await queue.getWaiting()
    await redis.client.hset(`bull:broken:${broken!.id}`, 'data', '{"n":')
    const { moved, left } = await target.import('bullmq', 'broken', ...from(), '--initialize')
    expect([moved, left]).toMatchObject([
      2,
      [{ what: 'without readable JSON', count: 1, hint: expect.stringContaining(broken!.id!) }],
    ])
    expect((await numbers('broken')).toSorted()).toEqual([0, 2])
  })

  test('a Redis that falls silent ends the command, which can be given again', async () => {
    await using silent = await startRedis()
    const queue = new Queue('silent', { connection: { url: silent.url, maxRetriesPerRequest: null } })
    await queue.addBulk(Array.from({ length: 200 }, (_, n) => ({ name: 'job', data: { n } })))
    const args = ['bullmq', 'silent', '--from', silent.url, '--initialize', '--portion', '5']
    const command = follow(['import', ...args, '--yes', '--url', target.url])
    await expect.poll(() => queue.count(), { interval: 1, timeout: 30_000 }).toBeLessThan(200)
    process.kill(silent.pid, 'SIGSTOP')
    const { code, err } = await command.ended
    process.kill(silent.pid, 'SIGCONT')
    expect(code).not.toBe(0)
    expect(err).toMatch(/has not answered in 10 seconds|could not be removed/)
    expect((await target.import(...args)).after).toEqual({ there: 0, here: 200 })
    await queue.close()
    expect((await numbers('silent')).toSorted((left, right) => left - right)).toEqual(counting(200))
  })

  test('nothing is moved while a worker may take jobs, unless the queue is paused', async () => {
    const queue = await fill('busy', 3)
    await queue.pause()
    const worker = new Worker('busy', () => Promise.resolve(), { connection: connection() })
    await worker.waitUntilReady()
    await target.taskstream('topic', 'create', 'busy')
    expect(await target.import('bullmq', 'busy', ...from())).toMatchObject({ moved: 3 })
    await worker.pause()
    await queue.resume()
    await queue.add('job', { n: 3 })
    const { code, err } = await target.taskstream('import', 'bullmq', 'busy', ...from(), '--yes')
    expect([code, err]).toEqual([5, expect.stringMatching(/1 worker takes jobs of busy .*: stop them, or pause the queue/)])
    expect([await queue.count(), await numbers('busy')]).toEqual([1, counting(3)])
    await worker.close()
    expect(await target.import('bullmq', 'busy', ...from())).toMatchObject({ moved: 1, after: { there: 0, here: 4 } })
  })

  test('an unknown queue, and a Redis that is not there, are named', async () => {
    const unknown = await target.taskstream('import', 'bullmq', 'nobody', ...from(), '--initialize', '--dry-run')
    expect([unknown.code, unknown.err]).toEqual([3, expect.stringMatching(/no queue "nobody" of BullMQ/)])
    expect(await redis.client.exists('bull:nobody:meta')).toBe(0)
    const away = ['--from', 'redis://:correct-horse@127.0.0.1:1', '--initialize', '--yes']
    const { code, err } = await target.taskstream('import', 'bullmq', 'kept', ...away)
    expect([code, err]).toEqual([75, expect.stringMatching(/Redis at 127\.0\.0\.1:1 cannot be reached/)])
    expect(err).not.toContain('correct-horse')
  })
})
