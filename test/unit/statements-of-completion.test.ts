/** Which statements a completion sends, on each dialect and without a server. */
import { TaskDecision } from '@taskstream/task-api'
import type { HeldTask } from '@taskstream/task-api'
import { render, sqlTaskRepository } from '@taskstream/task-sql'
import type { Dialect, Row, SqlAdapter } from '@taskstream/task-sql'
import { mariadb, mysql } from '@taskstream/task-sql/mysql2'
import { sqlite } from '@taskstream/task-sql/node-sqlite'
import { oracle } from '@taskstream/task-sql/oracledb'
import { postgres } from '@taskstream/task-sql/pg'
import { expect, test } from 'vitest'
import { toLease } from '../../packages/task-sql/src/core/lease.ts'
import type { Way } from '../../packages/task-sql/src/core/lease.ts'

const dialects: Readonly<Record<string, () => Dialect>> = { postgres, sqlite, mariadb, mysql, oracle }
const ways: readonly Way[] = ['active', 'staged', 'locked']
const { success, filter, failure, snooze } = TaskDecision

/**
 * The texts of the statements with which tasks are completed, one for each decision. The database answers that all were held, and
 * that the topic has no limits.
 */
function textsOf(dialect: Dialect, way: Way, decisions: readonly TaskDecision[], attempt = 30): string[] {
  const texts: string[] = []
  const count = decisions.length
  const rows = decisions.map((_, index): Row => ({ sequence: index + 1, count, affectedRows: count }))
  const adapter: SqlAdapter<object, 'sync'> = {
    execution: 'sync',
    execute: (_, statement) => {
      const text = render(statement, (position) => `$${position}`).replaceAll(/\n\s*/g, '\n')
      texts.push(text)
      return text.includes('task_limit') ? [] : rows
    },
  }
  const tasks = sqlTaskRepository({ dialect, adapter })
  const held = decisions.map((decision, index): [HeldTask, TaskDecision] => [
    { topic: 'mail', sequence: index + 1, identifier: `i${index}`, lease: toLease(attempt, way), attempt, tries: 1, priority: 0 },
    decision,
  ])
  tasks.complete({}, 'mail', new Map(held))
  return texts
}

const happy = {
  'two successes': [success(), success('sent')],
  'a success and a filter': [success(), filter('gone').because('cancelled')],
}

test('successes and filters are completed by the same statements as before there were attempts', async () => {
  const all = Object.entries(dialects).flatMap(([name, dialect]) =>
    ways.flatMap((way) =>
      Object.entries(happy).map(
        ([what, decisions]) => `-- ${name}, ${way}: ${what}\n${textsOf(dialect(), way, decisions).join(';\n')};\n`,
      ),
    ),
  )
  await expect(all.join('\n')).toMatchFileSnapshot('statements-of-completion.sql')
})

const dearFailure = 'a failure among successes costs one insert and a look for a dead letter, and a snooze nothing: %s'
test.each(Object.entries(dialects))(dearFailure, (_, dialect) => {
  for (const way of ways) {
    const of = (decision: TaskDecision): string[] => textsOf(dialect(), way, [success(), decision])
    const [calm, failed] = [of(filter('no')), of(failure('no'))]
    // The task was tried thirty times, so that attempts between the first and the last go.
    const added = failed.filter((text) => /task_(attempt|limit)/.test(text))
    expect(failed.length - added.length).toBe(calm.length)
    expect(added.map((text) => text.trim().split(/\s/, 1)[0])).toEqual(['insert', 'delete', 'select'])
    expect(of(snooze({ afterMs: 5 }))).toHaveLength(calm.length)
  }
})

test.each(Object.entries(dialects))(
  'a task has no attempts deleted until it was tried more than twenty times: %s',
  (_, dialect) => {
    for (const [attempt, verbs] of [
      [20, ['insert']],
      [21, ['insert', 'delete']],
    ] as const) {
      const texts = textsOf(dialect(), 'active', [failure('no')], attempt).filter((text) => text.includes('task_attempt'))
      expect(texts.map((text) => text.trim().split(' ', 1)[0])).toEqual(verbs)
    }
  },
)
