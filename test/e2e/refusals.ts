/** Makes a database refuse to write some tasks in some states, by a trigger that no driver or library knows of. */
import { stateNumber } from '@taskstream/task-api'
import type { TaskState } from '@taskstream/task-api'
import { raw } from '@taskstream/task-sql'
import { isMysql, isOracle, isPostgres } from '../subject.ts'
import type { Subject } from '../subject.ts'

/** The states that a completion writes. */
export const results: readonly TaskState[] = ['failed', 'suspended', 'filtered', 'succeeded']

/** The message of the database's refusal. */
export const refusal = 'refused by a trigger'

/** Refuses tasks in these states whose identifier begins with `prefix`, until the result is disposed of. */
export async function refuse(subject: Subject, prefix: string, states: readonly TaskState[]): Promise<AsyncDisposable> {
  const which = `in (${states.map(stateNumber).join(', ')})`
  const [create, drop] = trigger(prefix, which)
  const run = async (statements: readonly string[]): Promise<void> => {
    for (const statement of statements) await subject.transactions((transaction) => subject.execute(transaction, raw(statement)))
  }
  let dropped = false
  await run(create)
  return {
    [Symbol.asyncDispose]: async () => {
      if (!dropped) await run(drop)
      dropped = true
    },
  }
}

type Statements = readonly [create: readonly string[], drop: readonly string[]]

function trigger(prefix: string, which: string): Statements {
  if (isPostgres) return ofPostgres(prefix, which)
  if (isMysql) return ofMariaDb(prefix, which)
  return isOracle ? ofOracle(prefix, which) : ofSqlite(prefix, which)
}

function ofPostgres(prefix: string, which: string): Statements {
  return [
    [
      `create function taskstream.refuse() returns trigger language plpgsql as $$ begin raise exception '${refusal}'; end $$`,
      `create trigger refuse before update on taskstream.task for each row
         when (new.identifier like '${prefix}%' and new.state ${which}) execute function taskstream.refuse()`,
    ],
    ['drop trigger refuse on taskstream.task', 'drop function taskstream.refuse()'],
  ]
}

function ofMariaDb(prefix: string, which: string): Statements {
  return [
    [
      `create trigger refuse before update on task for each row begin
         if new.identifier like '${prefix}%' and new.state ${which} then
           signal sqlstate '45000' set message_text = '${refusal}';
         end if;
       end`,
    ],
    ['drop trigger refuse'],
  ]
}

function ofSqlite(prefix: string, which: string): Statements {
  return [
    [
      `create trigger refuse before update on task when new.identifier like '${prefix}%' and new.state ${which}
       begin select raise(abort, '${refusal}'); end`,
    ],
    ['drop trigger refuse'],
  ]
}

function ofOracle(prefix: string, which: string): Statements {
  return [
    [
      `create trigger refuse before update on task for each row
         when (new.identifier like '${prefix}%' and new.state ${which})
       begin raise_application_error(-20000, '${refusal}'); end;`,
    ],
    ['drop trigger refuse'],
  ]
}
