/** What users are given for their own tests, on both of its drivers. */
import { eachTask, TaskNode } from '@taskstream/task-processor'
import { testTasks } from '@taskstream/task-testing'
import type { TestTasks } from '@taskstream/task-testing'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { drivers, later, now, openTestTasks } from '../task-testing.ts'
import type { Connection } from '../task-testing.ts'

describe.each(drivers)('on %s', (driver) => {
  let tasks: TestTasks<Connection>
  beforeEach(async () => {
    tasks = await openTestTasks(driver)
  })
  afterEach(() => tasks[Symbol.asyncDispose]())

  const page = (): string[] =>
    tasks.repository.page(tasks.database, 'mail').map(({ identifier, state }) => `${identifier} ${state}`)

  describe('a repository for a test', () => {
    test('is empty but for its topics, shared with no other, and may be closed twice', async () => {
      await using other = await openTestTasks(driver, { topics: [] })
      await tasks.push('mail', 'a')
      expect(tasks.repository.topics(tasks.database)).toEqual(['mail'])
      expect(other.repository.topics(other.database)).toEqual([])
      expect(page()).toEqual(['a ready'])
      await other[Symbol.asyncDispose]()
      expect(() => other.database.exec('select 1')).toThrow()
    })

    test('pushes in a transaction of its own, and is used in transactions of the test', async () => {
      expect(await tasks.push('mail', 'a', { identifier: 'b', input: 'x' })).toMatchObject([
        { identifier: 'a' },
        { identifier: 'b' },
      ])
      await expect(tasks.push('post', 'a')).rejects.toMatchObject({ code: 'TOPIC_UNKNOWN' })
      const rolledBack = tasks.transactions((transaction) => {
        tasks.repository.push(transaction, 'mail', 'c')
        throw new Error('no')
      })
      await expect(rolledBack).rejects.toThrow('no')
      expect(page()).toEqual(['a ready', 'b ready'])
    })

    test('serves a node', async () => {
      await tasks.push('mail', 'a')
      const handled = Promise.withResolvers<string>()
      await using node = new TaskNode({ repository: tasks.repository, transactions: tasks.transactions })
      node.process('mail', { handler: eachTask(({ identifier }) => handled.resolve(identifier)) })
      await node.start()
      expect(await handled.promise).toBe('a')
    })

    test('refuses what is none of its options', async () => {
      for (const [options, argument] of [
        [{ driver: 'sqlite4' }, 'driver'],
        [{ now: new Date(Number.NaN) }, 'now'],
        [{ topics: [''] }, 'topic'],
      ] as const) {
        await expect(testTasks({ driver, ...options } as never)).rejects.toMatchObject({
          code: 'ARGUMENT_INVALID',
          data: { argument },
        })
      }
    })
  })

  describe('the clock', () => {
    test('stands still until it is moved, and is what the database goes by', async () => {
      await tasks.push('mail', 'a')
      tasks.clock.advance(5)
      await tasks.push('mail', 'b')
      tasks.clock.set(later(-7))
      await tasks.push('mail', 'c')
      expect(tasks.clock.now()).toEqual(later(-7))
      expect(tasks.repository.page(tasks.database, 'mail').map(({ created }) => created)).toEqual([now, later(5), later(-7)])
    })

    test('is not moved by what it was given, or has given', () => {
      tasks.clock.now().setTime(0)
      const instant = later(1)
      tasks.clock.set(instant)
      instant.setTime(0)
      expect(tasks.clock.now()).toEqual(later(1))
    })

    test('begins at the time of the call, if nothing else is said', async () => {
      const before = Date.now()
      await using other = await openTestTasks(driver, { now: undefined } as never)
      expect(other.clock.now().getTime()).toBeGreaterThanOrEqual(before)
      expect(other.clock.now().getTime()).toBeLessThanOrEqual(Date.now())
      expect(other.clock.now()).toEqual(other.clock.now())
    })

    test('refuses what is no time', () => {
      for (const ms of [-1, 0.5, Number.NaN, Infinity]) {
        expect(() => tasks.clock.advance(ms)).toThrow(expect.objectContaining({ code: 'ARGUMENT_INVALID' }))
      }
      expect(() => tasks.clock.set(new Date(Number.NaN))).toThrow(expect.objectContaining({ code: 'ARGUMENT_INVALID' }))
      expect(tasks.clock.now()).toEqual(now)
    })
  })
})
