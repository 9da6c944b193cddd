/** Of a batch of which something could not be written, that is left; of several that end together, each is told of its own. */
import { TaskError } from '@taskstream/task-api'
import type { HeldTask } from '@taskstream/task-api'
import { describe, expect, test } from 'vitest'
import { LeasedBatch } from '../../packages/task-processor/src/batches/leased-batch.ts'
import { answering, namesOf, soon, tasksOf, unheardOf } from './answering.ts'
import { codeOf, ended, gone, make, refused, settled, succeed } from './leased.ts'

const stop = new TaskError('SHUTDOWN', 'stop')
const refuseAll = (): never => {
  throw refused
}

describe('a batch that is decided', () => {
  test.each(['by its handler', 'as failed', 'by its handler’s own completion'])(
    'is not handed back, though it could not be written: it is left to others: %s',
    async (how) => {
      const { batch, answers, tasks } = await ended(
        async (some, { complete }) => {
          if (how === 'as failed') throw new Error('no')
          if (how === 'by its handler') return succeed(some)
          await complete(succeed(some)).catch(() => {})
          return undefined
        },
        { answer: refuseAll },
      )
      expect([batch.undecided, batch.leased]).toEqual([tasks, tasks])
      answers.answer = () => {}
      answers.asked.splice(0)
      await soon(batch.handBack())
      expect([answers.asked, batch.undecided]).toEqual([[], tasks])
    },
  )

  test('by its handler’s completion, with what it wrote, is decided: what that throws then changes nothing', async () => {
    const { answers, events } = await ended(async (some, { complete }) => {
      await complete(() => succeed(some))
      throw refused
    })
    expect([answers.asked, events()]).toEqual([['complete a,b'], ['onComplete', 'onError']])
  })

  test('in part, when it was asked to let go, hands back no more than the rest', async () => {
    const made = make(
      (tasks, { signal }) =>
        new Promise((resolve) => signal.addEventListener('abort', () => resolve(succeed(tasks.slice(0, 1))))),
      {
        answer: (_, names) => {
          if (names.includes('a')) throw refused
        },
      },
    )
    const over = made.batch.begin()
    await settled()
    made.batch.abort(stop)
    await soon(over)
    expect(made.answers.asked).toEqual(['complete a', 'complete a', 'hand back a', 'hand back b'])
    expect([namesOf(made.batch.undecided), namesOf(made.batch.returned)]).toEqual(['a', 'b'])
  })

  test('of another task, when it was asked to let go, is handed back', async () => {
    const made = make(
      (_, { signal }) => new Promise((resolve) => signal.addEventListener('abort', () => resolve(succeed(tasksOf('ac'))))),
    )
    const over = made.batch.begin()
    await settled()
    made.batch.abort(stop)
    await soon(over)
    expect(made.answers.asked).toEqual(['hand back a,b'])
  })
})

describe('a handler', () => {
  test('that lets go for its time, and has decided nothing, has its tasks handed back', async () => {
    const made = make((_, { signal }) => new Promise((resolve) => signal.addEventListener('abort', () => resolve())), {
      timeoutMs: 5_000,
    })
    const over = made.batch.begin()
    made.clock.pass(5_000)
    await soon(over)
    expect([made.answers.asked[0], namesOf(made.batch.returned)]).toEqual(['hand back a,b', 'a,b'])
  })

  test('that does not listen to its completion has its error told as what it is, and no rejection goes unheard', async () => {
    using unheard = unheardOf()
    const gate = Promise.withResolvers<void>()
    const made = make(async (_, { complete }) => {
      void complete(() => Promise.reject(refused))
      await gate.promise
    })
    const over = made.batch.begin()
    await settled()
    expect(unheard.errors).toEqual([])
    gate.resolve()
    await soon(over)
    expect(made.answers.told[0]).toMatchObject(['onError', { activity: 'handle', error: refused }])
  })

  test('that throws while its completion is waited for has that tried once more, and no more', async () => {
    const heard: unknown[] = []
    let failing = true
    const made = make(
      async (some, { complete }) => {
        const completion = codeOf(complete(succeed(some))).then((code) => heard.push(code))
        await new Promise((resolve) => setImmediate(resolve))
        failing = false
        void completion
        throw new Error('no')
      },
      {
        answer: () => {
          if (failing) throw gone
        },
      },
    )
    await soon(made.batch.begin())
    await settled()
    expect(heard).toEqual(['done'])
    const thrice = ['complete a,b', 'complete a,b', 'complete a,b']
    expect(made.answers.asked).toEqual(thrice)
    made.clock.pass(100_000)
    await settled()
    expect(made.answers.asked).toEqual(thrice)
  })
})

describe('batches that end together', () => {
  /** Three go on when the gate is open; the database answers no completion before it is asked to. */
  const together = (plain: boolean) => {
    const answers = answering()
    const gate = Promise.withResolvers<void>()
    const answer = Promise.withResolvers<void>()
    const { environment } = answers
    const repository = {
      ...environment.repository,
      complete: async (...args: Parameters<typeof environment.repository.complete>) => {
        const completion = environment.repository.complete(...args)
        await answer.promise
        return completion
      },
    } as typeof environment.repository
    const shared = answers.handledBy(
      async (some, { signal }) => {
        await gate.promise
        return signal.aborted ? new Map([...succeed(some)].slice(0, 1)) : succeed(some)
      },
      { repository },
    )
    const batches = ['ab', 'cd', 'ef', 'gh'].map((names) => new LeasedBatch(shared, tasksOf(names), plain))
    const over = batches.map((batch) => batch.begin())
    return { answers, gate, answer, batches, over }
  }

  test.each([true, false])('are completed by one statement, as far as each would be: plain: %s', async (plain) => {
    const { answers, gate, answer, batches, over } = together(plain)
    gate.resolve()
    await settled()
    answer.resolve()
    await soon(Promise.all(over))
    expect(answers.asked).toEqual(['complete a,b,c,d,e,f,g,h'])
    expect(new Set(answers.begun)).toEqual(new Set([plain ? 'autocommit' : 'transaction']))
    expect(batches.map(({ finished }) => namesOf(finished))).toEqual(['a,b', 'c,d', 'e,f', 'g,h'])
    expect(answers.told.map(([name, { tasks }]) => [name, namesOf(tasks as HeldTask[])])).toEqual([
      ['onComplete', 'a,b'],
      ['onComplete', 'c,d'],
      ['onComplete', 'e,f'],
      ['onComplete', 'g,h'],
    ])
  })

  test('do not keep one waiting that was asked to let go', async () => {
    const { answers, gate, answer, batches, over } = together(false)
    batches[3]!.abort(stop)
    gate.resolve()
    await settled()
    expect(answers.asked.toSorted()).toEqual(['complete a,b,c,d,e,f', 'complete g'])
    answer.resolve()
    await soon(Promise.all(over))
    expect(answers.asked.toSorted()).toEqual(['complete a,b,c,d,e,f', 'complete g', 'hand back h'])
  })
})
