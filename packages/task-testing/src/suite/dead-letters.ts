/** The copies of failed tasks, and which tasks have failed for good. */
import { TaskDecision, taskLimits } from '@taskstream/task-api'
import type { TaskInfo, TopicLimits } from '@taskstream/task-api'
import { beforeEach, expect, test } from 'vitest'
import { part } from './engine.ts'
import type { Part } from './engine.ts'
import { useFixture } from './fixture.ts'

export const deadLetters: Part = part('a copy of a failed task', (engine) => {
  const fixture = useFixture(engine)
  const { failure, retry, snooze } = TaskDecision
  let dead: string
  beforeEach(async () => {
    dead = `${fixture.topic}-dead`
    await fixture.commit<boolean>((transaction) => fixture.tasks.initialize(transaction, dead))
    await fixture.commit<TopicLimits>((transaction) => fixture.tasks.limit(transaction, fixture.topic, { deadLetter: dead }))
  })
  const copies = (): Promise<TaskInfo[]> => fixture.commit<TaskInfo[]>((transaction) => fixture.tasks.page(transaction, dead))

  test('has its input, priority and reference, and none of these if it has none', async () => {
    await fixture.push({ identifier: 'a', input: '1', priority: 1, reference: 'r' }, { identifier: 'b', priority: -1 }, 'c')
    await fixture.complete(await fixture.poll(), failure())
    const [a, b, c] = (await copies()).toSorted((left, right) => (left.identifier < right.identifier ? -1 : 1))
    expect(a).toMatchObject({ identifier: 'a', input: '1', priority: 1, reference: 'r' })
    expect(b).toMatchObject({ identifier: 'b', priority: -1 })
    expect(c).toMatchObject({ identifier: 'c', priority: 0 })
    for (const copy of [b, c]) {
      expect(copy).not.toHaveProperty('input')
      expect(copy).not.toHaveProperty('reference')
    }
  })

  test('is made at its last try, unless that does not count', async () => {
    await fixture.push({ identifier: 'a', maxTries: 2 }, { identifier: 'b', maxTries: 1 }, 'c')
    const [a, b, c] = await fixture.poll()
    await fixture.complete([a!, c!], retry({ afterMs: 60_000 }))
    await fixture.complete([b!], snooze({ afterMs: 60_000 }))
    expect(await copies()).toEqual([])
    expect(await fixture.states()).toEqual({ delayed: 3 })
    await fixture.commit((transaction) =>
      fixture.tasks.reschedule(transaction, fixture.topic, [a!.sequence, b!.sequence], { delayMs: 0 }),
    )
    await fixture.complete(await fixture.poll(), retry({ afterMs: 60_000 }))
    expect(await copies()).toMatchObject([{ identifier: 'a' }, { identifier: 'b' }])
    expect(await fixture.states()).toEqual({ failed: 2, delayed: 1 })
  })

  test('has all headers if they just fit, and else says only of what it is a copy', async () => {
    const sized = async (more: number): Promise<TaskInfo> => {
      // The sequence is known only afterwards, and seldom has another number of digits than the last one.
      for (let last = (await fixture.push('last'))[0]!.sequence; ;) {
        const taken = JSON.stringify({ pad: '', dead: { topic: fixture.topic, sequence: last } }).length
        const pad = 'x'.repeat(taskLimits.headersLength - taken + more)
        const [task] = await fixture.push({ identifier: `t${more}`, headers: { pad } })
        await fixture.complete(await fixture.poll(), failure())
        if (String(task!.sequence).length === String(last).length)
          return (await copies()).find(({ externalId }) => externalId === `${fixture.topic}/${task!.sequence}`)!
        last = task!.sequence
      }
    }
    expect(Object.keys((await sized(0)).headers!).toSorted()).toEqual(['dead', 'pad'])
    expect(Object.keys((await sized(1)).headers!)).toEqual(['dead'])
  })
})
