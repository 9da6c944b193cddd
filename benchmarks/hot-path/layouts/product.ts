/** taskstream's own statements, as released: the same hammer and the same measurements as the layouts they were chosen from. */
import type { ClientBase } from 'pg'
import { TaskDecision } from '@taskstream/task-api'
import type { HeldTask, TaskLease } from '@taskstream/task-api'
import { render } from '@taskstream/task-sql'
import type { Dialect, Verb } from '@taskstream/task-sql'
import { postgres } from '@taskstream/task-sql/pg'
import { complete } from '../../../packages/task-sql/src/verbs/complete.ts'
import type { Context } from '../../../packages/task-sql/src/core/verb-context.ts'
import { poll } from '../../../packages/task-sql/src/verbs/poll.ts'
import { push } from '../../../packages/task-sql/src/verbs/push.ts'
import { reclaim } from '../../../packages/task-sql/src/verbs/reclaim.ts'
import { Templates } from '../../../packages/task-sql/src/core/template.ts'
import { sequencesOf } from './layout.ts'
import type { Layout } from './layout.ts'

const options = { schema: 'public', notify: false }

function contextOf(dialect: Dialect, owner: string): Context {
  return { dialect, owner, ownerName: owner, now: () => null, modes: new Map(), single: new Templates() }
}

async function drive<Result>(client: ClientBase, verb: Verb<Result>): Promise<Result> {
  let step = verb.next()
  while (!step.done) {
    const { rows } = await client.query(
      render(step.value, (position) => `$${position}`),
      [...step.value.values],
    )
    step = verb.next(rows)
  }
  return step.value
}

const dialect = postgres(options)

export const product: Layout = {
  name: 'taskstream',
  note: 'the statements of task-sql',
  schema: [
    'create table task_migration (version integer primary key, name text not null, applied text not null)',
    ...dialect.schema.migrations.flatMap(({ statements }) => statements.map(({ texts }) => texts.join(''))),
    // Harness owners have no name.
    `alter table task_owner alter name set default ''`,
  ],
  push: async (client, topic, identifiers, inputs) => {
    const creations = identifiers.map((identifier, index) => ({ identifier, input: inputs[index] ?? '' }))
    return (await drive(client, push(contextOf(dialect, ''), topic, creations))).map(({ sequence }) => sequence)
  },
  createPoller: (topic) => {
    // A process's memory of floors lives in its dialect.
    const own = postgres(options)
    return {
      poll: async (client, size, owner) => {
        const tasks = await drive(client, poll(contextOf(own, owner), topic, { size }))
        return tasks.map(({ sequence, attempt, identifier, input = '' }) => ({ sequence, attempt, identifier, input }))
      },
    }
  },
  complete: async (client, topic, owner, completions) => {
    const decisions = new Map(
      completions.map(({ sequence, attempt, state }) => {
        const task: HeldTask = {
          topic,
          sequence,
          identifier: '',
          lease: attempt as TaskLease,
          attempt,
          tries: attempt,
          priority: 0,
        }
        return [task, state === 3 ? TaskDecision.failure() : TaskDecision.success()]
      }),
    )
    const { completed } = await drive(client, complete(contextOf(dialect, owner), topic, decisions))
    return completed.map(({ sequence }) => sequence)
  },
  reset: async (client, topic, sequences) => {
    const text = `update task set state = 1, owner = null, listed = true
                   where topic = $1 and sequence = any ($2::bigint[]) and state in (0, 2, 3, 4) returning sequence`
    return sequencesOf(await client.query<{ sequence: number }>(text, [topic, sequences]))
  },
  expire: async (client, topic, owner) => {
    // Found as expiry finds them, whether or not the owner's row is still there.
    const count = await drive(client, reclaim(contextOf(dialect, owner), topic, []))
    return Array.from({ length: count }, () => 0)
  },
  maintain: (client) => drive(client, dialect.claims.tidy()),
}
