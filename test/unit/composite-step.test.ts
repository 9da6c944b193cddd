/** A step of single tasks handles so many at a time, and each fails alone. */
import { TaskDecision, TaskDecisionError } from '@taskstream/task-api'
import type { HeldTask } from '@taskstream/task-api'
import { composite } from '@taskstream/task-processor'
import { describe, expect, test } from 'vitest'
import { decide, gate, handlerContext, heldTasks, said } from '../composite.ts'

const { success, failure, filter } = TaskDecision
const [one, two, three] = heldTasks('a', 'b', 'c') as [HeldTask, HeldTask, HeldTask]
const tasks = [one, two, three]

describe('a step of single tasks', () => {
  test.each([1, 2, 10_000])('handles at most %i at a time, beginning in their order', async (concurrency) => {
    const batch = heldTasks(...Array.from({ length: 9 }, (_, index) => String(index)))
    const begun: string[] = []
    let running = 0
    let most = 0
    const step = async ({ identifier }: HeldTask): Promise<void> => {
      begun.push(identifier)
      most = Math.max(most, ++running)
      for (let turns = 0; turns < 3 + (Number(identifier) % 4); turns++) await new Promise(setImmediate)
      running--
    }
    const decisions = await decide(composite().each('each', step, { concurrency }), batch)
    expect(most).toBe(Math.min(concurrency, batch.length))
    expect(begun).toEqual(batch.map(({ identifier }) => identifier))
    expect([...decisions.keys()]).toEqual(batch)
  })

  test('handles ten at a time unless it is told otherwise', async () => {
    let running = 0
    let most = 0
    const step = async (): Promise<void> => {
      most = Math.max(most, ++running)
      await new Promise(setImmediate)
      running--
    }
    await decide(composite().each('each', step), heldTasks(...Array.from({ length: 30 }, (_, index) => String(index))))
    expect(most).toBe(10)
  })

  test('fails the task alone when it throws, by the retry policy', async () => {
    const pipeline = composite().each('each', ({ identifier }) => {
      if (identifier === 'b') throw new Error('broken')
    })
    expect(said(await decide(pipeline, tasks))).toEqual(['a success', 'b failure: broken, by the policy', 'c success'])
  })

  test('says which task it is at', async () => {
    const at: string[] = []
    const context = { ...handlerContext(), at: ({ identifier }: HeldTask) => void at.push(identifier) }
    await decide(
      composite()
        .batch('batch', ([, second], _, { at }) => at(second!))
        .each('each', () => {}, { after: ['batch'] }),
      tasks,
      context,
    )
    expect(at).toEqual(['b', 'a', 'b', 'c'])
  })

  test('must return a decision or nothing, when it provides nothing', async () => {
    const decisions = await decide(composite().each('each', (() => 7) as never), [one])
    expect(said(decisions)).toEqual(['a failure: step "each" must return a TaskDecision, or nothing: 7, by the policy'])
  })
})

describe('a step of batches', () => {
  test('fails every task it was given when it throws, by the retry policy, and no other', async () => {
    const pipeline = composite()
      .each('first', ({ identifier }) => (identifier === 'a' ? filter('first') : undefined))
      .batch('broken', () => Promise.reject(new Error('broken')), { after: ['first'] })
    expect(said(await decide(pipeline, tasks))).toEqual([
      'a filter: first',
      'b failure: broken, by the policy',
      'c failure: broken, by the policy',
    ])
  })

  test('fails the tasks that it has not decided of, and says so', async () => {
    const pipeline = composite().batch('some', () => new Map([[two, success('some')]]))
    const missing = 'Step "some" returned no decision for this task'
    expect(said(await decide(pipeline, tasks))).toEqual([`a failure: ${missing}`, 'b success: some', `c failure: ${missing}`])
  })

  test.each([
    ['is not of the batch', heldTasks('a')[0]!],
    ['it was not given', one],
  ])('makes the whole batch fail when it decides of a task that %s', async (_, task) => {
    const seen: string[] = []
    const pipeline = composite()
      .each('first', ({ identifier }) => (identifier === 'a' ? filter() : undefined))
      .batch(
        'wrong',
        () =>
          new Map([
            [two, success()],
            [three, success()],
            [task, success()],
          ]),
        { after: ['first'] },
      )
      .batch('never', () => void seen.push('never'), { after: ['wrong'] })
    await expect(decide(pipeline, tasks)).rejects.toMatchObject({
      code: 'TASK_UNKNOWN',
      message: 'Step "wrong" decided of t/a@0, which it was not given',
      data: { task, step: 'wrong' },
    })
    expect(seen).toEqual([])
  })

  test('must return a Map of decisions or nothing', async () => {
    for (const [returned, text] of [
      [[], 'must return a Map'],
      [new Map([[one, 'success']]), 'must map tasks to instances'],
    ] as const)
      expect(said(await decide(composite().batch('batch', (() => returned) as never), [one]))[0]).toContain(
        `a failure: step "batch" ${text}`,
      )
  })
})

describe('a decision that is thrown', () => {
  const gone = filter('gone').withContinuation(true)
  const thrown = new TaskDecisionError(gone)
  const circular = new Error('round')
  circular.cause = circular
  const ways: [string, () => unknown][] = [
    [
      'at once',
      () => {
        throw thrown
      },
    ],
    [
      'later',
      async () => {
        await new Promise(setImmediate)
        throw thrown
      },
    ],
    [
      'in a later stage',
      () =>
        Promise.resolve()
          .then(() => {
            throw thrown
          })
          .finally(() => {}),
    ],
    [
      'as a cause',
      () => {
        throw new Error('outer', { cause: new AggregateError([], 'middle', { cause: thrown }) })
      },
    ],
  ]
  test.each(ways)('%s is the decision, its continuation too, and no policy is asked (B21)', async (_, run) => {
    let went = 0
    for (const pipeline of [composite().each('step', run as never), composite().batch('step', run as never)]) {
      const decisions = await decide(
        pipeline.each('next', () => void went++, { after: ['step'] }),
        [one],
      )
      expect(decisions.get(one)).toEqual(gone)
    }
    expect(went).toBe(2)
  })

  test('may be a failure that is not to be tried again (B21)', async () => {
    const pipeline = composite().each('step', () => {
      throw new TaskDecisionError(failure('declined'))
    })
    expect(said(await decide(pipeline, [one]))).toEqual(['a failure: declined'])
  })

  test('is none, if an error is only its own cause', async () => {
    const decisions = await decide(
      composite().each('step', () => Promise.reject(circular)),
      [one],
    )
    expect(said(decisions)).toEqual(['a failure: round, by the policy'])
  })
})

describe('an aborted composite', () => {
  test('begins no step and no task any more, ends with what runs, and rejects with the reason', async () => {
    const controller = new AbortController()
    const hold = gate()
    const events: string[] = []
    const pipeline = composite()
      .each(
        'each',
        async ({ identifier }, _, { signal }) => {
          signal.addEventListener('abort', () => events.push(`${identifier} hears`))
          await hold.pass()
          events.push(`${identifier} ends`)
        },
        { concurrency: 1 },
      )
      .batch('next', () => void events.push('next'), { after: ['each'] })
    const decided = decide(pipeline, tasks, handlerContext(controller.signal)).finally(() => events.push('rejects'))
    await hold.reached
    const reason = new Error('enough')
    controller.abort(reason)
    hold.open()
    await expect(decided).rejects.toBe(reason)
    expect(events).toEqual(['a hears', 'a ends', 'rejects'])
  })

  test('does not begin at all when it is aborted already', async () => {
    const events: string[] = []
    const pipeline = composite()
      .each('each', () => void events.push('each'))
      .batch('batch', () => void events.push('batch'))
    await expect(decide(pipeline, tasks, handlerContext(AbortSignal.abort(new Error('enough'))))).rejects.toThrow('enough')
    expect(events).toEqual([])
  })

  test('waits for the tasks of a step that are still at work', async () => {
    const controller = new AbortController()
    const hold = gate()
    const events: string[] = []
    const pipeline = composite().each(
      'each',
      async ({ identifier }) => {
        if (identifier === 'a') await hold.pass()
        else controller.abort(new Error('enough'))
        events.push(`${identifier} ends`)
      },
      { concurrency: 2 },
    )
    const decided = expect(decide(pipeline, tasks, handlerContext(controller.signal)).finally(() => events.push('rejects')))
    const rejects = decided.rejects.toThrow('enough')
    await hold.reached
    // By then the last of them has been refused.
    await new Promise(setImmediate)
    hold.open()
    await rejects
    expect(events).toEqual(['b ends', 'a ends', 'rejects'])
  })

  test('takes neither what is thrown nor what is returned after the abort for a decision', async () => {
    for (const end of [
      () => {},
      () => {
        throw new Error('AbortError')
      },
      () => new Map([[heldTasks('x')[0]!, success()]]),
    ]) {
      const controller = new AbortController()
      const pipeline = composite().batch('batch', () => {
        controller.abort(new Error('enough'))
        return end()
      })
      await expect(decide(pipeline, tasks, handlerContext(controller.signal))).rejects.toThrow('enough')
    }
  })

  test('asks the steps beside to let go when the batch is lost by one of them, and waits for them', async () => {
    const events: unknown[] = []
    const hold = gate()
    const pipeline = composite()
      .batch('beside', async (_, __, { signal }) => {
        signal.addEventListener('abort', () => events.push((signal.reason as { code: string }).code))
        await hold.pass()
        events.push('beside ends')
      })
      .batch('wrong', () => new Map([[heldTasks('x')[0]!, success()]]))
    const decided = decide(pipeline, tasks).finally(() => events.push('rejects'))
    decided.catch(() => {})
    await expect.poll(() => events).toEqual(['TASK_UNKNOWN'])
    hold.open()
    await expect(decided).rejects.toMatchObject({ code: 'TASK_UNKNOWN' })
    expect(events).toEqual(['TASK_UNKNOWN', 'beside ends', 'rejects'])
  })
})
