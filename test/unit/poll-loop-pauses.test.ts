/** When a topic is polled, and how long there is nothing to do: to the millisecond, half of what chance may take away. */
import { TaskDecision, TaskError } from '@taskstream/task-api'
import type { HeldTask } from '@taskstream/task-api'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { namesOf, taskOf, tasksOf } from './answering.ts'
import { expectPauses, started } from './looping.ts'
import type { Looping } from './looping.ts'

const refused = new TaskError('ARGUMENT_INVALID', 'refused')
const succeed = (tasks: readonly HeldTask[]): Map<HeldTask, TaskDecision> =>
  new Map(tasks.map((task) => [task, TaskDecision.success()]))

beforeEach(() => {
  vi.spyOn(Math, 'random').mockReturnValue(0.5)
})
afterEach(() => {
  vi.restoreAllMocks()
})

describe('a topic without tasks', () => {
  test.each([
    [20_000, [87.5, 175, 350, 700, 1_400, 2_800, 5_600, 11_200, 17_500, 17_500]],
    [500, [4.375, 8.75, 17.5, 35, 70, 140, 280, 437.5, 437.5]],
    [100_000, [131.25, 262.5, 525, 1_050]],
  ])('is polled ever less often, where idleMs is %d', async (idleMs, pauses) => {
    const loop = await started({ idleMs })
    expect(loop.asked).toEqual(['promoteDue', 'poll 2', 'promoteDue'])
    expect(loop.told).toEqual([['onEmpty', { topic: 'mail' }]])
    await expectPauses(loop, pauses)
    expect(loop.clock.pauses).toHaveLength(pauses.length + 1)
    // Nothing is known to be due: it is looked for before it sleeps, and not before it polls.
    expect(loop.asked.slice(3)).toEqual(pauses.flatMap(() => ['poll 2', 'promoteDue']))
  })

  test('is polled often again after one came', async () => {
    const loop = await started()
    await expectPauses(loop, [87.5, 175])
    loop.ready.push(...tasksOf('a'))
    loop.loop.wake()
    await loop.settled()
    expect(loop.handled).toEqual(['a'])
    await expectPauses(loop, [87.5, 175])
  })

  test('is polled as soon as it is woken, and at once if that was meanwhile', async () => {
    const loop = await started()
    loop.asked.splice(0)
    let woken = 0
    loop.onPoll = () => {
      if (woken++ === 0) loop.loop.wake()
    }
    loop.loop.wake()
    await loop.settled()
    // What was not asked at the end of the first is asked at that of the second.
    expect(loop.asked).toEqual(['poll 2', 'poll 2', 'promoteDue'])
  })

  test('is polled when a task is due, if that is sooner, and due tasks are looked for first', async () => {
    const loop = await started({}, (one) => (one.due = { promoted: 0, nextDueMs: 40 }))
    loop.asked.splice(0)
    await expectPauses(loop, [40])
    expect(loop.asked).toEqual(['promoteDue', 'poll 2', 'promoteDue'])
    loop.asked.splice(0)
    loop.clock.pass(39)
    loop.loop.wake()
    await loop.settled()
    expect(loop.asked).toEqual(['poll 2', 'promoteDue'])
    expect(loop.clock.pauses.at(-1)).toBe(40)
    loop.due = { promoted: 0 }
    loop.clock.pass(40)
    await loop.settled()
    await expectPauses(loop, [700, 1_400])
  })

  test.each([1, 40])('is polled when a task is due, of which it hears only before it sleeps: in %d ms', async (ms) => {
    const loop = await started({}, (one) => {
      one.onPoll = () => {
        one.due = { promoted: 0, nextDueMs: ms }
      }
    })
    loop.asked.splice(0)
    await expectPauses(loop, [ms])
    expect(loop.asked).toEqual(['promoteDue', 'poll 2', 'promoteDue'])
  })

  test('is looked at ever less often while others hold what is due, and at once when that is over', async () => {
    const loop = await started({}, (one) => (one.due = { promoted: 0, nextDueMs: 0 }))
    loop.asked.splice(0)
    await expectPauses(loop, [35, 140, 350, 700, 875, 875])
    expect(loop.asked.length).toBeLessThanOrEqual(6 * 3)
    loop.due = { promoted: 0, nextDueMs: 0 }
    loop.onRelease = () => {
      loop.due = { promoted: loop.due.nextDueMs === 0 ? 1 : 0, nextDueMs: 5_000 }
    }
    loop.loop.wake()
    await loop.settled()
    loop.onRelease = () => {}
    loop.due = { promoted: 0, nextDueMs: 0 }
    loop.loop.wake()
    await loop.settled()
    expect(loop.clock.pauses.at(-1)).toBeLessThanOrEqual(35)
  })

  test('is polled at once where a task has become ready', async () => {
    const loop = await started()
    loop.asked.splice(0)
    let promoted = 0
    loop.onRelease = () => {
      loop.due = { promoted: promoted++ === 0 ? 1 : 0, nextDueMs: 5_000 }
    }
    loop.loop.wake()
    await loop.settled()
    expect(loop.asked).toEqual(['poll 2', 'promoteDue', 'poll 2', 'promoteDue'])
  })
})

describe('a topic that is busy', () => {
  /** One task is handled at a time, until the test lets it be done. */
  const slow = async (prepare?: (loop: Looping) => void): Promise<Looping & { next(name: string): Promise<void> }> => {
    let gate = Promise.withResolvers<void>()
    const loop = await started(
      {
        size: 1,
        handler: async (batch) => {
          await gate.promise
          return succeed(batch)
        },
      },
      (one) => {
        one.ready.push(...tasksOf('a'))
        prepare?.(one)
      },
    )
    return {
      ...loop,
      next: async (name) => {
        loop.asked.splice(0)
        loop.ready.push(taskOf(name))
        const { resolve } = gate
        gate = Promise.withResolvers()
        resolve()
        await loop.settled()
      },
    }
  }

  test('is looked through for due tasks every second, before it is polled', async () => {
    const { asked, clock, next } = await slow()
    expect(asked).toEqual(['promoteDue', 'poll 1'])
    clock.pass(999)
    await next('b')
    expect(asked).toEqual(['complete a', 'poll 1'])
    clock.pass(1)
    await next('c')
    expect(asked).toEqual(['complete b', 'promoteDue', 'poll 1'])
    clock.pass(999)
    await next('d')
    expect(asked).toEqual(['complete c', 'poll 1'])
  })

  test('is looked through for due tasks when one is due', async () => {
    const loop = await slow((one) => (one.due = { promoted: 0, nextDueMs: 300 }))
    const { asked, clock, next } = loop
    clock.pass(299)
    await next('b')
    expect(asked).toEqual(['complete a', 'poll 1'])
    clock.pass(1)
    await next('c')
    expect(asked).toEqual(['complete b', 'promoteDue', 'poll 1'])
  })

  test('is looked through for due tasks a second after it was empty, or when one is due', async () => {
    const loop = await started({ idleMs: 100_000 })
    let gate = Promise.withResolvers<void>()
    loop.asked.splice(0)
    loop.onPoll = () => gate.promise
    loop.clock.pass(131.25)
    loop.ready.push(...tasksOf('abcd'))
    gate.resolve()
    await loop.settled()
    expect(loop.asked).toEqual(['poll 2', 'complete a,b', 'poll 2', 'complete c,d', 'poll 2', 'promoteDue'])
    loop.clock.pass(100)
    // The next poll takes nine hundred milliseconds.
    gate = Promise.withResolvers()
    loop.asked.splice(0)
    loop.ready.push(...tasksOf('abcdef'))
    loop.loop.wake()
    await loop.settled()
    gate.resolve()
    gate = Promise.withResolvers()
    await loop.settled()
    loop.clock.pass(1_000)
    gate.resolve()
    await loop.settled()
    expect(loop.asked.slice(0, 5)).toEqual(['poll 2', 'complete a,b', 'poll 2', 'complete c,d', 'promoteDue'])
  })

  test('is left alone while there are as many batches as there may be, and looked at every second', async () => {
    const { asked, clock } = await slow()
    expect(clock.pauses).toEqual([1_000])
    asked.splice(0)
    clock.pass(1_000)
    expect(asked).toEqual([])
    await new Promise((resolve) => setImmediate(resolve))
    expect([asked, clock.pauses]).toEqual([[], [1_000, 1_000]])
  })

  test('leaves other work of the process its turn', async () => {
    let polls = 0
    let others = 0
    await started({ size: 1 }, (loop) => {
      loop.onPoll = () => {
        if (polls++ === 0) setImmediate(() => (others = polls))
        if (polls < 10) loop.ready.push(taskOf(`t${polls}`))
      }
    })
    expect(polls).toBeGreaterThan(9)
    expect(others).toBeLessThan(3)
  })
})

describe('a batch of which nothing could be written', () => {
  const refusing = (): Promise<Looping> =>
    started({ size: 1 }, (one) => {
      one.ready.push(...tasksOf('a'))
      one.answers.answer = (verb) => {
        if (verb === 'complete') throw refused
      }
    })

  test('has nothing polled for a while, ever longer while there are such only', async () => {
    const loop = await refusing()
    expect(loop.asked).toEqual(['promoteDue', 'poll 1', 'complete a', 'complete a', 'hand back a'])
    for (const [index, pause] of [75, 150, 300, 600, 1_200, 2_400, 4_800, 7_500, 7_500].entries()) {
      expect([index, loop.clock.pauses.at(-1)]).toEqual([index, pause])
      loop.asked.splice(0)
      loop.clock.pass(pause - 0.5)
      loop.loop.wake()
      await loop.settled()
      expect([loop.asked, loop.clock.pauses.at(-1)]).toEqual([[], 0.5])
      loop.ready.push(taskOf(`t${index}`))
      loop.clock.pass(0.5)
      await loop.settled()
      expect(loop.handled.at(-1)).toBe(`t${index}`)
    }
    loop.answers.answer = () => {}
    loop.ready.push(...tasksOf('b'))
    loop.clock.pass(7_500)
    await loop.settled()
    expect(loop.clock.pauses.at(-1)).toBe(87.5)
    // It begins anew.
    loop.answers.answer = (verb) => {
      if (verb === 'complete') throw refused
    }
    loop.ready.push(...tasksOf('c'))
    loop.loop.wake()
    await loop.settled()
    expect(loop.clock.pauses.at(-1)).toBe(75)
  })

  test('is no setback where the handler has handed it back itself', async () => {
    const loop = await started(
      {
        size: 1,
        handler: () => {
          throw new TaskError('SHUTDOWN', 'not now')
        },
      },
      (one) => one.ready.push(...tasksOf('a')),
    )
    expect(loop.asked).toEqual(['promoteDue', 'poll 1', 'hand back a', 'poll 1', 'promoteDue'])
  })

  test('is handed back later when even that could not be written, and before the next poll', async () => {
    const loop = await started({ size: 1 }, (one) => {
      one.ready.push(...tasksOf('a'))
      one.answers.answer = () => {
        throw refused
      }
    })
    expect(loop.asked).toEqual(['promoteDue', 'poll 1', 'complete a', 'complete a', 'hand back a'])
    expect([namesOf(loop.leftovers.of('mail')), loop.clock.pauses.at(-1)]).toEqual(['a', 75])
    loop.asked.splice(0)
    loop.answers.answer = () => {}
    loop.clock.pass(75)
    await loop.settled()
    expect(loop.asked).toEqual(['hand back a', 'poll 1', 'promoteDue'])
    expect(loop.leftovers.of('mail')).toEqual([])
  })

  test('is waited for no longer than until it may be handed back', async () => {
    const loop = await started({ size: 1 })
    loop.answers.answer = () => {
      throw refused
    }
    loop.leftovers.add('mail', tasksOf('x'))
    loop.loop.wake()
    loop.asked.splice(0)
    await loop.settled()
    // Sooner than it would poll again.
    expect([loop.asked, loop.clock.pauses.at(-1)]).toEqual([['poll 1', 'promoteDue'], 75])
  })
})
