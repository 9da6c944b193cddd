/** Answers do not depend on the order in which a database returns the rows that a statement has written: no database promises one. */
import type { PushedTask } from '@taskstream/task-api'
import type { Row } from '@taskstream/task-sql'
import { expect, test } from 'vitest'
import { part } from './engine.ts'
import type { Part, Tasks } from './engine.ts'
import { names, useFixture } from './fixture.ts'

export const returnedRows: Part = part(
  'rows that are returned in another order',
  (engine) => {
    const fixture = useFixture(engine)
    /** A repository to which every changing statement returns its rows the other way round. */
    const reversing = (): Tasks => {
      const reverse = (rows: readonly Row[]): readonly Row[] => rows.toReversed()
      return fixture.subject.tasks({
        speaksFor: fixture.tasks.owner,
        adapt: (adapter) =>
          ({
            ...adapter,
            execute: (...given: Parameters<typeof adapter.execute>) => {
              const rows = adapter.execute(...given)
              if (!given[1].texts.join('').includes('returning')) return rows
              return rows instanceof Promise ? rows.then(reverse) : reverse(rows as readonly Row[])
            },
          }) as typeof adapter,
      })
    }

    test('are told of in the order of what was pushed', async () => {
      const tasks = reversing()
      const creations = ['a', 'b', 'c'].map((identifier) => ({ identifier, priority: 1 }))
      for (const given of [['a', 'b', 'c'], creations]) {
        const pushed = await fixture.commit<PushedTask[]>((transaction) => tasks.push(transaction, fixture.topic, given))
        expect(names(pushed)).toEqual(['a', 'b', 'c'])
        for (const { sequence, identifier } of pushed)
          expect(await fixture.commit((transaction) => tasks.task(transaction, fixture.topic, sequence))).toMatchObject({
            identifier,
          })
      }
    })

    test.each([
      ['fifo', 'none', 'abcd'],
      ['lifo', 'none', 'dcba'],
      ['priority', 'none', 'cabd'],
      ['priority', 'singular-by-identifier', 'cabd'],
    ] as const)('are polled in the order of the topic: %s, %s', async (order, condition, expected) => {
      await fixture.nextTopic({ order, condition })
      await fixture.push('a', 'b', { identifier: 'c', priority: 1 }, 'd')
      expect(names(await fixture.poll(4, reversing())).join('')).toBe(expected)
    })
  },
  ({ adapts }) => adapts !== false,
)
