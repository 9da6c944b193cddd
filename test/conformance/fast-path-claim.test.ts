/** A fast-path claim that took less than it had locked, as others wrote meanwhile: the rest comes from another claim. */
import { useFixture, names } from '@taskstream/task-testing/suite'
import { describe, expect, test } from 'vitest'
import { canRun, engine } from '../subject.ts'
import type { HeldTask } from '@taskstream/task-api'
import type { Tasks } from '../subject.ts'
import { testOn } from '../test-on.ts'

describe.skipIf(!canRun)('a fast-path claim', () => {
  const fixture = useFixture(engine)

  /** A repository of which the next fast-path claim reports that it has locked one row more than it took. Then `meanwhile` is done. */
  const overtaken = async (
    meanwhile: () => Promise<unknown>,
  ): Promise<{ tasks: Tasks; whenQuiet(poll: () => Promise<HeldTask[]>): Promise<HeldTask[]> }> => {
    let [isNext, count] = [false, 0]
    const tasks = fixture.subject.tasks({
      adapt: (adapter) => ({
        ...adapter,
        execute: async (transaction, statement, plan) => {
          const rows = await adapter.execute(transaction, statement, plan)
          const text = statement.texts.join('')
          if (!isNext || !text.includes('fresh as materialized') || text.includes(' as status')) return rows
          isNext = false
          count++
          await meanwhile()
          return rows.map((row) => (row['sequence'] === null ? { ...row, attempt: Number(row['attempt']) + 1 } : row))
        },
      }),
    })
    await fixture.commit((transaction) => tasks.register(transaction))
    return {
      tasks,
      // As long as others have transactions open, and other tests may, polls learn, and their claims are no fast ones.
      whenQuiet: async (poll) => {
        let held: HeldTask[] = []
        const isFast = async (): Promise<boolean> => {
          await fixture.complete([...held, ...(await fixture.poll(9, tasks))], undefined, tasks)
          await quieten(tasks)
          isNext = true
          held = await poll()
          isNext = false
          return count > 0
        }
        await expect.poll(isFast, { interval: 1 }).toBe(true)
        return held
      },
    }
  }
  const quieten = async (tasks: Tasks): Promise<void> => {
    await fixture.push('before')
    await fixture.complete(await fixture.poll(1, tasks), undefined, tasks)
    expect(await fixture.poll(1, tasks)).toEqual([])
  }

  test('loses none of the tasks that it took', async () => {
    const { tasks, whenQuiet } = await overtaken(async () => {})
    const held = await whenQuiet(async () => {
      await fixture.push('a', 'b')
      return fixture.poll(2, tasks)
    })
    expect(names(held)).toEqual(['a', 'b'])
    expect(await fixture.states()).toMatchObject({ active: 2 })
  })

  testOn(['postgres'])('gets the rest from what is ready, and no more than were asked for', async () => {
    const { tasks, whenQuiet } = await overtaken(() => fixture.push('c', 'd', 'e'))
    const held = await whenQuiet(async () => {
      await fixture.push('a', 'b')
      return fixture.poll(3, tasks)
    })
    expect(names(held)).toEqual(['a', 'b', 'c'])
    expect(await fixture.states()).toMatchObject({ active: 3, ready: 2 })
  })

  testOn(['postgres'])('that took none gets as many as were asked for', async () => {
    const { tasks, whenQuiet } = await overtaken(() => fixture.push('a', 'b', 'c'))
    const held = await whenQuiet(() => fixture.poll(2, tasks))
    expect(names(held)).toEqual(['a', 'b'])
    expect(await fixture.states()).toMatchObject({ active: 2, ready: 1 })
  })

  test('gives the tasks of a quiet topic by one statement, in order, as many as were asked for', async () => {
    const learned: boolean[] = []
    const tasks = fixture.subject.tasks({
      adapt: (adapter) => ({
        ...adapter,
        execute: (transaction, statement, plan) => {
          const text = statement.texts.join('')
          if (text.includes('start as materialized')) learned.push(text.includes(' as status'))
          return adapter.execute(transaction, statement, plan)
        },
      }),
    })
    await fixture.commit((transaction) => tasks.register(transaction))
    // A poll learns while transactions of others are open that were open at its beginning.
    const quick = async (): Promise<boolean[]> => {
      await quieten(tasks)
      await fixture.push('a', 'b', 'c')
      learned.length = 0
      const held = await fixture.poll(2, tasks)
      expect(names(held)).toEqual(['a', 'b'])
      expect(held).toMatchObject([
        { attempt: 1, tries: 1 },
        { attempt: 1, tries: 1 },
      ])
      const statements = [...learned]
      await fixture.complete([...held, ...(await fixture.poll(9, tasks))], undefined, tasks)
      return statements
    }
    await expect.poll(quick, { interval: 1 }).toEqual([false])
  })
})
