/** A release of Node.js that is too old is named at once. */
import { thrownBy } from '@taskstream/task-testing/suite'
import { expect, test } from 'vitest'
import { checkNode } from '../../packages/task-api/src/check-node.ts'

test.each(['20.20.2', '22.13.1', '18.0.0'])('Node.js %s is refused', async (version) => {
  expect(await thrownBy(() => checkNode(version))).toMatchObject({
    code: 'RUNTIME_UNSUPPORTED',
    message: `taskstream needs Node.js 22.14 or later, and this is ${version}`,
  })
})

test.each(['22.14.0', '22.20.1', '24.0.0', '25.1.0'])('Node.js %s is not', (version) => {
  expect(() => checkNode(version)).not.toThrow()
})
