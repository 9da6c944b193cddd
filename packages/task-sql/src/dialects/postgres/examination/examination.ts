import { look } from '../../../core/examination.ts'
import type { Examination } from '../../../core/examination.ts'
import { raw, sql } from '../../../core/statement.ts'
import { missingRights } from '../rights.ts'
import type { PostgresTables } from '../tables.ts'
import { sessionLooks } from './sessions.ts'
import { storageLooks } from './storage.ts'

export function postgresExamination(tables: PostgresTables): Partial<Examination> {
  return {
    begin: (limitMs) => [
      sql`
        select pg_catalog.set_config('transaction_read_only', 'on', true),
               pg_catalog.set_config('statement_timeout', ${String(limitMs)}, true)`,
    ],
    // data_corrupted, index_corrupted
    damaged: (error) => ['XX001', 'XX002'].includes(String((error as { code?: unknown }).code)),
    user: raw('select pg_catalog.quote_ident(current_user) as name'),
    looks: {
      ...sessionLooks(tables),
      ...storageLooks(tables),
      'postgres-version': look(
        raw(`
        select pg_catalog.current_setting('server_version') as version,
               pg_catalog.current_setting('server_version_num')::int / 10000 as value`),
      ),
      'read-only': look(
        raw(`
        select case when pg_catalog.pg_is_in_recovery() or s.reset_val = 'on' then 1 else 0 end as value,
               case when pg_catalog.pg_is_in_recovery() then 'in recovery' else 'read-only' end as state
          from pg_catalog.pg_settings s
         where s.name = 'default_transaction_read_only'`),
      ),
      rights: look(missingRights(tables)),
    },
  }
}
