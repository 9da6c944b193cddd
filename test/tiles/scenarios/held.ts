/** Who holds what, and who may complete it. */
import { again } from '../tiles.ts'
import type { Scenario } from './lab.ts'

export const held: readonly Scenario[] = [
  {
    name: 'a poll is rolled back after its tasks were given, another leases the same range, and the first completes',
    guards: ['token'],
    async run(lab, client) {
      const other = await lab.connect()
      await lab.push(client, 'a', 'b')
      await other.query('begin')
      const first = await lab.cut(other, 'x')
      await other.query('rollback')
      lab.undo(first)
      const second = await lab.cut(client, 'y')
      if ((await lab.complete(other, first)).length > 0) lab.problems.push('a lease that never was has completed')
      await lab.complete(client, second)
    },
  },
  {
    name: 'one task of a range is handed back and taken by another, and the first completes all',
    guards: ['n in the fence'],
    async run(lab, client) {
      await lab.push(client, 'a', 'b', 'c')
      const poll = await lab.cut(client, 'x')
      await lab.tiles.complete(client, poll, new Map([[poll.tasks[1]!.sequence, again]]))
      await lab.complete(client, await lab.poll(client, 'y', 100))
      await lab.complete(client, poll)
    },
  },
  {
    name: 'a range is handed back, and its former holder completes',
    guards: ['tiles stay'],
    async run(lab, client) {
      await lab.push(client, 'a', 'b')
      const poll = await lab.cut(client, 'x')
      await lab.push(client, 'c')
      const next = await lab.cut(client, 'x')
      await lab.expectFrontier(client, () => lab.tiles.handBack(client, next))
      await lab.tiles.handBack(client, poll)
      await lab.complete(client, await lab.poll(client, 'y', 100))
      await lab.complete(client, await lab.poll(client, 'y', 100))
      await lab.complete(client, poll)
      await lab.complete(client, next)
    },
  },
  {
    name: 'an owner dies: its range and its row come back once',
    guards: ['tiles stay'],
    async run(lab, client) {
      await lab.push(client, 'a', 'b')
      const poll = await lab.cut(client, 'x')
      await lab.push(client, 'c')
      const small = await lab.small(client, 'x')
      await lab.expectFrontier(client, () => lab.tiles.expire(client, 60_000))
      await lab.complete(client, await lab.poll(client, 'y', 100))
      await lab.complete(client, await lab.poll(client, 'y', 100))
      await lab.complete(client, poll)
      await lab.complete(client, small)
    },
  },
  {
    name: 'a completion waits for the expiry of its range',
    guards: [],
    async run(lab, client) {
      const other = await lab.connect()
      await lab.push(client, 'a', 'b')
      const poll = await lab.cut(client, 'x')
      await other.query('begin')
      await lab.tiles.expire(other, 60_000)
      const completing = lab.complete(client, poll)
      await lab.waits(client)
      await other.query('commit')
      await completing
    },
  },
  {
    name: 'ranges on both sides of a held one are merged',
    guards: ['merge breaks at held'],
    async run(lab, client) {
      for (const identifier of ['a', 'b', 'c']) await lab.push(client, identifier)
      const polls = [await lab.cut(client, 'x', 1), await lab.cut(client, 'y', 1), await lab.cut(client, 'x', 1)]
      await lab.complete(client, polls[0]!)
      await lab.complete(client, polls[2]!)
      await lab.tiles.merge(client)
      await lab.complete(client, polls[1]!)
    },
  },
  {
    name: 'ranges on both sides of one that is locked are merged',
    guards: ['merge breaks at held'],
    async run(lab, client) {
      const other = await lab.connect()
      for (const identifier of ['a', 'b', 'c']) await lab.push(client, identifier)
      const polls = [await lab.cut(client, 'x', 1), await lab.cut(client, 'y', 1), await lab.cut(client, 'x', 1)]
      for (const poll of polls) await lab.complete(client, poll)
      await other.query(`begin; select from task_range where lo = ${polls[1]!.leases[0]!.lo!} for no key update`)
      await lab.tiles.merge(client)
      await other.query('commit')
    },
  },
]
