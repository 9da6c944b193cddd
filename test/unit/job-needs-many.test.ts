/** On a driver that answers at once, each verb returns before the next one is called. */
import { defineJob, json } from 'taskstream'
import { testStream } from 'taskstream/testing'
import { expect, test } from 'vitest'

const price = defineJob('price', { input: json<number>(), output: json<number>() })
const total = defineJob('total', { input: json<number>(), needs: { price } })

test('twenty thousand jobs with needs are pushed by one call', async () => {
  await using stream = await testStream({ jobs: [price, total] })
  await stream.transaction((transaction) => {
    const needed = stream.push(transaction, price, 1)
    const refs = stream.pushMany(
      transaction,
      total,
      Array.from({ length: 20_000 }, (_, index) => [index, { needs: { price: needed } }]),
    )
    expect(refs).toHaveLength(20_000)
  })
  expect(stream.tasks.page(stream.database, 'total', { states: ['blocked'], size: 1 })).toHaveLength(1)
})
