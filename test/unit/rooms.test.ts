/** The packages' rooms: what may be touched can be told from the path alone. */
import { expect, test } from 'vitest'
import { importsOf, packageNames } from '../rooms/rooms.ts'

test.each(packageNames)('%s imports from lower floors only', (name) => {
  const { between, upward } = importsOf(name)
  expect(upward).toEqual([])
  // Where the imports were not found, none would run upwards. task-api has one room.
  expect(between.length > 0).toBe(name !== 'task-api')
})
