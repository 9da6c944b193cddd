import { setTimeout as delay } from 'node:timers/promises'
import { raw } from '@taskstream/task-sql'
import type { Row } from '@taskstream/task-sql'
import { administratorOf } from '../databases/least-privilege.ts'
import type { Incident, Staged } from './incident.ts'
import { goTo } from './keyboard.ts'
import type { KeyboardStory } from './keyboard.ts'
import type { Site } from './site.ts'

/** Databases keep rows that are dead for as long as a transaction may still read them: every poll passes over them. */
export const heldHorizon: Incident = {
  name: 'held-horizon',
  happened: 'a transaction that never ends keeps all dead rows, or all of the write-ahead log',
  engines: ['sqlite', 'postgres', 'mariadb'],
  stage: (site) => (site.subject.engine === 'sqlite' ? stageOnFile(site) : stageOnServer(site)),
}

/** As PostgreSQL and MariaDB know the transactions that are older than a doctor lets pass. */
const tooOld = {
  postgres: (pid: number) =>
    `select 1 as found from pg_stat_activity where pid = ${pid} and now() - xact_start > interval '61 seconds'`,
  mariadb: (pid: number) =>
    `select 1 as found from information_schema.innodb_trx where trx_mysql_thread_id = ${pid} and timestampdiff(second, trx_started, now()) > 61`,
}

/** No page ends the transactions of others. */
function toHealth(shows: RegExp): KeyboardStory {
  return {
    leads: async (keys) => {
      await goTo(keys, 'h', /\/health$/)
      await keys.sees(shows)
    },
  }
}

async function stageOnServer(site: Site): Promise<Staged> {
  const { subject, tasks } = site
  const kind = subject.engine === 'postgres' ? 'postgres' : 'mariadb'
  const own = { transactions: subject.transactions, at: administratorOf(subject.location.at) }
  const [holder, looker] = [await subject.session(own), await subject.session(own)]
  const hold = (statement: string): Promise<readonly Row[]> => subject.execute(holder.transaction, raw(statement))
  const [row] = await hold(kind === 'postgres' ? 'select pg_backend_pid() as pid' : 'select connection_id() as pid')
  const pid = Number(row?.['pid'])
  if (kind === 'postgres') await hold(`set application_name = 'monthly report'`)
  await hold(kind === 'postgres' ? 'begin isolation level repeatable read' : 'start transaction with consistent snapshot')
  await hold('select 1')
  await site.commit((transaction) => tasks.initialize(transaction, 'invoices'))
  return {
    question: 'Each poll takes longer than the one before, and the database grows, although hardly anything is pushed.',
    url: site.administrator,
    ready: async () => {
      while ((await subject.execute(looker.transaction, raw(tooOld[kind](pid)))).length === 0) await delay(500)
    },
    finds: {
      command: ['doctor'],
      shows: new RegExp(`\\n(warn|crit) transaction-open: \\d+ min.*: session ${pid} of .*\\n`),
      code: 4,
    },
    shown: {
      page: 'health',
      shows: /transaction-open\s+\S (warn|crit)[^\n]*(pg_terminate_backend|kill )/,
      route: 'examination',
      answers: /"check":"transaction-open"(?:(?!"check")[^])*"severity":"(warn|crit)"/,
      byKeyboard: toHealth(/transaction-open\s+\S (warn|crit)/),
    },
    remedy: /\n {2}end it, once you know what it does: (.*)\n/g,
    carryOut: async ([statement = '']) => {
      await site.execute(statement)
      return [`${kind === 'postgres' ? 'psql' : 'mariadb'}> ${statement}`]
    },
    after: { command: ['doctor'], shows: /^transaction-open +ok /m },
  }
}

async function stageOnFile(site: Site): Promise<Staged> {
  const file = site.subject.location.at
  const reader = await site.start({ role: 'reader', name: 'report', release: '4.2.0', topic: 'invoices' })
  await site.execute('create table ballast (bytes blob)')
  for (let count = 0; count < 17; count++) await site.execute('insert into ballast values (zeroblob(4194304))')
  return {
    question: 'The disk fills up: the file beside the database grows, although hardly anything is pushed.',
    finds: { command: ['doctor'], shows: /\nwarn wal-size: \S+ MiB\n/, code: 4 },
    shown: {
      page: 'health',
      shows: /wal-size\s+\S warn/,
      route: 'examination',
      answers: /"check":"wal-size"(?:(?!"check")[^])*"severity":"warn"/,
      byKeyboard: toHealth(/wal-size\s+\S warn/),
    },
    remedy: /\n {2}end the reader that never ends, one of the processes that (?:fuser \S+) lists; then: (.*)\n/g,
    carryOut: async ([statement = '']) => {
      await reader.kill()
      await site.execute(statement)
      return [`$ fuser ${file}`, `$ kill ${reader.pid}`, `sqlite> ${statement}`]
    },
    after: { command: ['doctor'], shows: /^wal-size +ok /m },
  }
}
