import { DatabaseSync } from 'node:sqlite'
import { defineJob, defineQueue, isTaskError, json, never, taskstream } from 'taskstream/node-sqlite'

const unsent = defineQueue('letters:unsent')
const letters = defineQueue('letters', {
  limits: {
    total: 40,
    rate: { count: 100, perMs: 60_000 },
    maxEntries: { count: 3, whenFull: 'reject' },
    deadLetter: unsent,
  },
})
const letter = defineJob('letters:letter', { queue: letters, input: json<{ to: string }>(), retry: never })

const stream = taskstream(new DatabaseSync(':memory:'), { listener: {} })

await stream.prepare(letter)
for (const to of ['ann', 'bob', 'cid', 'dan']) {
  try {
    await stream.submit(letter, { to })
  } catch (error) {
    if (!isTaskError(error, 'TOPIC_FULL')) throw error
    console.log(`no room for ${to}: ${error.data['entries']} of ${error.data['count']}`)
  }
}

stream.handle(letter, ({ input }) => {
  if (input.to === 'bob') throw new Error('moved away')
})
stream.route(unsent, { '*': ({ name, input, task }) => console.log(name, input, task.headers?.['dead']) })
await stream.start()

await stream.transaction((tx) => stream.tasks.limit(tx, 'letters', { total: 10, deadLetter: 'letters:unsent' }))
const open = ['ready', 'active'] as const
while (
  (await stream.transaction((tx) => [letters, unsent].flatMap(({ name }) => stream.tasks.page(tx, name, { states: open }))))
    .length > 0
)
  await new Promise((resolve) => setTimeout(resolve, 10))

const unsentLetter = defineJob('letters:letter', { queue: unsent, input: json<{ to: string }>(), next: [letter] })
const copies = await stream.transaction((tx) => stream.list(tx, unsentLetter))
for (const { id, input } of copies) console.log(id, input)
await stream.stop()
