/** Who cuts, who claims row by row, and who takes a task out, at the same time. */
import type { Socket } from 'node:net'
import type { Scenario } from './lab.ts'

const filtered = 5

export const rivals: readonly Scenario[] = [
  {
    name: 'two cut the same tasks: one stands between its snapshot and its lock',
    base: ['lock before snapshot'],
    guards: ['key as arbiter'],
    gate: 'snapshot',
    async run(lab, client) {
      await lab.push(client, 'a', 'b')
      const late = await lab.stall(
        (stalled) => lab.cut(stalled, 'x'),
        async () => lab.complete(client, await lab.cut(client, 'y')),
      )
      await lab.complete(client, late)
    },
  },
  {
    name: 'a rival completes what it cut, and its range is deleted, before a cut that began earlier has its lock',
    base: ['lock before snapshot'],
    guards: ['tiles stay'],
    gate: 'snapshot',
    record: 'outcomes',
    async run(lab, client) {
      await lab.push(client, 'a', 'b')
      const late = await lab.stall(
        (stalled) => lab.cut(stalled, 'x'),
        async () => lab.complete(client, await lab.cut(client, 'y')),
      )
      await lab.complete(client, late)
    },
  },
  {
    name: 'the range of a rival is completed and merged, and its key is gone, before a cut that began earlier has its lock',
    guards: ['lock before snapshot'],
    gate: 'snapshot',
    async run(lab, client) {
      await lab.push(client, 'a')
      await lab.complete(client, await lab.cut(client, 'y'))
      await lab.push(client, 'b')
      const late = await lab.stall(
        (stalled) => lab.cut(stalled, 'x'),
        async () => {
          await lab.complete(client, await lab.cut(client, 'y'))
          await lab.tiles.merge(client)
        },
      )
      await lab.complete(client, late)
    },
  },
  {
    name: 'an operator takes a fresh task out before a cut that began earlier has its lock',
    guards: ['lock before snapshot'],
    gate: 'snapshot',
    async run(lab, client) {
      const [sequence] = await lab.push(client, 'a', 'b')
      const late = await lab.stall(
        (stalled) => lab.cut(stalled, 'x'),
        async () => {
          await lab.tiles.leave(client, [sequence!])
          await client.query('update task set state = $2, listed = false where sequence = $1', [sequence, filtered])
          lab.forget('a')
        },
      )
      if (late.tasks.some(({ identifier }) => identifier === 'a')) lab.problems.push('a was cancelled and then given')
      await lab.complete(client, late)
    },
  },
  {
    name: 'a small claim takes tasks before a cut that began earlier has its lock',
    guards: ['lock before snapshot'],
    gate: 'snapshot',
    async run(lab, client) {
      await lab.push(client, 'a', 'b')
      const late = await lab.stall(
        (stalled) => lab.cut(stalled, 'x'),
        async () => lab.complete(client, await lab.small(client, 'y', 1)),
      )
      await lab.complete(client, late)
    },
  },
  {
    name: 'a cut takes tasks before a small claim that began earlier has its lock',
    guards: ['lock before snapshot'],
    gate: 'snapshot',
    async run(lab, client) {
      await lab.push(client, 'a', 'b')
      const late = await lab.stall(
        (stalled) => lab.small(stalled, 'x'),
        () => lab.cut(client, 'y'),
      )
      await lab.complete(client, late)
    },
  },
  {
    name: 'a small claim is not committed when others cut',
    guards: ['small claims lock'],
    async run(lab, client) {
      const other = await lab.connect()
      await lab.push(client, 'a', 'b')
      await other.query('begin')
      const small = await lab.small(other, 'x')
      const poll = await lab.cut(client, 'y')
      await other.query('commit')
      await lab.complete(client, poll)
      await lab.complete(client, small)
    },
  },
  {
    name: 'a fresh task is taken out, not committed, when others cut',
    guards: ['leave locks'],
    async run(lab, client) {
      const other = await lab.connect()
      const [sequence] = await lab.push(client, 'a', 'b')
      await other.query('begin')
      await lab.tiles.leave(other, [sequence!])
      await other.query('update task set state = $2, listed = false where sequence = $1', [sequence, filtered])
      lab.forget('a')
      const poll = await lab.cut(client, 'y')
      await other.query('commit')
      await lab.complete(client, poll)
    },
  },
  {
    name: 'one who polls does not read the answer',
    guards: ['short answers'],
    async run(lab, client) {
      const deaf = await lab.connect()
      await lab.tiles.push(
        client,
        Array.from({ length: 100 }, (_, at) => lab.wanted(`large ${at}`)),
        'x'.repeat(100_000),
      )
      await lab.push(client, 'b')
      const { stream } = (deaf as unknown as { connection: { stream: Socket } }).connection
      stream.pause()
      const polling = lab.cut(deaf, 'x', 100)
      // The one who cut has its range, or stands in the midst of its answer.
      await lab.until(
        client,
        `select 1 from pg_stat_activity where query like '%tile_cut%' and pid <> pg_backend_pid() and (state = 'idle' or wait_event = 'ClientWrite')`,
      )
      const poll = await lab.cut(client, 'y')
      if (poll.status === 'busy') lab.problems.push('nobody can cut until the other reads')
      stream.resume()
      await lab.complete(deaf, await polling)
    },
  },
  {
    name: 'a range is merged while a task is taken out of it',
    record: 'exceptions',
    guards: ['leave asks again'],
    gate: 'leave',
    async run(lab, client) {
      await lab.push(client, 'a')
      const [sequence] = await lab.push(client, 'b')
      for (let polls = 0; polls < 2; polls++) await lab.complete(client, await lab.cut(client, 'x', 1))
      await lab.stall(
        (stalled) => lab.tiles.leave(stalled, [sequence!]),
        () => lab.tiles.merge(client),
      )
    },
  },
  {
    name: 'a task leaves its done range, and is polled and completed once more',
    guards: [],
    async run(lab, client) {
      const sequences = await lab.push(client, 'a', 'b', 'c')
      await lab.complete(client, await lab.cut(client, 'x'))
      await lab.tiles.leave(client, [sequences[1]!])
      await client.query('update task set state = 1, listed = true, owner = null where sequence = $1', [sequences[1]])
      lab.expect('b', 2)
    },
  },
]
