/** Queues without a database server: what the test stream and the console say of their jobs, and which names do not go together. */
import { TaskDecision } from '@taskstream/task-api'
import type { HeldTask, TaskLease } from '@taskstream/task-api'
import { consoleListener, defineJob, defineQueue, defineTopic, json, never } from 'taskstream'
import { testStream } from 'taskstream/testing'
import { afterEach, expect, test, vi } from 'vitest'

afterEach(() => vi.restoreAllMocks())

const mail = defineQueue('mail')
const welcome = defineJob('email:welcome', { queue: mail, input: json<{ to: string }>() })
const reminder = defineJob('email:reminder', { queue: mail, input: json<{ to: string }>(), next: [welcome], retry: never })

test('a drain handles the jobs of a queue by their names, and tells them apart', async () => {
  await using stream = await testStream({ jobs: [defineJob('sms', { queue: mail })] })
  const seen: string[] = []
  stream.handle(reminder, ({ input, next }) => next(welcome, input))
  await stream.submit(reminder, { to: 'ann' })
  stream.route(mail, { 'email:*': ({ name, input }) => void seen.push(`${name} ${JSON.stringify(input)}`) })
  stream.use((job, next) => {
    seen.push(`around ${job.name}`)
    return next()
  })
  expect(await stream.drain()).toMatchObject([
    { job: 'email:reminder', tries: 1, state: 'succeeded' },
    { job: 'email:welcome', tries: 1, state: 'succeeded' },
  ])
  expect(seen).toEqual(['around email:reminder', 'around email:welcome', 'email:welcome {"to":"ann"}'])
  expect(await stream.pushed(welcome)).toEqual([{ to: 'ann' }])
  expect(await stream.pushed(reminder)).toEqual([{ to: 'ann' }])
  await stream.submit(defineJob('sms', { queue: mail, retry: never, maxTries: 1 }))
  expect(await stream.drain()).toMatchObject([{ job: 'sms', output: expect.stringContaining('No route of this process') }])
})

test('a queue that nobody routes is handled in a drain, also after one', async () => {
  await using stream = await testStream()
  const seen: string[] = []
  stream.handle(welcome, ({ name }) => void seen.push(name))
  await stream.submit(welcome, { to: 'ann' })
  await stream.drain()
  stream.handle(reminder, ({ name }) => {
    seen.push(name)
    return TaskDecision.success()
  })
  await stream.submit(reminder, { to: 'ann' })
  await stream.drain()
  expect(seen).toEqual(['email:welcome', 'email:reminder'])
})

test('the console names the job, as its queue does not', () => {
  const lines: string[] = []
  vi.spyOn(console, 'error').mockImplementation((line: unknown) => void lines.push(String(line)))
  const task: HeldTask = {
    topic: 'mail',
    sequence: 5,
    identifier: 'a',
    lease: 1 as unknown as TaskLease,
    attempt: 1,
    tries: 1,
    priority: 0,
    headers: { job: 'email:welcome' },
  }
  consoleListener.onLost?.({ topic: 'mail', tasks: [task] } as never)
  expect(lines[0]).toContain('mail email:welcome @5 (try 1)')
})

test.each([
  ['a job', defineJob('mail')],
  ['a topic', defineTopic('mail', { input: json<number>() })],
])('a queue and %s of the same name are refused, as they would share a topic', async (_, other) => {
  await expect(testStream({ jobs: [welcome, other] })).rejects.toMatchObject({
    code: 'ARGUMENT_INVALID',
    data: { argument: 'name', value: 'mail' },
  })
  await using stream = await testStream()
  if (other.settings.what === 'job') {
    stream.handle(defineJob('mail'), () => {})
    expect(() => stream.route(mail, {})).toThrow('The queue "mail" has the name of a job that is there already')
  }
})

test('two queues of one name that differ are refused, by the one that came first', async () => {
  await using stream = await testStream({ jobs: [welcome] })
  await expect(stream.prepare(defineJob('other', { queue: defineQueue('mail', { order: 'lifo' }) }))).rejects.toMatchObject({
    code: 'TOPIC_DIFFERENT',
    message:
      'The queue "mail" is known in this database by another definition, whose order, ordered, perKey or keyed differs: define it as it was, or by another name',
  })
})

test('a route that goes on with a job which nobody has prepared is told the name of that job', async () => {
  const elsewhere = defineJob('elsewhere', { queue: defineQueue('unprepared') })
  await using stream = await testStream({ jobs: [welcome] })
  stream.route(mail, { '*': ({ next }) => next(elsewhere) })
  await stream.submit(welcome, { to: 'ann' }, { maxTries: 1 })
  expect(await stream.drain()).toMatchObject([
    { output: expect.stringContaining('The job "elsewhere" is not known in this database') },
  ])
})

test('a queue with many routes names twenty of them, and says how many more there are', async () => {
  await using stream = await testStream()
  const pattern = (index: number): string => `route-${String(index).padStart(2, '0')}`
  stream.route(mail, Object.fromEntries(Array.from({ length: 25 }, (_, index) => [pattern(index), () => {}])))
  await stream.submit(welcome, { to: 'ann' }, { maxTries: 1 })
  const [drained] = await stream.drain()
  expect(drained!.output).toContain('"route-19" and 5 more. Handle the job, or add a route')
  expect(drained!.output).not.toContain('"route-20"')
})

test('the order shared needs keys, and no other rule for what has the same key', () => {
  const job = (options: object) => () => defineJob('shared', { input: json<string>(), order: 'shared', ...options } as never)
  const key = String
  expect(job({})).toThrow('needs keys, which take turns')
  expect(job({ key, ordered: true })).toThrow('must not be given with ordered')
  expect(job({ key, limits: { perKey: 2 } })).toThrow('must not be given with perKey')
  expect(job({ key })).not.toThrow()
  expect(() => defineQueue('q', { order: 'shared', keyed: false })).toThrow('needs keys, which take turns')
  expect(() => defineQueue('q', { order: 'shared', ordered: true })).toThrow('must not be given with ordered')
  expect(() => defineQueue('q', { order: 'shared', limits: { perKey: 2 } })).toThrow('must not be given with perKey')
  expect(defineQueue('q', { order: 'shared' }).settings.topic).toEqual({
    order: 'shared',
    condition: 'none',
    keyed: true,
    record: 'states',
  })
  const topic = (options: object) => () => defineTopic('t', { input: json<string>(), order: 'shared', ...options })
  expect(topic({ keyed: false })).toThrow('needs keys, which take turns')
  expect(topic({ condition: 'singular-by-identifier' })).toThrow('must not be given with condition')
  expect(topic({})().settings.topic).toEqual({ order: 'shared', condition: 'none', keyed: true, record: 'states' })
})
