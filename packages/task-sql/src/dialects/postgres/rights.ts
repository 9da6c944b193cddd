/** The rights of users on PostgreSQL, and errors that say which right is missing. */
import { TaskError } from '@taskstream/task-api'
import type { SessionStatements } from '../../core/dialect.ts'
import type { PostgresTables } from './tables.ts'
import { raw, sql } from '../../core/statement.ts'
import type { Statement } from '../../core/statement.ts'

const rows = 'select, insert, update, delete on'

/** The rights that docs/guides/grants.md grants to a working user, by the object's name in messages of PostgreSQL. */
export const needs: Readonly<Record<string, string>> = {
  task: rows,
  task_topic: rows,
  task_owner: rows,
  task_holding: rows,
  task_lane: rows,
  task_range: rows,
  task_activation: rows,
  task_periodic: rows,
  task_result: 'select, insert, delete on',
  task_attempt: 'select, insert, delete on',
  task_dependency: rows,
  task_limit: rows,
  task_slot: rows,
  task_node: rows,
  task_audit: 'select, insert, delete on',
  task_turn: 'select, insert, delete on',
  task_migration: 'select on',
  task_pretty: 'select on',
  task_sequence: 'usage, select on sequence',
  task_turn_sequence: 'usage, select on sequence',
  task_attach: 'execute on function',
  task_blocks_open: 'execute on function',
  task_blocks_close: 'execute on function',
  task_blocks_draw: 'execute on function',
  // Everybody may execute these, unless the default privileges of the owner say otherwise: they run with the rights of their callers.
  task_take_fifo: 'execute on function',
  task_take_lifo: 'execute on function',
  task_take_priority: 'execute on function',
  task_take_ranges: 'execute on function',
}

/** What follows the name of an object in a grant: the types of a function's arguments. */
const argumentsOf = (object: string): string => functionArguments[object] ?? (object.startsWith('task_take_') ? taken : '')

const taken = '(text, text, integer, integer, boolean, bigint)'
const functionArguments: Readonly<Record<string, string>> = {
  task_attach: '(text)',
  task_blocks_open: '(text, bigint)',
  task_blocks_close: '(text)',
  task_blocks_draw: '(text, integer)',
  task_take_ranges: '(text, text, integer, boolean, bigint)',
}

/** The server's functions that report a refusal by a row security policy. Messages are translated, but these names are not. */
const refusedByPolicy = new Set(['ExecWithCheckOptions', 'check_enable_rls'])

/**
 * The error for a missing right. The server names the object but not the right, so the error names all rights that a working user has on
 * the object.
 *
 * @param schema the schema of the tables, if it is known
 */
export function permissionDenied(error: Error, schema = 'taskstream'): TaskError {
  const because = { cause: error }
  const { routine } = error as { routine?: string }
  const said = new Set(error.message.match(/\w+/g))
  const object = Object.keys(needs).find((name) => said.has(name))
  if (object !== undefined && refusedByPolicy.has(String(routine))) return hidden([`${schema}.${object}`], because)
  // An action that only the owner may do cannot be granted.
  if (object !== undefined && !/must be owner/.test(error.message)) {
    const needed = `${needs[object]} ${schema}.${object}${argumentsOf(object)}`
    return new TaskError(
      'PERMISSION_DENIED',
      `This user may not do that with ${schema}.${object}: grant ${needed} to it, as the owner of the tables, or use another user (${error.message})`,
      { needed },
      because,
    )
  }
  if (said.has(schema)) {
    const needed = `usage on schema ${schema}`
    return new TaskError(
      'PERMISSION_DENIED',
      `This user may not use the schema ${schema}, or make anything in it: grant ${needed} to it, and migrate as the owner of the tables (${error.message})`,
      { needed },
      because,
    )
  }
  const [, database] = /^permission denied for database "?(\w+)"?$/.exec(error.message) ?? []
  if (database !== undefined) {
    const needed = `create on database ${database}`
    return new TaskError(
      'PERMISSION_DENIED',
      `This user may not make the schema ${schema}: migrate as the owner of the tables, and grant ${needed} to that (${error.message})`,
      { needed },
      because,
    )
  }
  return new TaskError(
    'PERMISSION_DENIED',
    `The database does not let this user do that: grant it the right, or use another user, as the owner of the tables (${error.message})`,
    {},
    because,
  )
}

function hidden(tables: readonly string[], because: ErrorOptions = {}): TaskError {
  const all = tables.map((table) => `create policy taskstream on ${table} using (true) with check (true)`).join('; ')
  return new TaskError(
    'PERMISSION_DENIED',
    `Row security keeps rows of ${tables.join(', ')} from this user, so that tasks would be passed over: ${all}; or disable row level security on them, or let the user bypass it`,
    { tables },
    because,
  )
}

/**
 * Checks that row security hides no rows. A policy that shows and accepts every row hides nothing. For a user who may not write, a policy
 * that shows every row is enough. A narrower policy is refused: if a poll does not see some rows, polls of other users may skip them too.
 */
export function postgresRights(tables: PostgresTables): Pick<SessionStatements, 'checkSeen' | 'analyze'> {
  const { schema, taskName } = tables
  const name = schema.replaceAll('"', '')
  const applies = raw(
    `(0 = any (p.polroles) or exists (select from pg_catalog.unnest(p.polroles) r (role) where pg_catalog.pg_has_role(r.role, 'usage')))`,
  )
  const open = raw(`
    coalesce(pg_catalog.pg_get_expr(p.polqual, p.polrelid), 'true') = 'true'
    and coalesce(pg_catalog.pg_get_expr(p.polwithcheck, p.polrelid), 'true') = 'true'`)
  const policy = (which: Statement): Statement =>
    sql`exists (select from pg_catalog.pg_policy p where p.polrelid = c.oid and ${applies} and ${which})`
  const everyRow = sql`
    p.polpermissive
    and ${open}
    and (p.polcmd = '*' or p.polcmd = 'r' and not pg_catalog.has_table_privilege(c.oid, 'insert, update, delete'))`
  return {
    checkSeen: function* () {
      const found = yield sql`
        select c.relname as name
          from pg_catalog.pg_class c
         where c.relnamespace = pg_catalog.to_regnamespace(${schema})
           and c.relname = any (${`{${Object.keys(needs).join(',')}}`}::text[])
           and pg_catalog.row_security_active(c.oid)
           and (not ${policy(everyRow)} or ${policy(sql`not p.polpermissive and not (${open})`)})
         order by c.relname`
      if (found.length > 0) throw hidden(found.map((row) => `${name}.${String(row['name'])}`))
    },
    analyze: [
      // Without the right, PostgreSQL itself would do nothing and only warn, and drivers do not show warnings.
      raw(`
        do $$
        declare
          may boolean;
          whole boolean;
        begin
          select pg_catalog.pg_has_role(c.relowner, 'usage') or pg_catalog.pg_has_role(d.datdba, 'usage'), c.relkind <> 'p' into may, whole
            from pg_catalog.pg_class c, pg_catalog.pg_database d
           where c.oid = '${taskName}'::regclass and d.datname = pg_catalog.current_database();
          -- Of a partitioned table it would be that of the partitions too, one by one.
          if not may and whole and pg_catalog.current_setting('server_version_num')::int >= 170000 then
            may := pg_catalog.has_table_privilege('${taskName}', 'maintain');
          end if;
          if not may then
            raise exception 'must be owner of table task' using errcode = 'insufficient_privilege';
          end if;
        end $$`),
      raw(`analyze ${taskName}`),
    ],
  }
}

/** Selects each right of a working user that this user lacks, as it would be granted. */
export function missingRights({ schema }: Pick<PostgresTables, 'schema'>): Statement {
  // Nobody works with the view for people.
  const parts = Object.entries(needs)
    .filter(([name]) => name !== 'task_pretty')
    .flatMap(([name, right]) => {
      const [, privileges = '', kind = ''] = /^(.*) on ?(.*)$/.exec(right) ?? []
      return privileges.split(', ').map((privilege) => [name, privilege, kind, argumentsOf(name)] as const)
    })
  return sql`
    select r.value ->> 1 || ' on ' || case r.value ->> 2 when '' then '' else (r.value ->> 2) || ' ' end || x.name as needed, 1 as value
      from pg_catalog.json_array_elements(${JSON.stringify(parts)}::json) r (value),
           lateral (select pg_catalog.format('%s.%I', ${schema}::text, r.value ->> 0)
                             || (r.value ->> 3) as name) x
     where case
             when r.value ->> 2 = 'function' then not pg_catalog.has_function_privilege(pg_catalog.to_regprocedure(x.name), r.value ->> 1)
             when r.value ->> 2 = 'sequence' then not pg_catalog.has_sequence_privilege(pg_catalog.to_regclass(x.name), r.value ->> 1)
             else not pg_catalog.has_table_privilege(pg_catalog.to_regclass(x.name), r.value ->> 1)
           end
     order by needed`
}
