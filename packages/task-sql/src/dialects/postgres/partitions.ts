import { raw } from '../../core/statement.ts'
import type { Statement } from '../../core/statement.ts'
import type { PostgresTables } from './tables.ts'

/** Three versions of a row fit its page, and vacuum comes early (docs/decisions/hot-path.md). */
export const leafStorage = 'fillfactor = 28, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.05'

/** The name of a topic's partition, as an expression over the topic. */
export const leafOf = (topic: string): string => `'task_p_' || pg_catalog.md5(${topic})`

/** Whoever detaches a topic's partition holds this lock exclusively, and whoever initialises the topic shares it. */
export const detachLock = (schema: string, topic: string): string =>
  `pg_catalog.hashtextextended('taskstream.detach.${schema.replaceAll('"', '')}.' || ${topic}, 0)`

/** The function as it was first released. */
export function attachFunction(tables: PostgresTables): Statement {
  return raw(`
    create function ${attachBody(tables, 'language plpgsql')}`)
}

/**
 * The same, run with the rights of its owner, who has migrated: a new topic needs a partition, and only the owner of the table may attach one.
 * Whoever may execute it may make partitions, so nobody may unless it is granted. Its search path is its own, because a function that runs
 * as its owner must not call what its caller put in the way.
 */
export function attachAsOwner(tables: PostgresTables): readonly Statement[] {
  const name = `${tables.attach.texts.join('')}(text)`
  return [
    raw(
      `create or replace function ${attachBody(tables, 'language plpgsql security definer set search_path = pg_catalog, pg_temp')}`,
    ),
    raw(`revoke execute on function ${name} from public`),
  ]
}

/**
 * A function, because DDL takes no parameters: it quotes the topic on the server. Where the table is not partitioned it does nothing.
 * A partition is made apart and then attached: that blocks no push, poll or completion of any topic, and `create … partition of`
 * would. One that is there from before is taken as it is.
 */
function attachBody({ schema, attach }: PostgresTables, how: string): string {
  return `${attach.texts.join('')}(topic text) returns void ${how} as $$
    declare
      leaf text := 'task_p_' || md5(topic);
      attached boolean;
      detaching boolean;
    begin
      if (select c.relkind <> 'p' from pg_class c where c.oid = '${schema}.task'::regclass) then
        return;
      end if;
      perform pg_advisory_xact_lock_shared(hashtextextended('taskstream.detach.${schema.replaceAll('"', '')}.' || topic, 0));
      select true, i.inhdetachpending into attached, detaching
        from pg_inherits i
       where i.inhparent = '${schema}.task'::regclass and i.inhrelid = to_regclass(format('${schema}.%I', leaf));
      if detaching then
        raise exception 'the partition of this topic was being detached' using errcode = 'object_not_in_prerequisite_state';
      end if;
      if attached then
        return;
      end if;
      if to_regclass(format('${schema}.%I', leaf)) is null then
        execute format('create table ${schema}.%I (like ${schema}.task including defaults including constraints including storage)'
                       ' with (${leafStorage})', leaf);
      end if;
      execute format('alter table ${schema}.task attach partition ${schema}.%I for values in (%L)', leaf, topic);
    end $$`
}
