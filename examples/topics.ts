import { DatabaseSync } from 'node:sqlite'
import { defineTopic, TaskDecision, taskstream } from 'taskstream/node-sqlite'
import { z } from 'zod'

const prices = defineTopic('prices', {
  input: z.object({ symbol: z.string(), price: z.number() }),
  key: ({ symbol }) => symbol,
})

const stream = taskstream(new DatabaseSync(':memory:'), { listener: {} })
await stream.prepare(prices)

await stream.transaction((tx) => {
  tx.exec('create table price (symbol text primary key, price real)')
  stream.topic(prices).push(tx, [{ symbol: 'EUR', price: 11.6 }])
  stream.topic(prices).push(tx, [{ symbol: 'EUR', price: 11.7 }], { insertion: 'supersede' })
})
await stream.topic(prices).submit([{ symbol: 'USD', price: 10.1 }], { each: ({ symbol }) => ({ id: `first ${symbol}` }) })
await stream.topic(prices).submit([{ symbol: 'XXX', price: 0 }])

// An earlier release, or another program, has pushed what does not fit.
await stream.transaction((tx) => stream.tasks.push(tx, prices.name, { identifier: 'NOK', input: '{"symbol":"NOK"}' }))

stream.topic(prices).process({
  size: 500,
  handler: (_, { complete }) =>
    complete((tx, held) => {
      const store = tx.prepare('insert or replace into price values (?, ?)')
      const known = held.filter(({ input }) => input.price > 0)
      for (const { input } of known) store.run(input.symbol, input.price)
      return new Map(held.map((task) => [task, known.includes(task) ? TaskDecision.success() : TaskDecision.filter('no price')]))
    }),
})
await stream.start()

let ended
do {
  await new Promise((resolve) => {
    setTimeout(resolve, 10)
  })
  ended = await stream.transaction((tx) => stream.tasks.page(tx, prices.name))
} while (ended.some(({ state }) => state === 'ready' || state === 'active'))
console.log(ended.map(({ identifier, state, reason }) => [identifier, state, reason].filter(Boolean).join(' ')).join(', '))
await stream.stop()
