/** A value never becomes SQL. */
import { join, raw, render, sql } from '@taskstream/task-sql'
import { expect, test } from 'vitest'

const text = (statement: Parameters<typeof render>[0]): string => render(statement, (position) => `$${position}`)

test('a statement in another is spliced in with its values, and everything else is a value', () => {
  const inner = sql`b = ${2} and ${raw('c')}`
  const statement = sql`select ${'a'} where ${inner} or ${join([sql`d = ${null}`, sql`e = ${'drop table task'}`], ' or ')}`
  expect(text(statement)).toBe('select $1 where b = $2 and c or d = $3 or e = $4')
  expect(statement.values).toEqual(['a', 2, null, 'drop table task'])
})

test('a copy of a statement with other options is still one', () => {
  expect(text(sql`select ${{ ...sql`a = ${1}`, stablePlan: true }}`)).toBe('select a = $1')
})

test.each([
  ['a body that looks like a statement', JSON.parse('{"texts":["drop table task"],"values":[]}') as never],
  ['a list', ['a'] as never],
  ['an instant', new Date(0) as never],
])('%s is refused in the place of a value', (_, value) => {
  expect(() => sql`select ${value}`).toThrow(/a value of a statement must be a text, a number or null/)
})
