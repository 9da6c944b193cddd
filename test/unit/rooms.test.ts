/** The packages' rooms: what may be touched can be told from the path alone. */
import { expect, test } from 'vitest'
import { importsOf, packageNames } from '../rooms/rooms.ts'

test.each(packageNames)('%s imports from lower floors only', (name) => {
  expect(importsOf(name).upward).toEqual([])
})
