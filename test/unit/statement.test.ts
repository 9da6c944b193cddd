/** Values never become part of a text. */
import { join, nothing, raw, render, sql } from '@taskstream/task-sql'
import { expect, test } from 'vitest'

const dollar = (position: number): string => `$${position}`

test('values stay values, wherever they are nested', () => {
  const inner = sql`b = ${"'; drop table task; --"} and c = ${null}`
  const statement = sql`select ${raw('a')} from t where ${inner} and d = ${4}${nothing}`
  expect(render(statement, dollar)).toBe('select a from t where b = $1 and c = $2 and d = $3')
  expect(statement.values).toEqual(["'; drop table task; --", null, 4])
  expect(render(statement, () => '?')).toBe('select a from t where b = ? and c = ? and d = ?')
})

test('fragments are joined with their values in order', () => {
  const statement = join([sql`a = ${1}`, raw('b'), sql`c = ${2}`], ' and ')
  expect(render(statement, dollar)).toBe('a = $1 and b and c = $2')
  expect(statement.values).toEqual([1, 2])
  expect(render(join([], ','), dollar)).toBe('')
})
