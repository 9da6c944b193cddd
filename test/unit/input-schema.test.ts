/** A schema has to check at once, as a push inside of a transaction does not wait. */
import { checkInput } from '@taskstream/task-api'
import { expect, test } from 'vitest'
import { z } from 'zod'

test('a schema that answers later is refused, and an error that it answers with does not end the process', async () => {
  const throws = z.number().transform(() => {
    throw new TypeError('a mistake in the schema')
  })
  const later = z.number().refine(async () => Promise.resolve(true))
  for (const schema of [throws, later])
    expect(() => checkInput(schema, 'mail', 1)).toThrow(
      expect.objectContaining({
        code: 'ARGUMENT_INVALID',
        message: expect.stringContaining('must have a schema that checks at once'),
      }),
    )
  // An error that nobody handles would be reported after this turn, and fail the run.
  await new Promise((resolve) => {
    setImmediate(resolve)
  })
})
