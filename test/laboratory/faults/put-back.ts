/** PostgreSQL: all tables are put back as they were a while ago, as a restore does, and sequences are set back, under processes that live on. */
import { setTimeout as delay } from 'node:timers/promises'
import type { Repair } from '@taskstream/task-api'
import type { Subject } from '../../subject.ts'
import type { Crew } from '../crew.ts'
import { insist } from '../fault.ts'
import type { Fault } from '../fault.ts'

type Ask = (text: string) => Promise<readonly Record<string, unknown>[]>

/** @param ask runs statements as somebody else, in one transaction @returns the rows of the last one */
export function putBackFaults(ask: Ask, subject: Subject): readonly Fault[] {
  const tasks = subject.tasks()

  /** Copies all tables as of one moment. The sequences are read later, as in a dump: they may be ahead. */
  async function save(): Promise<readonly string[]> {
    const rows = await ask(
      `select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname in ('taskstream', 'public') order by 1`,
    )
    const tables = rows.map(({ name }) => String(name))
    const copies = tables.map((name) => `create table ${copyOf(name)} as table ${name};`)
    await insist(() =>
      ask(
        `begin isolation level repeatable read;
         drop schema if exists saved cascade; create schema saved; ${copies.join(' ')}
         create table saved.numbers as
           select 'taskstream.task_sequence' as name, last_value, is_called from taskstream.task_sequence
            union all select 'taskstream.task_turn_sequence', last_value, is_called from taskstream.task_turn_sequence;
         commit`,
      ),
    )
    return tables
  }

  /** Ends all sessions, and puts the copies in the place of the rows. Triggers do not fire. */
  async function putBack(tables: readonly string[]): Promise<number> {
    const loads = tables.map((name) => `insert into ${name} overriding system value select * from ${copyOf(name)};`)
    const [row] = await insist(() =>
      ask(
        `begin;
         set local lock_timeout = '5s';
         create temporary table ended on commit drop as
           select count(pg_terminate_backend(pid)) as count from pg_stat_activity where application_name like 'laboratory %';
         lock table ${tables.join(', ')} in access exclusive mode;
         set local session_replication_role = replica;
         truncate ${tables.join(', ')};
         ${loads.join(' ')}
         drop table if exists saved.met;
         create table saved.met as select max(count) as count, max(setval(name, last_value, is_called)) from ended, saved.numbers;
         commit;
         select count from saved.met`,
      ),
    )
    await ask('drop schema saved cascade')
    return Number(row?.['count'])
  }

  /** As the guide says: a restored database has the attempts of its backup, and may call a living owner the holder of what it has long done. */
  async function restartWorkers(crew: Crew): Promise<void> {
    const workers = [...crew.members].filter(({ role }) => role === 'node' || role === 'jobs')
    await Promise.all(
      workers.map(async (member) => {
        const isFollowed = member.isAsked
        await crew.kill(member)
        if (!isFollowed) await crew.start(member.role, 0, member.isLasting)
      }),
    )
  }

  return [
    {
      kind: 'database restored',
      isWide: true,
      weight: 0.3,
      undoes: 'commits',
      inflict: async ({ crew, pause }) => {
        const tables = await save()
        await pause(200, 2_000)
        const met = await putBack(tables)
        await restartWorkers(crew)
        return met
      },
    },
    {
      kind: 'sequences set back',
      isWide: true,
      weight: 0.3,
      undoes: 'numbers',
      inflict: async ({ pause, random }) => {
        const back = (name: string): string =>
          `select setval('taskstream.${name}', greatest(1, (last_value * ${random()})::bigint)) from taskstream.${name}`
        await ask(`${back('task_sequence')}; ${back('task_turn_sequence')}`)
        await pause(100, 1_500)
        // As the guide says: nothing else tells processes.
        const repair = (): Promise<Repair> =>
          insist(() => subject.transactions<Repair>((transaction) => tasks.repair(transaction)))
        for (let { left, sequence } = await repair(); left > 0 || sequence !== 'ahead'; { left, sequence } = await repair())
          await delay(100)
        return 1
      },
    },
  ]
}

function copyOf(table: string): string {
  return `saved.${table.replaceAll(/\W/g, '_')}`
}
