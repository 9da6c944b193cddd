/** Inserts a million rows in every state by SQL, in the form in which the verbs would have left them. */
import { raw } from '@taskstream/task-sql'
import type { AnyTransaction, Subject, Tasks } from '../subject.ts'

export const topicsOfMillion = {
  plain: {},
  lifo: { order: 'lifo' },
  priority: { order: 'priority' },
  keyed: { keyed: true },
  shared: { order: 'shared' },
  singular: { condition: 'singular-by-identifier-suspend-on-failure' },
  one: { condition: 'singular-by-identifier' },
} as const

/** The rows of each topic: their number, and their columns as expressions of `n`, which counts from 1. */
const rows: readonly (readonly [topic: string, count: number, columns: Readonly<Record<string, string>>])[] = [
  ['plain', 750_000, { state: '6', completed: 'NOW' }],
  // Before the other ready rows come rows that became ready again, rows that wait, and rows of a dead owner.
  ['plain', 1_000, { state: '1', listed: 'TRUE' }],
  ['plain', 1_000, { state: '4', due: 'LATER' }],
  ['plain', 1_000, { state: '0', listed: 'TRUE', owner: `'dead'`, attempt: '1', tries: '1' }],
  // These were tried so often that attempts between the first and the last go.
  ['plain', 20_000, { state: '1', attempt: '30' }],
  ['lifo', 30_000, { state: '6', completed: 'NOW' }],
  ['lifo', 30_000, { state: '1', listed: 'TRUE' }],
  ['priority', 30_000, { state: '6', completed: 'NOW', priority: 'n % 10' }],
  ['priority', 30_000, { state: '1', listed: 'TRUE', ranked: 'TRUE', priority: 'n % 10' }],
  ['keyed', 40_000, { state: '6', completed: 'NOW', stage: '9' }],
  ['keyed', 10_000, { state: '1', stage: '9' }],
  ['keyed', 1_000, { state: '4', due: 'LATER', stage: '9', identifier: `'d' || n` }],
  // Three hundred identifiers have something that has ended, and twenty of them have ready tasks.
  ['shared', 30_000, { state: '6', completed: 'NOW', stage: '7', identifier: `'i' || (n % 300)` }],
  ['shared', 10_000, { state: '1', listed: 'TRUE', stage: '5', identifier: `'i' || (n % 20)` }],
  ['shared', 10_000, { state: '1', listed: 'TRUE', stage: '6', priority: '-1', identifier: `'i' || (n % 20)` }],
  // Each identifier has a succeeded task and a ready one, with a failed task between. The first thousand have no failed task, so theirs are listed.
  ['singular', 20_000, { state: '6', completed: 'NOW', stage: '4' }],
  ['singular', 19_000, { state: '3', completed: 'NOW', attempt: '1', stage: '2', identifier: `'i' || (n + 1000)` }],
  ['singular', 20_000, { state: '1', stage: '1', listed: 'n <= 1000' }],
  ['one', 1, { state: '0', stage: '0', listed: 'TRUE', owner: `'dead'`, attempt: '1', identifier: `'same'` }],
  ['one', 28_000, { state: '1', stage: '1', identifier: `'same'` }],
]

export async function loadMillion(subject: Subject, tasks: Tasks): Promise<void> {
  const postgres = subject.engine === 'postgres'
  const mariadb = subject.engine === 'mariadb'
  const schema = postgres ? 'taskstream.' : ''
  const literals: Readonly<Record<string, string>> = postgres
    ? { TRUE: 'true', NOW: 'statement_timestamp()', LATER: `statement_timestamp() + interval '1 day'` }
    : { TRUE: '1', NOW: '1', LATER: '9999999999999' }
  const numbers = (count: number): string => {
    if (postgres) return `generate_series(1, ${count}) n`
    return mariadb
      ? `(select seq as n from seq_1_to_${count}) s`
      : `(with recursive s (n) as (select 1 union all select n + 1 from s where n < ${count}) select n from s)`
  }
  // The database must not gather statistics by itself, as the tests decide when it does.
  const calm = postgres ? 'set (autovacuum_enabled = off)' : mariadb && 'stats_persistent = 1, stats_auto_recalc = 0'
  for (const table of calm ? ['task', 'task_attempt'] : [])
    await subject.transactions((transaction) => subject.execute(transaction, raw(`alter table ${schema}${table} ${calm}`)))
  await subject.transactions(async (transaction: AnyTransaction) => {
    const run = (text: string): Promise<unknown> => subject.execute(transaction, raw(text))
    await tasks.register(transaction)
    for (const [topic, options] of Object.entries(topicsOfMillion)) await tasks.initialize(transaction, topic, options)
    if (mariadb) {
      // During the load, `||` joins texts on MariaDB too.
      await run(`set sql_mode = concat(@@sql_mode, ',pipes_as_concat')`)
    }
    for (const [topic, count, given] of rows) {
      const columns: Record<string, string> = {
        topic: `'${topic}'`,
        identifier: `'i' || n`,
        ...(postgres ? {} : { created: '1' }),
        ...(mariadb && { sequence: 'next value for task_sequence' }),
        external_id: topic === 'keyed' ? `'${count}-' || n` : 'null',
        ...given,
      }
      const values = Object.values(columns).map((value) => value.replaceAll(/TRUE|NOW|LATER/g, (word) => literals[word] ?? word))
      await run(
        `insert into ${schema}task (${Object.keys(columns).join(', ')}) select ${values.join(', ')} from ${numbers(count)}`,
      )
    }
    if (mariadb) await run('set sql_mode = default')
    // The attempts ended in the order of their tasks, long ago. Those of failed tasks are kept. Each has one of twenty errors.
    const kind = mariadb ? `concat('error', sequence % 20)` : `'error' || (sequence % 20)`
    for (const [topic, state] of [
      ['plain', 6],
      ['singular', 3],
    ])
      await run(
        `insert into ${schema}task_attempt (topic, sequence, attempt, ended, outcome, fingerprint)
         select topic, sequence, 1, ${postgres ? 'to_timestamp(sequence)' : 'sequence'}, 1, ${kind} from ${schema}task where topic = '${topic}' and state = ${state} limit 100000`,
      )
    if (!postgres) return
    // Polls would have raised the low watermark to the first ready row that is not listed, and noted the dead owner's claims in the ledger.
    await run(`update taskstream.task_topic p set floor = coalesce((select min(sequence) - 1 from taskstream.task t
                where t.topic = p.topic and t.state = 1 and not t.listed), 0)`)
    await run(`insert into taskstream.task_holding (topic, owner, chunk)
                select distinct topic, owner, sequence >> 13 from taskstream.task where state = 0`)
  })
}
