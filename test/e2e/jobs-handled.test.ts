/** Jobs are handled one by one: what a handler commits takes effect with its job, and what it throws is a try. */
import type { TaskDecision as Decision, TaskError } from '@taskstream/task-api'
import { defineJob, fixed, json, never, TaskDecision } from 'taskstream'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { canRun } from '../subject.ts'
import { useJobFixture } from './job-fixture.ts'

describe.skipIf(!canRun)('the handler of a job', () => {
  const fixture = useJobFixture()

  test('is given the job: its input by the schema, its id, key, tries, tags and deadline', async () => {
    const job = defineJob('given', {
      input: z.object({ id: z.string().transform(Number) }),
      key: ({ id }) => `k${id}`,
      deadlineMs: 3_600_000,
      maxTries: 4,
      tags: { kind: 'usual' },
    })
    const bare = defineJob('given-bare')
    const given: unknown[] = []
    await using stream = fixture.streamOf()
    stream.handle(job, ({ name, id, key, input, tries, attempt, maxTries, deadline, tags, signal, task }) => {
      const doubled: number = input.id * 2
      given.push({ name, id, key, doubled, tries, attempt, maxTries, tags, aborted: signal.aborted, stored: task.input })
      given.push(deadline instanceof Date)
    })
    stream.handle(bare, ({ id, key, input, deadline, tags, maxTries }) => {
      given.push({ id, key, input, deadline, tags, maxTries })
    })
    await stream.start()
    await stream.submit(job, { id: '7' }, { id: 'order 7' })
    await expect.poll(() => fixture.states(job)).toEqual({ succeeded: 1 })
    const { id } = await stream.submit(bare)
    await expect.poll(() => fixture.states(bare)).toEqual({ succeeded: 1 })
    expect(given).toEqual([
      {
        name: 'given',
        id: 'order 7',
        key: 'k7',
        doubled: 14,
        tries: 1,
        attempt: 1,
        maxTries: 4,
        tags: { kind: 'usual' },
        aborted: false,
        stored: '{"id":"7"}',
      },
      true,
      { id, key: undefined, input: undefined, deadline: undefined, tags: {}, maxTries: undefined },
    ])
  })

  test.each(['leased', 'transactional'] as const)('commits its work with its job, in mode %s', async (mode) => {
    const job = defineJob(`commits-${mode}`, { input: json<{ fails: boolean }>(), retry: fixed({ tries: 2, afterMs: 0 }) })
    const followed = defineJob(`committed-${mode}`, { input: json<string>() })
    await using stream = fixture.streamOf()
    stream.handle(
      job,
      ({ input, tries, commit }) =>
        commit(async (transaction) => {
          await fixture.effect(transaction, `try ${tries}`)
          await stream.push(transaction, followed, `after try ${tries}`)
          if (input.fails && tries === 1) throw new Error('the work fails once')
        }),
      { mode },
    )
    stream.handle(followed, ({ input, commit }) => commit((transaction) => fixture.effect(transaction, input)), { mode })
    await stream.start()
    await stream.submit(job, { fails: true })
    await expect.poll(() => fixture.effects()).toEqual(['try 2', 'after try 2'])
    await expect.poll(() => fixture.states(job)).toEqual({ succeeded: 1 })
    await expect.poll(() => fixture.states(followed)).toEqual({ succeeded: 1 })
  })

  test('commits each of many jobs once, though they share transactions and some of them throw', async () => {
    const job = defineJob('many-commits', { input: json<number>(), retry: fixed({ tries: 2, afterMs: 0 }) })
    await using stream = fixture.streamOf()
    stream.handle(
      job,
      ({ input, tries, commit }) =>
        commit(async (transaction) => {
          await fixture.effect(transaction, `${input}`.padStart(3, '0'))
          if (input % 10 === 0 && tries === 1) throw new Error('every tenth fails once')
        }),
      { concurrency: 50 },
    )
    await stream.start()
    const count = 200
    await stream.transaction((transaction) =>
      stream.pushMany(
        transaction,
        job,
        Array.from({ length: count }, (_, n) => [n]),
      ),
    )
    await expect.poll(() => fixture.states(job)).toEqual({ succeeded: count })
    expect((await fixture.effects()).toSorted()).toEqual(Array.from({ length: count }, (_, n) => `${n}`.padStart(3, '0')))
  })

  test('goes on with another job in the same transaction, which inherits its tags and priority', async () => {
    const last = defineJob('chain-last', { input: json<string>() })
    const job = defineJob('chain', {
      input: json<number>(),
      next: [last],
      order: 'priority',
      retry: fixed({ tries: 2, afterMs: 0 }),
    })
    await using stream = fixture.streamOf()
    const inputs: unknown[] = []
    stream.handle(job, async ({ input, next, commit, tries }) => {
      if (input < 3) return next(job, input + 1)
      return commit(async (transaction) => {
        await fixture.effect(transaction, `commit, try ${tries}`)
        // The continuation is refused, and what was written before it is undone.
        return tries === 1 ? next(last, 5 as never, { delayMs: -1 }) : next(last, 'end', { tags: { own: true } })
      })
    })
    stream.handle(last, ({ input, tags, task }) => void inputs.push({ input, tags, priority: task.priority }))
    await stream.start()
    await stream.submit(job, 1, { tags: { tenant: 'acme' }, priority: 7 })
    await expect.poll(() => inputs).toEqual([{ input: 'end', tags: { own: true }, priority: 7 }])
    await expect.poll(() => fixture.states(job)).toEqual({ succeeded: 3 })
    expect(await fixture.effects()).toEqual(['commit, try 2'])
    expect((await fixture.page(job)).map(({ priority, headers }) => [priority, headers])).toEqual(
      Array.from({ length: 3 }, () => [7, { tags: { tenant: 'acme' } }]),
    )
  })

  test('decides by what it returns, and anything else is a success', async () => {
    const job = defineJob('decides', { input: json<{ as: string }>(), retry: never })
    const decisions: Record<string, () => unknown> = {
      nothing: () => undefined,
      value: () => ({ any: 'value' }),
      filtered: () => TaskDecision.filter('nothing to do'),
      failed: () => TaskDecision.failure('no'),
      thrown: () => {
        throw new Error('thrown')
      },
      snoozed: () => TaskDecision.snooze({ afterMs: 3_600_000 }),
    }
    await using stream = fixture.streamOf()
    stream.handle(job, ({ input }) => decisions[input.as]?.())
    await stream.start()
    for (const as of Object.keys(decisions)) await stream.submit(job, { as }, { id: as })
    await expect
      .poll(async () => (await fixture.page(job)).map(({ externalId, state, tries }) => [externalId, state, tries]))
      .toEqual([
        ['nothing', 'succeeded', 1],
        ['value', 'succeeded', 1],
        ['filtered', 'filtered', 1],
        ['failed', 'failed', 1],
        ['thrown', 'failed', 1],
        ['snoozed', 'suspended', 0],
      ])
  })

  test('may decide in its commit', async () => {
    const job = defineJob('decides-in-commit')
    await using stream = fixture.streamOf()
    stream.handle(job, ({ commit }) =>
      commit(async (transaction): Promise<Decision> => {
        await fixture.effect(transaction, 'kept')
        return TaskDecision.failure('for good')
      }),
    )
    await stream.start()
    await stream.submit(job)
    await expect.poll(() => fixture.states(job)).toEqual({ failed: 1 })
    expect(await fixture.effects()).toEqual(['kept'])
  })

  test('is not called with an input that does not fit, which fails for good', async () => {
    const name = 'misfit'
    const before = defineJob(name, { input: json<unknown>() })
    const now = defineJob(name, { input: z.object({ n: z.number() }), retry: fixed({ tries: 9, afterMs: 0 }) })
    const errors: unknown[] = []
    let called = 0
    await using stream = fixture.streamOf({ listener: { onError: ({ error }) => void errors.push(error) } })
    stream.handle(now, () => void called++)
    await stream.start()
    await stream.submit(before, { n: 'text' })
    // No job has pushed these: they have no JSON, or no input.
    await fixture.commit((transaction) => stream.tasks.push(transaction, name, [{ identifier: 'a', input: '{' }, 'b']))
    await expect.poll(() => fixture.states(now)).toEqual({ failed: 3 })
    expect(await fixture.page(now)).toMatchObject(Array.from({ length: 3 }, () => ({ reason: 'terminated', tries: 1 })))
    expect((await fixture.page(now))[0]!.output).toContain('The input of a task "misfit" is not as its schema says: n: ')
    expect([called, errors.length]).toEqual([0, 3])
  })

  test('fails its job if it misuses what it is given, and says how', async () => {
    const elsewhere = defineJob('misuse-elsewhere')
    const job = defineJob('misuse', { input: json<{ how: string }>(), retry: never })
    const misuses: Record<string, (held: { commit: (work: () => unknown) => unknown; next: (to: never) => unknown }) => unknown> =
      {
        dropped: ({ commit }) => void commit(() => {}),
        twice: ({ commit }) => {
          commit(() => {})
          return commit(() => {})
        },
        nested: ({ commit }) => commit(() => commit(() => {})),
        elsewhere: ({ next }) => next(elsewhere as never),
        unreturned: ({ next }) => void next(elsewhere as never),
        'beside a commit': ({ commit, next }) => {
          next(elsewhere as never)
          return commit(() => {})
        },
        'unreturned in commit': ({ commit, next }) => commit(() => void next(elsewhere as never)),
        other: ({ commit }) => {
          commit(() => {})
          return TaskDecision.success()
        },
      }
    const errors: string[] = []
    await using stream = fixture.streamOf({ listener: { onError: ({ error }) => void errors.push((error as TaskError).code) } })
    stream.handle(job, ({ input, commit, next }) => misuses[input.how]!({ commit, next: next as never }))
    await stream.start()
    for (const how of Object.keys(misuses)) await stream.submit(job, { how }, { id: how })
    await expect.poll(() => fixture.states(job)).toEqual({ failed: 8 })
    const messages = Object.fromEntries((await fixture.page(job)).map(({ externalId, output }) => [externalId, output]))
    expect(messages).toMatchObject({
      dropped: expect.stringContaining('did not return what it returns: write `return commit(…)`'),
      twice: expect.stringContaining('called commit twice'),
      nested: expect.stringContaining('called commit twice'),
      elsewhere: expect.stringContaining('goes on with "misuse-elsewhere", which its definition does not name'),
      unreturned: expect.stringContaining('called next and did not return what it returns: write `return next(…)`'),
      'beside a commit': expect.stringContaining('called next and did not return what it returns'),
      'unreturned in commit': expect.stringContaining('called next and did not return what it returns'),
      other: expect.stringContaining('did not return what it returns'),
    })
    expect(errors).toEqual(Array.from({ length: 8 }, () => 'LIFECYCLE'))
  })

  test('is told if it asks for a commit, or goes on, when it has returned already', async () => {
    const job = defineJob('after', { input: json<string>() })
    const returned = Promise.withResolvers<void>()
    const late: unknown[] = []
    await using stream = fixture.streamOf()
    stream.handle(job, ({ input, commit, next }) => {
      const ask: () => unknown =
        input === 'commit' ? () => commit((transaction) => fixture.effect(transaction, 'lost')) : () => next(job, 'again')
      void returned.promise.then(ask).catch((error: unknown) => late.push(error))
    })
    await stream.start()
    for (const what of ['commit', 'next']) await stream.submit(job, what)
    await expect.poll(() => fixture.states(job)).toEqual({ succeeded: 2 })
    returned.resolve()
    await expect.poll(() => late).toHaveLength(2)
    for (const error of late)
      expect(error).toMatchObject({
        code: 'LIFECYCLE',
        message: expect.stringMatching(/called (commit|next) after it had returned/),
      })
    expect(await fixture.effects()).not.toContain('lost')
  })

  test('handles no more jobs at a time than it may, though it has more at hand', async () => {
    const job = defineJob('limited', { input: json<number>() })
    let open = 0
    let most = 0
    await using stream = fixture.streamOf()
    stream.handle(
      job,
      async () => {
        most = Math.max(most, ++open)
        await new Promise(setImmediate)
        open--
      },
      { concurrency: 3 },
    )
    await stream.start()
    await stream.transaction((transaction) =>
      stream.pushMany(
        transaction,
        job,
        Array.from({ length: 300 }, (_, n) => [n]),
      ),
    )
    await expect.poll(() => fixture.states(job)).toEqual({ succeeded: 300 })
    expect(most).toBe(3)
  })

  test('runs the jobs of a key one after the other, and those of other keys meanwhile', async () => {
    const job = defineJob('ordered', { input: json<{ n: number; key: string }>(), key: ({ key }) => key, ordered: true })
    const order: string[] = []
    let together = 0
    const open = new Set<string>()
    const both = Promise.withResolvers<void>()
    await using stream = fixture.streamOf()
    stream.handle(job, async ({ input, key }) => {
      expect(open.has(key!)).toBe(false)
      open.add(key!)
      together = Math.max(together, open.size)
      if (together === 2) both.resolve()
      await both.promise
      order.push(`${key}${input.n}`)
      open.delete(key!)
    })
    await stream.start()
    await stream.transaction((transaction) =>
      stream.pushMany(
        transaction,
        job,
        [1, 2, 3, 4, 5, 6].map((n) => [{ n, key: n % 2 ? 'a' : 'b' }]),
      ),
    )
    await expect.poll(() => order.length).toBe(6)
    expect(order.filter((one) => one.startsWith('a'))).toEqual(['a1', 'a3', 'a5'])
    expect(order.filter((one) => one.startsWith('b'))).toEqual(['b2', 'b4', 'b6'])
  })
})
