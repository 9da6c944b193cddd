/** The product's repository, in which the tile form takes and completes the tasks. Everything else is asked of the product's tables, which have none. */
import type { HeldTask, TaskLease } from '@taskstream/task-api'
import type { SqlTaskRepository } from '@taskstream/task-sql'
import type { PgClient } from '@taskstream/task-sql/pg'
import type { ClientBase } from 'pg'
import type { Lease, Poll, Tiles } from '../tiles.ts'
import { failed, succeeded } from '../tiles.ts'

/** What a task is held by: one object for all tasks of a range. */
interface RangeLease {
  readonly poll: Poll
  readonly lease: Lease
}

export function tileRepository(rows: SqlTaskRepository<PgClient>, tiles: Tiles): SqlTaskRepository<PgClient> {
  const { owner } = rows
  return {
    ...rows,
    register: async (transaction, ...rest) => {
      await tiles.beat(transaction as ClientBase, owner)
      return rows.register(transaction, ...rest)
    },
    // A cut takes the topic's lock until it commits, so that it waits for its turn.
    poll: async (transaction, topic, options) => {
      const poll = await tiles.poll(transaction as ClientBase, owner, options?.size ?? 1, { wait: true, small: 0 })
      return poll.leases.flatMap((lease) => {
        const held: RangeLease = { poll, lease }
        return lease.tasks.map(({ sequence, identifier, input, attempt }): HeldTask => {
          return { topic, sequence, identifier, input, attempt, tries: 1, priority: 0, lease: held as unknown as TaskLease }
        })
      })
    },
    complete: async (transaction, _topic, decisions) => {
      const polls = new Map<Poll, Map<number, number>>()
      for (const [{ lease, sequence }, { state }] of decisions) {
        const { poll } = lease as unknown as RangeLease
        let states = polls.get(poll)
        if (!states) polls.set(poll, (states = new Map<number, number>()))
        states.set(sequence, state === 'succeeded' ? succeeded : failed)
      }
      const won = new Set<number>()
      for (const [poll, states] of polls)
        for (const sequence of await tiles.complete(transaction as ClientBase, poll, states)) won.add(sequence)
      const tasks = [...decisions.keys()]
      const lost = won.size === tasks.length ? [] : tasks.filter(({ sequence }) => !won.has(sequence))
      return { completed: lost.length === 0 ? tasks : tasks.filter(({ sequence }) => won.has(sequence)), lost }
    },
  }
}
