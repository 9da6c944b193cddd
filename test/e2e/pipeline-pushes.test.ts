/** The pushes and junctions of steps are committed with the completion of their tasks, or not at all. */
import { TaskDecision } from '@taskstream/task-api'
import type { HeldTask, TaskCreation, TaskInfo, TransactionSource } from '@taskstream/task-api'
import { composite, handleBatch, pushing, tagging, TaskNode } from '@taskstream/task-processor'
import type {
  BatchHandler,
  BatchOutcome,
  Composite,
  Pushes,
  Pushing,
  PushingOptions,
  TaskContext,
} from '@taskstream/task-processor'
import { beforeEach, describe, expect, test } from 'vitest'
import { useFixture } from '@taskstream/task-testing/suite'
import { canRun, engine } from '../subject.ts'
import type { AnyTransaction } from '../subject.ts'

type Step = (tasks: readonly HeldTask[], pushes: Pushes) => void

describe.skipIf(!canRun)('what steps push', () => {
  const fixture = useFixture(engine, { topic: { keyed: true } })
  let target = ''
  let other = ''
  /** The calls of verbs in their order, each with its topic, its kind and its identifiers. */
  let calls: string[]
  let repository: PushingOptions<AnyTransaction>['repository']
  beforeEach(async () => {
    ;[target, other] = [`a-target-of-${fixture.topic}`, `another-of-${fixture.topic}`]
    calls = []
    await fixture.commit(async (transaction) => {
      for (const topic of [target, other]) await fixture.tasks.initialize(transaction, topic, { keyed: true })
    })
    repository = {
      push: (transaction, topic, creations, options) => {
        const identifiers = (creations as TaskCreation[]).map(({ identifier }) => identifier)
        calls.push(`${topic === target ? 'target' : 'other'} ${options?.insertion} ${identifiers.join(',')}`)
        return fixture.tasks.push(transaction, topic, creations, options)
      },
      junction: (transaction, topic, junction, groups) => {
        calls.push(
          `${topic === target ? 'target' : 'other'} ${junction} ${[...groups].map((group) => group.join('+')).join(',')}`,
        )
        return fixture.tasks.junction(transaction, topic, junction, groups)
      },
    }
  })

  const pushed = async (...identifiers: string[]): Promise<HeldTask[]> => {
    await fixture.push(...identifiers)
    return fixture.poll()
  }
  const handle = (handler: Composite<AnyTransaction, string>, tasks: readonly HeldTask[]): Promise<BatchOutcome> =>
    handleBatch(tasks, { repository: fixture.tasks, transactions: fixture.subject.transactions, topic: fixture.topic, handler })
  /** A pipeline of one step that pushes. */
  const pushingBy = (step: Step, outbox: Pushing<AnyTransaction> = pushing({ repository })): Composite<AnyTransaction, 'push'> =>
    composite({ contexts: [outbox] }).batch('push', (tasks, supplement) => step(tasks, supplement.require(outbox)))
  const rows = async (topic: string): Promise<string[]> =>
    (await fixture.commit<TaskInfo[]>((transaction) => fixture.tasks.page(transaction, topic))).map(
      ({ identifier, state, input, reference }) =>
        [identifier, state, input, reference].filter((one) => one !== undefined).join(' '),
    )

  test('is there with the completion, for tasks that are held and that every step continued', async () => {
    const batch = await pushed('a', 'b', 'c', 'd', 'e')
    const outbox = pushing({ repository, postprocess: tagging(({ identifier }) => `of ${identifier}`) })
    const pipeline = composite({ contexts: [outbox] })
      .each('push', (task, supplement) =>
        supplement.require(outbox).pushByTask(task, target, ({ identifier }) => ({ identifier, input: 'x' })),
      )
      .each(
        'decide',
        ({ identifier }) => {
          if (identifier === 'b') return TaskDecision.filter()
          if (identifier === 'c') return TaskDecision.success().withContinuation(false)
          return identifier === 'd' ? TaskDecision.failure().withContinuation(true) : undefined
        },
        { after: ['push'] },
      )
      .batch('lose', async (tasks) => void (await fixture.complete([tasks.at(-1)!])), { after: ['decide'] })
    await handle(pipeline, batch)
    expect(await rows(target)).toEqual(['a ready x of a', 'd ready x of d'])
    expect(await fixture.states()).toEqual({ succeeded: 3, filtered: 1, failed: 1 })
  })

  test('is not there when the completing transaction is rolled back, and nobody is woken', async () => {
    const batch = await pushed('a')
    await fixture.commit((transaction) => fixture.tasks.push(transaction, other, { identifier: 'a', suspended: true }))
    const outbox = pushing({ repository })
    const events: string[] = []
    const failing: TaskContext<AnyTransaction> = {
      apply: () => Promise.reject(new Error('last')),
      afterTransaction: () => void events.push('afterTransaction'),
    }
    const pipeline = composite({ contexts: [outbox, failing] }).each('push', (task, supplement) => {
      supplement.require(outbox).pushByTask(task, target)
      supplement.require(outbox).junctionByTask(task, other)
    })
    await handle(pipeline, batch)
    expect(calls).toEqual(['target append a', 'other singular a'])
    expect([await rows(target), await rows(other)]).toEqual([[], ['a suspended']])
    expect(await fixture.states()).toEqual({ failed: 1 })
    expect(events).toEqual([])
  })

  test('fails the batch when its topic is unknown: nothing of it is there', async () => {
    const batch = await pushed('a', 'b')
    const { decisions } = await handle(
      pushingBy(([a], pushes) => {
        pushes.pushByTask(a!, target)
        pushes.pushByTask(a!, 'nowhere')
      }),
      batch,
    )
    for (const { explanations } of decisions.values()) expect(explanations[0]).toMatchObject({ code: 'TOPIC_UNKNOWN' })
    expect(await rows(target)).toEqual([])
    expect(await fixture.states()).toEqual({ failed: 2 })
  })

  test('is one push for what was asked with one insertion, in the order of the tasks; another insertion is another push', async () => {
    const batch = await pushed('a', 'b', 'c')
    await handle(
      pushingBy(([a, b, c], pushes) => {
        pushes.pushByTask(c!, other)
        pushes.pushByTask([b!, c!], target, ({ identifier }) => [`${identifier}1`, { identifier: `${identifier}2` }])
        pushes.pushByTask(a!, target, 'a1')
        pushes.pushByTask(b!, target, 'b3')
        pushes.pushByTask([a!, b!, c!], target, 'same', { insertion: 'supersede' })
        pushes.pushByTask([a!], target, 'same')
      }),
      batch,
    )
    expect(calls).toEqual([
      'target append a1,b1,b2,b3,c1,c2',
      'target supersede same,same,same',
      'target append same',
      'other append c',
    ])
    expect(await rows(target)).toEqual(
      ['a1', 'b1', 'b2', 'b3', 'c1', 'c2']
        .map((one) => `${one} ready`)
        .concat(['same redundant', 'same redundant', 'same ready', 'same ready']),
    )
  })

  test('stands in the order of the tasks, whichever is done first', async () => {
    const batch = await pushed('a', 'b', 'c')
    const outbox = pushing({ repository })
    let left = batch.length
    const pipeline = composite({ contexts: [outbox] }).each('push', async (task, supplement) => {
      const turn = left--
      for (let turns = 0; turns < turn; turns++) await new Promise(setImmediate)
      supplement.require(outbox).pushByTask(task, target)
    })
    await handle(pipeline, batch)
    expect(calls).toEqual(['target append a,b,c'])
  })

  test('may be nothing, for one topic and not for another, or at last for no task (B25)', async () => {
    const batch = await pushed('a', 'b')
    const { decisions } = await handle(
      pushingBy(([a], pushes) => {
        pushes.pushByTask([], target)
        pushes.pushByTask(a!, target, [])
        pushes.pushByTask(a!, other, () => [])
        pushes.pushByTask(a!, other, 'x')
        pushes.junctionByTask([], target)
      }),
      batch,
    )
    expect(calls).toEqual(['other append x'])
    expect([...decisions.values()].map(({ result }) => result)).toEqual(['success', 'success'])
    await fixture.nextTopic()
    const outbox = pushing({ repository })
    const pipeline = composite({ contexts: [outbox] })
      .each('push', (task, supplement) => supplement.require(outbox).pushByTask(task, target))
      .each('filter', () => TaskDecision.filter())
    await handle(pipeline, await pushed('a'))
    expect(calls).toEqual(['other append x'])
    expect(await fixture.states()).toEqual({ filtered: 1 })
  })

  test('joins what has met, of each group with the task itself, after every push and in a fixed order (B25)', async () => {
    const batch = await pushed('a', 'b', 'c')
    const suspended = (...identifiers: string[]) => identifiers.map((identifier) => ({ identifier, suspended: true }))
    await fixture.commit((transaction) => fixture.tasks.push(transaction, target, suspended('a', 'b', 'c', 'b:x')))
    await handle(
      pushingBy(([a, b, c], pushes) => {
        pushes.junctionByTask(c!, other, 'z', { junction: 'eternal' })
        pushes.junctionByTask([c!, b!], target, ({ identifier }) => [`${identifier}:x`, identifier])
        pushes.junctionByTask(a!, target, 'a:x')
        pushes.pushByTask(a!, target, { identifier: 'a:x', suspended: true })
      }),
      batch,
    )
    expect(calls).toEqual(['target append a:x', 'target singular a+a:x,b+b:x,c+c:x', 'other eternal c+z'])
    expect(await rows(target)).toEqual(['a ready', 'b ready', 'c suspended', 'b:x ready', 'a:x ready'])
  })

  test('joins for tasks that every step continued, and no others', async () => {
    const batch = await pushed('a', 'b')
    await fixture.commit((transaction) =>
      fixture.tasks.push(
        transaction,
        target,
        ['a', 'b'].map((identifier) => ({ identifier, suspended: true })),
      ),
    )
    const outbox = pushing({ repository })
    const pipeline = composite({ contexts: [outbox] })
      .batch('join', (tasks, supplement) => supplement.require(outbox).junctionByTask(tasks, target))
      .each('filter', ({ identifier }) => (identifier === 'a' ? TaskDecision.filter() : undefined))
    await handle(pipeline, batch)
    expect(await rows(target)).toEqual(['a suspended', 'b ready'])
  })

  test('is what the last run of the completion pushed, if the transaction source runs it again', async () => {
    const batch = await pushed('a', 'b')
    const rolledBack = new Error('rolled back')
    const again: TransactionSource<AnyTransaction> = async (work) => {
      const first = fixture.commit(async (transaction) => {
        await work(transaction)
        throw rolledBack
      })
      await expect(first).rejects.toBe(rolledBack)
      // Meanwhile somebody else has completed the first one.
      await fixture.complete([batch[0]!])
      return fixture.commit(work)
    }
    const woken: string[] = []
    const { handle: handlePipeline } = pushingBy(([a, b], pushes) => {
      pushes.pushByTask(a!, target)
      pushes.pushByTask(b!, other)
    }).open(fixture.topic)
    const handler: BatchHandler<AnyTransaction> = (tasks, context) =>
      handlePipeline(tasks, { ...context, wake: (topic) => void woken.push(topic) })
    await handleBatch(batch, { repository: fixture.tasks, transactions: again, topic: fixture.topic, handler })
    expect(calls).toEqual(['target append a', 'other append b', 'other append b'])
    expect([await rows(target), await rows(other)]).toEqual([[], ['b ready']])
    expect(woken).toEqual([other])
  })

  test('wakes the processors of the topics that it touched, once it is committed', async () => {
    await fixture.commit((transaction) => fixture.tasks.push(transaction, target, { identifier: 'a', suspended: true }))
    await fixture.push('a', 'b')
    const events: string[] = []
    const own = await fixture.owner()
    const pipeline = pushingBy((tasks, pushes) => {
      pushes.junctionByTask(tasks, target)
      pushes.pushByTask(tasks[1]!, other)
      // Nothing is pushed to this topic, and no group has met, so it is not touched.
      pushes.pushByTask(tasks, fixture.topic, [])
      pushes.junctionByTask(tasks, fixture.topic, 'nobody')
    })
    const handled: string[] = []
    await using node = new TaskNode<AnyTransaction>({
      repository: own,
      transactions: fixture.subject.transactions,
      listener: {
        onComplete: ({ topic }) => events.push(`completed ${topic}`),
        onError: ({ error }) => events.push(String(error)),
      },
    })
    node.process(fixture.topic, {
      handler: {
        open: (topic) => {
          const opened = pipeline.open(topic)
          return {
            ...opened,
            handle: (batch, context) =>
              opened.handle(batch, {
                ...context,
                wake: (topic) => {
                  events.push(`wake ${topic}`)
                  context.wake(topic)
                },
              }),
          }
        },
      },
    })
    for (const topic of [target, other])
      node.process(topic, { handler: (batch) => void handled.push(...batch.map(({ identifier }) => `${topic} ${identifier}`)) })
    await node.start()
    await expect.poll(() => handled.toSorted()).toEqual([`${target} a`, `${other} b`])
    await node.stop()
    expect(events.filter((event) => event.startsWith('wake') || event === `completed ${fixture.topic}`)).toEqual([
      `completed ${fixture.topic}`,
      `wake ${other}`,
      `wake ${target}`,
    ])
  })
})
