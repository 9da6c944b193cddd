/** SQLite may end a transaction by itself. A function that ignores the error must not have its job succeed, or those that share its transaction. */
import { DatabaseSync } from 'node:sqlite'
import { defineJob, json, never, taskstream } from 'taskstream/node-sqlite'
import { expect, test } from 'vitest'

test.each([1, 20])(
  'a job whose commit ignores a rollback fails, and costs no other job its writes, with share %i',
  async (share) => {
    using database = new DatabaseSync(':memory:')
    database.exec('create table effect (id integer primary key)')
    database.exec('insert into effect values (-1)')
    const lost: unknown[] = []
    await using stream = taskstream(database, { listener: { onLost: (event) => lost.push(event) } })
    const job = defineJob('ignores', { input: json<number>(), retry: never })
    const gates = new Map<number, PromiseWithResolvers<void>>([
      [10, Promise.withResolvers()],
      [20, Promise.withResolvers()],
    ])
    const brought = new Map([...gates.keys()].map((first) => [first, 0]))
    const handle = async (input: number): Promise<void> => {
      // Each ten are brought together, so that they share transactions.
      const first = input - (input % 10)
      brought.set(first, brought.get(first)! + 1)
      if (brought.get(first) === 10) gates.get(first)!.resolve()
      await gates.get(first)!.promise
    }
    stream.handle(
      job,
      async ({ input, commit }) => {
        await handle(input)
        return commit((transaction) => {
          transaction.prepare('insert into effect values (?)').run(input)
          if (input !== 25) return
          try {
            transaction.exec('insert or rollback into effect values (-1)')
          } catch {
            // It goes on as if nothing had happened.
          }
        })
      },
      { share, concurrency: 10 },
    )
    await stream.start()
    for (const first of gates.keys()) {
      await stream.transaction((transaction) => {
        stream.pushMany(
          transaction,
          job,
          Array.from({ length: 10 }, (_, n) => [first + n]),
        )
      })
      await expect
        .poll(() => stream.transaction((transaction) => stream.list(transaction, job, { states: ['ready', 'active'] })))
        .toEqual([])
    }
    const states = await stream.transaction((transaction) => stream.list(transaction, job))
    expect(states.filter(({ state }) => state !== 'succeeded').map(({ input, state }) => [input, state])).toEqual([
      [25, 'failed'],
    ])
    expect(database.prepare('select count(*) as count from effect where id >= 0').get()).toEqual({ count: 19 })
    expect(lost).toEqual([])
  },
)
