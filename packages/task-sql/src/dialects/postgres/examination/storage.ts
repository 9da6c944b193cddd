/** Looks at tables, indexes, partitions, and what autovacuum does for them. */
import { look } from '../../../core/examination.ts'
import type { Looks } from '../../../core/examination.ts'
import { raw, sql } from '../../../core/statement.ts'
import type { Statement } from '../../../core/statement.ts'
import type { PostgresTables } from '../tables.ts'
import { withOurs } from './relations.ts'

export function storageLooks(tables: PostgresTables): Looks {
  const { schema } = tables
  const ours = withOurs(tables)
  const statistics = sql`from ours join pg_catalog.pg_stat_all_tables s on s.relid = ours.oid`
  /** The rows of a table and its partitions as last estimated. Both estimates may be missing, and neither is ever too large for long. */
  const estimated = (table: string): Statement => sql`
      ${ours}
      select coalesce(sum(greatest(ours.reltuples::float8, s.n_live_tup::float8, 0)), 0)::float8 as value
        ${statistics}
       where ours.oid = pg_catalog.to_regclass(${`${schema}.${table}`})
          or ours.oid in (select i.inhrelid from pg_catalog.pg_inherits i where i.inhparent = pg_catalog.to_regclass(${`${schema}.${table}`}))`
  return {
    history: look(estimated('task')),
    attempts: look(estimated('task_attempt')),
    'hot-updates': look(sql`
      ${ours}
      select ours.name, s.n_tup_upd as size, s.n_tup_hot_upd::float8 / s.n_tup_upd as value,
             pg_catalog.format('alter table %s set (fillfactor = 50)', ours.name) as remedy
        ${statistics}
       where s.n_tup_upd > 0
       order by value
       limit 100`),
    'dead-rows': look(sql`
      ${ours}
      select ours.name, s.n_dead_tup as size, s.n_dead_tup::float8 / (s.n_live_tup + s.n_dead_tup) as value,
             pg_catalog.format('vacuum (analyze) %s', ours.name) as remedy
        ${statistics}
       where s.n_dead_tup > 0
       order by value desc
       limit 100`),
    'never-analysed': look(sql`
      ${ours}
      select ours.name, s.n_live_tup as size, 1 as value, pg_catalog.format('analyze %s', ours.name) as remedy
        ${statistics}
       where s.last_analyze is null and s.last_autoanalyze is null
       order by s.n_live_tup desc
       limit 100`),
    // An index that is being built is not valid yet.
    'index-invalid': look(sql`
      ${ours}
      select pg_catalog.format('%I.%I', n.nspname, c.relname) as name, 1 as value,
             pg_catalog.format('drop index %s%I.%I', case when c.relkind = 'i' then 'concurrently ' end, n.nspname, c.relname) as remedy
        from ours
        join pg_catalog.pg_index x on x.indrelid = ours.oid
        join pg_catalog.pg_class c on c.oid = x.indexrelid
        join pg_catalog.pg_namespace n on n.oid = c.relnamespace
       where not x.indisvalid
         and not exists (select from pg_catalog.pg_stat_progress_create_index b where b.index_relid = x.indexrelid)
       order by name
       limit 100`),
    'partition-detaching': look(sql`
      ${ours}
      select ours.name, 1 as value, pg_catalog.format('alter table %s detach partition %s finalize', i.inhparent::regclass, ours.name) as remedy
        from ours
        join pg_catalog.pg_inherits i on i.inhrelid = ours.oid
       where i.inhdetachpending
       order by ours.name
       limit 100`),
    autovacuum: look(sql`
      ${ours}
      select s.name, 1 as value, pg_catalog.format('alter system set %I = on', s.name) as remedy
        from pg_catalog.pg_settings s
       where s.name in ('autovacuum', 'track_counts') and s.setting = 'off'
      union all
      select ours.name, 1, pg_catalog.format('alter table %s reset (autovacuum_enabled)', ours.name)
        from ours
       where exists (select from pg_catalog.pg_options_to_table(ours.reloptions) o
                      where o.option_name = 'autovacuum_enabled' and not o.option_value::boolean)
       limit 100`),
    wraparound: look(sql`
      select pg_catalog.age(d.datfrozenxid)::float8 as value, 'vacuum (freeze)' as remedy
        from pg_catalog.pg_database d
       where d.datname = pg_catalog.current_database()`),
    // A statement that reads every topic locks every partition and each index of it.
    'partition-locks': look(sql`
      select x.partitions, x.locks, x.most, x.locks::float8 / x.most as value
        from (select count(distinct i.inhrelid) as partitions, count(distinct i.inhrelid) + count(p.indexrelid) as locks,
                     pg_catalog.current_setting('max_locks_per_transaction')::int8
                       * (pg_catalog.current_setting('max_connections')::int8 + pg_catalog.current_setting('max_prepared_transactions')::int8) as most
                from pg_catalog.pg_inherits i
                left join pg_catalog.pg_index p on p.indrelid = i.inhrelid
               where i.inhparent = pg_catalog.to_regclass(${tables.taskName})) x
       where x.partitions > 0`),
    fsync: off('fsync'),
    'full-page-writes': off('full_page_writes'),
    'synchronous-commit': off('synchronous_commit'),
  }
}

/** A look at a setting of the server. */
function off(setting: string): NonNullable<Looks['fsync']> {
  return look(sql`
      select pg_catalog.current_setting(${setting}) as setting,
             case when pg_catalog.current_setting(${setting}) = 'off' then 1 else 0 end as value,
             ${raw(`'alter system set ${setting} = on'`)} as remedy`)
}
