/** Errors of jobs speak of jobs, and say what to do about them. Their codes and data are those of tasks. */
import { isTaskError } from '@taskstream/task-api'
import { defineJob, json } from 'taskstream'
import type { Job } from 'taskstream'
import { describe, expect, test } from 'vitest'
import { canRun } from '../subject.ts'
import type { AnyTransaction } from '../subject.ts'
import { useJobFixture } from './job-fixture.ts'
import type { TestStream } from './job-fixture.ts'

type Letter = Job<'letter', number>
type Verb = (stream: TestStream, job: Letter, transaction: AnyTransaction) => unknown

const verbs: readonly (readonly [string, Verb])[] = [
  ['push', (stream, job, tx) => stream.push(tx, job, 1)],
  ['pushMany', (stream, job, tx) => stream.pushMany(tx, job, [[1], [2]])],
  ['cancel', (stream, job, tx) => stream.cancel(tx, job, 'a')],
  ['cancel by key', (stream, job, tx) => stream.cancel(tx, job, { key: 'a' })],
  ['reschedule', (stream, job, tx) => stream.reschedule(tx, job, '@1', { delayMs: 1 })],
  ['reschedule by key', (stream, job, tx) => stream.reschedule(tx, job, { key: 'a' }, { delayMs: 1 })],
  ['get', (stream, job, tx) => stream.get(tx, job, 'a')],
  ['list', (stream, job, tx) => stream.list(tx, job)],
  ['find', (stream, job, tx) => stream.find(tx, job, { tags: {} })],
  ['retry', (stream, job, tx) => stream.retry(tx, job, '@1')],
]

describe.skipIf(!canRun)('an error of a job', () => {
  const fixture = useJobFixture()
  const letter: Letter = defineJob('letter', { input: json<number>(), key: (n) => `${n}` })

  /** What a call rejects with. */
  const errorOf = (call: () => unknown): Promise<unknown> =>
    (async () => call())().then(
      () => undefined,
      (error: unknown) => error,
    )

  const expectUnknown = (error: unknown, job: string): void => {
    expect(error).toMatchObject({
      code: 'TOPIC_UNKNOWN',
      message: `The job "${job}" is not known in this database: call await stream.prepare(…) with it once, or handle it and start`,
      data: { topic: job },
      cause: expect.objectContaining({ code: 'TOPIC_UNKNOWN' }) as unknown,
    })
  }

  test.each(verbs)('that nobody has prepared says so: %s', async (_, verb) => {
    await using stream = fixture.streamOf()
    expectUnknown(await errorOf(() => fixture.commit((tx) => verb(stream, letter, tx))), 'letter')
  })

  test('that nobody has prepared says so: submit', async () => {
    await using stream = fixture.streamOf()
    expectUnknown(await errorOf(() => stream.submit(letter, 1)), 'letter')
  })

  test('with which another one goes on says so in its output, if nobody knows it any more', async () => {
    const last = defineJob('last')
    const first = defineJob('first', { next: [last], maxTries: 1 })
    await using stream = fixture.streamOf()
    stream.handle(first, ({ next }) => next(last))
    await stream.start()
    await fixture.commit((transaction) => fixture.subject.tasks().destroy(transaction, 'last'))
    await stream.submit(first)
    await expect.poll(() => fixture.states(first)).toEqual({ failed: 1 })
    expect((await fixture.page(first))[0]!.output).toContain('The job "last" is not known in this database')
  })

  test.each(verbs.filter(([name]) => name.endsWith('key')))('that is known without a key says so: %s', async (_, verb) => {
    const job: Letter = defineJob('letter', { input: json<number>() })
    await using stream = fixture.streamOf()
    await stream.prepare(job)
    try {
      const error = await errorOf(() => fixture.commit((tx) => verb(stream, letter, tx)))
      expect(error).toMatchObject({ code: 'TOPIC_NOT_KEYED', data: { topic: 'letter' } })
      expect((error as Error).message).toMatch(/^The job "letter" is known in this database without a key/)
    } finally {
      await fixture.commit((transaction) => fixture.subject.tasks().destroy(transaction, 'letter'))
    }
  })

  test('that cannot be tried again says in which state it is', async () => {
    const job = defineJob('not-tried-again')
    await using stream = fixture.streamOf()
    await stream.prepare(job)
    const { id, sequence } = await stream.submit(job)
    const error = await errorOf(() => fixture.commit((transaction) => stream.retry(transaction, job, id)))
    expect(isTaskError(error, 'TASK_STATE') && error.data).toMatchObject({ tasks: [{ sequence }] })
    expect((error as Error).message).toMatch(/^The job "not-tried-again" is ready, is being handled, waits for what it needs/)
    const nobody = await errorOf(() => fixture.commit((transaction) => stream.retry(transaction, job, 'nobody')))
    expect(nobody).toMatchObject({
      code: 'TASK_STATE',
      message: expect.stringMatching(/^There is no job "not-tried-again" that is called nobody: /) as unknown,
    })
  })

  test('of its caller stays as it is', async () => {
    const job = defineJob('as-it-is')
    await using stream = fixture.streamOf()
    await stream.prepare(job)
    const error = await errorOf(() => fixture.commit((transaction) => stream.list(transaction, job, { size: -1 })))
    expect(error).toMatchObject({ code: 'ARGUMENT_INVALID', data: { argument: 'size' } })
    expect((error as Error).cause).toBeUndefined()
  })
})
