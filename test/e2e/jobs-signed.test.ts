/** Nobody who can write rows, but has no key, has a signed job done; whoever has the key pushes it in any way. */
import { generateKeyPairSync } from 'node:crypto'
import type { TaskAttempt, TaskInfo } from '@taskstream/task-api'
import { thrownBy } from '@taskstream/task-testing/suite'
import { defineJob, fixed, isTaskError, json, never } from 'taskstream'
import type { AnyJob, StreamOptions, TaskError } from 'taskstream'
import { describe, expect, test } from 'vitest'
import { canRun } from '../subject.ts'
import type { AnyTransaction } from '../subject.ts'
import { useJobFixture } from './job-fixture.ts'
import { definitionsOf, tamperings, writerOf } from './tampering.ts'
import type { Paid } from './tampering.ts'

const [first, second] = [generateKeyPairSync('ed25519'), generateKeyPairSync('ed25519')]
const signing = { key: first.privateKey, id: 'first' }
const verification = { keys: { first: first.publicKey } }

describe.skipIf(!canRun)('a job that is signed', () => {
  const fixture = useJobFixture()

  /** The errors of a stream, which verifies. */
  const verifying = (more: StreamOptions<AnyTransaction> = {}) => {
    const errors: TaskError[] = []
    const onError = ({ error }: { error: unknown }): void => void errors.push(error as TaskError)
    return { errors, stream: fixture.streamOf({ verification, listener: { onError }, ...more }) }
  }

  test.each(tamperings)('is not handled if %s, and is never tried again', async (what, tamper) => {
    const { queue, elsewhere, pay, refund } = definitionsOf(`tampered: ${what}`)
    {
      await using pushing = fixture.streamOf({ signing })
      await pushing.prepare(queue, elsewhere, pay)
      await pushing.submit(pay, { to: 'ann', amount: 1 })
      await pushing.submit(refund, { to: 'bob', amount: 2 })
    }
    const [paid, refunded] = await fixture.page(queue)
    await tamper(writerOf(fixture), paid!, { refund: refunded!, elsewhere })
    const { stream, errors } = verifying()
    await using _ = stream
    const handled: unknown[] = []
    stream.handle(pay, ({ input }) => void handled.push(input))
    stream.route(queue, { '*': ({ input }) => void handled.push(input) })
    stream.route(elsewhere, { '*': ({ input }) => void handled.push(input) })
    const passed: string[] = []
    stream.use(({ name }, next) => {
      passed.push(name)
      return next()
    })
    await stream.start()
    const found = async (): Promise<TaskInfo[]> => [...(await fixture.page(queue)), ...(await fixture.page(elsewhere))]
    await expect.poll(async () => (await found()).map(({ state }) => state).toSorted()).toEqual(['failed', 'succeeded'])
    expect(handled).toEqual([{ to: 'bob', amount: 2 }])
    expect(passed).toEqual([refund.name])
    const failed = (await found()).find(({ state }) => state === 'failed')
    expect(failed).toMatchObject({ sequence: paid!.sequence, reason: 'terminated', tries: 1 })
    expect(failed!.output).toMatch(/^SIGNATURE_INVALID: The job "/)
    expect(errors.map(({ code }) => code)).toEqual(['SIGNATURE_INVALID'])
    expect(errors[0]!.data).toMatchObject({ task: { topic: failed!.topic, sequence: paid!.sequence } })
  })

  test.each(['leased', 'transactional'] as const)(
    'is not handled if it was copied or pushed by hand, in mode %s',
    async (mode) => {
      const { queue, elsewhere, pay } = definitionsOf(`copied ${mode}`)
      await using pushing = fixture.streamOf({ signing })
      await pushing.prepare(queue, elsewhere, pay)
      const ref = await pushing.submit(pay, { to: 'ann', amount: 1 })
      const [paid] = await fixture.page(queue)
      const { copy } = writerOf(fixture)
      await copy(paid!, { topic: queue.name, externalId: 'to ann again' })
      await copy(paid!, { topic: queue.name, externalId: null })
      await copy(paid!, { topic: elsewhere.name, externalId: ref.id })
      await fixture.commit((transaction) =>
        pushing.tasks.push(transaction, queue.name, { identifier: 'eve', input: '{}', headers: { job: pay.name } }),
      )
      const { stream, errors } = verifying()
      await using _ = stream
      const handled: string[] = []
      stream.handle(pay, ({ id }) => void handled.push(id))
      stream.route(queue, {}, { mode })
      stream.route(elsewhere, { '*': ({ id }) => void handled.push(id) }, { mode })
      await stream.start()
      await expect.poll(() => fixture.states(queue)).toEqual({ succeeded: 1, failed: 3 })
      await expect.poll(() => fixture.states(elsewhere)).toEqual({ failed: 1 })
      expect(handled).toEqual(['to ann'])
      expect(errors.map(({ code }) => code)).toEqual(Array.from({ length: 4 }, () => 'SIGNATURE_INVALID'))
    },
  )

  test('is counted by a check if it would not be handled, and its history says why it was not', async () => {
    const job = defineJob('signed alone', { signed: 'required', input: json<number>(), retry: fixed({ tries: 3, afterMs: 0 }) })
    const unsigned = defineJob('signed alone', { input: json<number>() })
    await using pushing = fixture.streamOf({ signing })
    await pushing.prepare(job)
    await pushing.submit(job, 1)
    await pushing.submit(unsigned, 2, { id: 'unsigned' })
    const { stream } = verifying()
    await using _ = stream
    const message = expect.stringMatching(/^The job "signed alone", .* has no signature, and must have one/) as unknown
    expect(await stream.check([job, unsigned])).toMatchObject([
      { lookedAt: 2, misfitCount: 1, misfits: [{ id: 'unsigned', version: 1, message }] },
      { lookedAt: 2, misfitCount: 0 },
    ])
    stream.handle(job, () => {})
    await stream.start()
    await expect.poll(() => fixture.states(job)).toEqual({ succeeded: 1, failed: 1 })
    const attempts = await fixture.commit<readonly TaskAttempt[]>((tx) => stream.attempts(tx, job, 'unsigned'))
    expect(attempts).toMatchObject([
      { outcome: 'failed', reason: 'terminated', error: expect.stringMatching(/^SIGNATURE_INVALID: /) },
    ])
  })

  test('is signed in whatever way it is pushed, and verifies whatever verbs have done to it', async () => {
    const { queue, elsewhere, pay, refund } = definitionsOf('pushed')
    const sum = defineJob('pushed:sum', { signed: 'required', needs: { pay }, input: json<string>() })
    const begin = defineJob('pushed:begin', { queue, next: [pay], input: json<string>(), key: () => 'begin' })
    const plain = defineJob('pushed:plain')
    const ended: string[] = []
    await using stream = fixture.streamOf({ signing, verification })
    await stream.prepare(queue, elsewhere, sum, plain)
    await stream.submit(plain)
    const given = (to: string): Paid => ({ to, amount: 1 })
    await stream.transaction(async (tx) => {
      await stream.push(tx, pay, given('push'))
      const [ref] = await stream.pushMany(tx, pay, [
        [given('many 1')],
        [given('many 2'), { tags: { a: 1 }, maxTries: 7, priority: 2 }],
      ])
      await stream.push(tx, sum, 'pushed', { needs: { pay: ref! } })
      await stream.push(tx, pay, given('moved'), { delayMs: 3_600_000, deadlineMs: 7_200_000, id: 'moved' })
      await stream.reschedule(tx, pay, 'moved', { delayMs: 0, deadlineMs: 60_000, priority: -3 })
    })
    let isFailing = true
    const note = (what: string): void => void ended.push(what)
    stream.handle(pay, ({ input: { to } }) => {
      if (to === 'push' && isFailing) throw new Error('fails at first')
      note(`pay ${to}`)
    })
    stream.handle(refund, ({ input: { to }, commit }) =>
      commit(async (tx) => {
        note(`refund ${to}`)
        await stream.push(tx, pay, given('from a handler'))
      }),
    )
    stream.handle(begin, ({ input, next }) => next(pay, given(input)))
    stream.handle(sum, ({ input }) => note(`sum ${input}`))
    await stream.start()
    await stream.submit(refund, given('submit'))
    await stream.submit(begin, 'next')
    await stream.submit(sum, 'submitted', { needs: { pay: await stream.submit(pay, given('submit')) } })
    await expect.poll(() => fixture.states(queue)).toEqual({ succeeded: 8, failed: 1 })
    isFailing = false
    await stream.transaction((tx) => stream.retry(tx, pay, 'to push'))
    await expect.poll(() => fixture.states(queue)).toEqual({ succeeded: 9 })
    await expect.poll(() => fixture.states(sum)).toEqual({ succeeded: 2 })
    expect(ended.toSorted()).toEqual(
      [
        ...['from a handler', 'many 1', 'many 2', 'moved', 'next', 'push', 'submit'].map((to) => `pay ${to}`),
        'refund submit',
        'sum pushed',
        'sum submitted',
      ].toSorted(),
    )
    const tasks = [...(await fixture.page(queue)), ...(await fixture.page(sum))]
    for (const { externalId, headers } of tasks) {
      expect(externalId).toMatch(/^to |^moved$|^[\da-f]{8}-[\da-f]{4}-7/)
      expect(headers!['sig']).toEqual({ key: 'first', at: expect.any(String), value: expect.any(String) })
    }
    expect((await fixture.page(plain))[0]).not.toHaveProperty('headers')
    expect((await fixture.page(plain))[0]).not.toHaveProperty('externalId')
  })

  test('verifies by any of several keys, so that keys rotate; one of an unknown key verifies once that is known', async () => {
    const job = defineJob('rotated', { signed: 'required', retry: never })
    await using old = fixture.streamOf({ signing })
    await old.prepare(job)
    await using young = fixture.streamOf({ signing: { key: second.privateKey, id: 'second' } })
    // Whoever has a key cannot sign in the name of another.
    await using false_ = fixture.streamOf({ signing: { key: second.privateKey, id: 'first' } })
    await old.submit(job, undefined, { id: 'old' })
    await young.submit(job, undefined, { id: 'young' })
    await false_.submit(job, undefined, { id: 'false' })
    const ends = async (): Promise<Record<string, string>> =>
      Object.fromEntries((await fixture.page(job)).map(({ externalId, state }) => [externalId, state]))
    {
      const { stream, errors } = verifying()
      await using _ = stream
      stream.handle(job, () => {})
      await stream.start()
      await expect.poll(ends).toEqual({ old: 'succeeded', young: 'failed', false: 'failed' })
      expect(errors.find(({ data }) => data['key'] === 'second')!.message).toContain(
        'was signed by the key "second", and this process has "first"',
      )
    }
    const { stream } = verifying({ verification: { keys: { ...verification.keys, second: second.publicKey } } })
    await using _ = stream
    stream.handle(job, () => {})
    await stream.start()
    for (const id of ['young', 'false']) await stream.transaction((tx) => stream.retry(tx, job, id))
    await old.submit(job, undefined, { id: 'old 2' })
    await expect.poll(ends).toEqual({ old: 'succeeded', young: 'succeeded', false: 'failed', 'old 2': 'succeeded' })
  })

  test('may have no signature where that is optional, but no wrong one', async () => {
    const optional = defineJob('optional', { signed: 'optional', input: json<number>() })
    await using without = fixture.streamOf()
    await using pushing = fixture.streamOf({ signing })
    await without.prepare(optional)
    await without.submit(optional, 1)
    await pushing.submit(optional, 2)
    await pushing.submit(optional, 3)
    const [unsigned, , third] = await fixture.page(optional)
    expect(unsigned).not.toHaveProperty('externalId')
    await writerOf(fixture).set(third!, 'input', '4')
    const { stream, errors } = verifying()
    await using _ = stream
    const handled: number[] = []
    stream.handle(optional, ({ input }) => void handled.push(input))
    await stream.start()
    await expect.poll(() => fixture.states(optional)).toEqual({ succeeded: 2, failed: 1 })
    expect(handled.toSorted()).toEqual([1, 2])
    expect(errors.map(({ code }) => code)).toEqual(['SIGNATURE_INVALID'])
  })

  test('is not pushed without a private key, nor handled or checked without a public one, and nothing is written', async () => {
    const { queue, elsewhere, pay } = definitionsOf('keyless')
    const optional = defineJob('keyless:optional', { signed: 'optional' })
    const begin = defineJob('keyless:begin', { next: [pay], retry: never })
    const given = { to: 'ann', amount: 1 }
    await using stream = fixture.streamOf()
    await stream.prepare(queue, elsewhere, pay, begin, optional)
    const refused = async (work: () => unknown, message: string): Promise<void> => {
      const { code, message: said } = (await thrownBy(work)) as TaskError
      expect([code, said]).toEqual(['ARGUMENT_INVALID', expect.stringContaining(message)])
    }
    const noKey =
      'signing must be given: the job "keyless:pay" is signed, so the stream of a process that pushes it needs a private key'
    await fixture.commit(async (tx) => {
      await refused(() => stream.push(tx, pay, given), noKey)
      await refused(() => stream.pushMany(tx, pay, [[given]]), noKey)
    })
    await refused(() => stream.submit(pay, given), noKey)
    const unverified = (what: string): string =>
      `verification must be given: the ${what} is signed, so the stream of a process that handles`
    await refused(() => stream.handle(pay, () => {}), unverified('job "keyless:pay"'))
    await refused(() => stream.handle(optional, () => {}), unverified('job "keyless:optional"'))
    await refused(() => stream.route(elsewhere, {}), unverified('queue "keyless:elsewhere"'))
    await refused(() => stream.check([begin, pay as AnyJob]), unverified('job "keyless:pay"'))
    stream.handle(begin, ({ next }) => next(pay, given))
    await stream.start()
    const error = await thrownBy(async () => stream.wait(begin, await stream.submit(begin)))
    expect([isTaskError(error, 'JOB_ENDED'), (error as Error).message]).toEqual([true, expect.stringContaining(noKey)])
    expect(await fixture.states(queue)).toEqual({})
  })
})
