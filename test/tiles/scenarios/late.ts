/** Transactions that drew a block before others, and commit after them. */
import type { Scenario } from './lab.ts'

export const late: readonly Scenario[] = [
  {
    name: 'a push commits after the cut that noted its block, and after the next',
    guards: ['mark'],
    async run(lab, client) {
      const slow = await lab.connect()
      await slow.query('begin')
      await lab.push(slow, 'late')
      await lab.push(client, 'b')
      await lab.poll(client, 'x', 100)
      await lab.push(client, 'c')
      await lab.poll(client, 'x', 100)
      await slow.query('commit')
    },
  },
  {
    name: 'the one who commits late has the latest transaction id',
    guards: ['mark', 'own id'],
    async run(lab, client) {
      const [first, slow] = [await lab.connect(), await lab.connect()]
      await first.query('begin; select pg_current_xact_id()')
      await slow.query('begin')
      await lab.push(slow, 'late')
      await lab.push(first, 'b')
      await first.query('commit')
      await lab.cut(client, 'x')
      await lab.cut(client, 'x')
      await slow.query('commit')
    },
  },
  {
    name: 'the transaction that cuts had written before the late one began',
    guards: ['clean mark'],
    async run(lab, client) {
      const [unclean, slow] = [await lab.connect(), await lab.connect()]
      await unclean.query('begin; select pg_current_xact_id()')
      await slow.query('begin')
      await lab.push(slow, 'late')
      await lab.push(client, 'b')
      const poll = await lab.cut(unclean, 'x')
      await unclean.query('commit')
      await lab.cut(client, 'x')
      await lab.cut(client, 'x')
      await slow.query('commit')
      await lab.complete(client, poll)
    },
  },
  {
    name: 'a push dawdles between its number and its rows',
    guards: ['id before number'],
    gate: 'number',
    async run(lab, client) {
      // A sequence writes to the log, which draws an id, once in 32 numbers only.
      await lab.push(client, 'a')
      await lab.stall(
        (slow) => lab.push(slow, 'late'),
        async () => {
          await lab.push(client, 'b')
          await lab.cut(client, 'x')
          await lab.cut(client, 'x')
        },
      )
    },
  },
  {
    name: 'a late push of more tasks than a poll takes, before a fresh one of the same producer',
    guards: ['late first', 'rest stays noted'],
    async run(lab, client) {
      const slow = await lab.connect()
      const many = Array.from({ length: 50 }, (_, at) => `late ${at}`)
      await slow.query('begin')
      await lab.push(slow, ...many)
      await lab.push(client, 'b')
      await lab.cut(client, 'x')
      await slow.query('commit')
      await lab.push(slow, 'after')
      for (let polls = 0; polls < 5; polls++) await lab.cut(client, 'x', 20)
      lab.expectOrder(many, ['after'])
    },
  },
  {
    name: 'a missing block between two that are cut at once',
    guards: ['cut breaks'],
    async run(lab, client) {
      const slow = await lab.connect()
      await lab.push(client, 'a')
      await slow.query('begin')
      await lab.push(slow, 'late')
      await lab.push(client, 'b')
      const poll = await lab.cut(client, 'x')
      await slow.query('commit')
      await lab.complete(client, poll)
    },
  },
  {
    name: 'the frontier stands within a block, and the next is missing',
    guards: ['mark'],
    async run(lab, client) {
      const slow = await lab.connect()
      await lab.push(client, 'a')
      await lab.cut(client, 'x')
      await slow.query('begin')
      await lab.push(slow, 'late')
      await lab.push(client, 'b')
      const poll = await lab.cut(client, 'x')
      if (poll.tasks.length === 0) lab.problems.push('b is not found')
      await lab.cut(client, 'x')
      await slow.query('commit')
    },
  },
  {
    name: 'ranges on both sides of a missing block are merged',
    guards: ['merge breaks at missing'],
    async run(lab, client) {
      const slow = await lab.connect()
      await lab.push(client, 'a')
      await slow.query('begin')
      await lab.push(slow, 'late')
      await lab.push(client, 'b')
      await lab.complete(client, await lab.cut(client, 'x'))
      await lab.tiles.merge(client)
      await slow.query('commit')
    },
  },
  {
    name: 'a savepoint is rolled back: its block is forgotten, and merged',
    guards: [],
    async run(lab, client) {
      const other = await lab.connect()
      await other.query('begin')
      await lab.push(other, 'a')
      await other.query('savepoint s')
      await lab.push(other, 'gone')
      lab.forget('gone')
      await other.query('rollback to savepoint s')
      await lab.push(other, 'b')
      await other.query('commit')
      await lab.complete(client, await lab.cut(client, 'x'))
      await lab.cut(client, 'x')
      await lab.tiles.merge(client)
      const { rows } = await client.query('select lo, hi, state from task_range')
      if (rows.length !== 1) lab.problems.push(`not one range is left: ${JSON.stringify(rows)}`)
    },
  },
  {
    name: 'the sequence is set back after a purge',
    guards: ['set back'],
    async run(lab, client) {
      await lab.push(client, 'a')
      await lab.push(client, 'b')
      await lab.complete(client, await lab.cut(client, 'x'))
      await client.query(`delete from task; update task_range set n = 0; select setval('task_block_t', 1, false)`)
      await lab.push(client, 'c')
    },
  },
]
