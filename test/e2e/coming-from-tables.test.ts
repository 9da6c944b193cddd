/** The statements of the guide to tables write what waits there as tasks, and a second push of them adds nothing. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { canRun, openSubject } from '../subject.ts'
import type { Subject } from '../subject.ts'
import { run } from './command-line.ts'
import { query, TargetDatabase } from './import-fixture.ts'

const guide = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'coming-from', 'tasklib.md'), 'utf8')
const [ofTaskLib = '', ofAncestor = ''] = [...guide.matchAll(/^```sql\n(.*?)^```$/gms)].map(([, statement]) => statement!)

describe.skipIf(!canRun)('the guide to tables', () => {
  let subject: Subject
  let target: TargetDatabase
  beforeAll(async () => {
    subject = await openSubject()
    target = await TargetDatabase.create(subject)
  })
  afterAll(async () => {
    await target[Symbol.asyncDispose]()
    await subject[Symbol.asyncDispose]()
  })

  const push = async (statement: string, topic: string): Promise<string> => {
    const rows = await query(target.url, statement)
    const stdin = rows.map((row) => JSON.stringify(Object.values(row)[0])).join('\n')
    const { code, out, err } = await run(['push', topic, '--stdin', '--initialize', '--url', target.url], { stdin })
    expect([code, err]).toEqual([0, ''])
    return out
  }

  test('takes the pending tasks of TaskLib, and the failed ones that have retries left', async () => {
    await query(
      target.url,
      `create table tasks (id uuid primary key default gen_random_uuid(), name text not null, args json, kwargs json, state text default 'pending',
         result json, error text, retry_count int default 0, max_retries int default 3, next_retry_at timestamp,
         scheduled_at timestamp default '2026-01-01', started_at timestamp, completed_at timestamp, created_at timestamp default '2026-01-01',
         worker_id text, locked_until timestamp, timeout_seconds int, priority int default 0, tags json default '{}');
       insert into tasks (name, kwargs, state, retry_count, next_retry_at, priority, timeout_seconds, tags) values
         ('send', '{"to":"ann"}', 'pending', 0, null, 0, null, '{"tenant":7}'), ('send', '{"to":"bob"}', 'failed', 1, '2100-01-01', 0, 30, '{}'),
         ('send', '{"to":"eve"}', 'pending', 0, null, 5, null, '{}'), ('send', '{"to":"dan"}', 'failed', 3, null, 0, null, '{}'),
         ('send', '{"to":"kai"}', 'completed', 0, null, 0, null, '{}'), ('send', '{"to":"ida"}', 'running', 0, null, 0, null, '{}')`,
    )
    await target.taskstream('topic', 'create', 'tasklib', '--order', 'priority')
    expect(await push(ofTaskLib, 'tasklib')).toMatch(/^(created .*\n){3}$/)
    expect(await push(ofTaskLib, 'tasklib')).toMatch(/^(duplicate .*\n){3}$/)
    const tasks = await target.tasks('tasklib')
    const byWhom = new Map(tasks.map((task) => [(JSON.parse(task.input!) as { to: string }).to, task]))
    expect([...byWhom.keys()].toSorted()).toEqual(['ann', 'bob', 'eve'])
    expect(byWhom.get('ann')).toMatchObject({ maxTries: 4, headers: { job: 'send', tags: { tenant: 7 } } })
    expect(byWhom.get('bob')).toMatchObject({ maxTries: 3, due: '2100-01-01T00:00:00.000Z', headers: { timeoutMs: 30_000 } })
    expect(byWhom.get('eve')).toMatchObject({ priority: 5 })
  })

  test('takes the ready and suspended tasks of the ancestor, in their order', async () => {
    await query(
      target.url,
      `create table task (topic varchar(250) not null, sequence bigserial, identifier varchar(500) not null, state numeric(1) default 1 not null,
         descent numeric(1) default 1 not null, owner varchar(250), created timestamp default current_timestamp not null, input text, output text,
         completed timestamp, primary key (topic, sequence));
       insert into task (topic, identifier, state, input) values ('invoices', 'a', 1, 'one'), ('invoices', 'b', 4, null), ('invoices', 'a', 0, 'three'),
         ('invoices', 'c', 3, 'four'), ('invoices', 'c', 1, 'five "5"'), ('others', 'a', 1, 'six')`,
    )
    expect(await push(ofAncestor, 'invoices')).toMatch(/^(created .*\n){3}$/)
    expect(await push(ofAncestor, 'invoices')).toMatch(/^(duplicate .*\n){3}$/)
    expect((await target.tasks('invoices')).map(({ identifier, state, input }) => [identifier, state, input])).toEqual([
      ['a', 'ready', 'one'],
      ['b', 'suspended', undefined],
      ['c', 'ready', 'five "5"'],
    ])
  })
})
