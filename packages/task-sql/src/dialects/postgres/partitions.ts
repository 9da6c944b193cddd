import { raw } from '../../core/statement.ts'
import type { Statement } from '../../core/statement.ts'
import type { PostgresTables } from './tables.ts'

/** The page of a row has room for three versions of it, and vacuum runs early (docs/decisions/hot-path.md). */
export const leafStorage = 'fillfactor = 28, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.05'

/** The name of a topic's partition, as an expression over the topic. */
export const leafOf = (topic: string): string => `'task_p_' || pg_catalog.md5(${topic})`

/** The key of an advisory lock. A call that detaches a topic's partition holds it exclusively; a call that initialises the topic shares it. */
export const detachLock = (schema: string, topic: string): string =>
  `pg_catalog.hashtextextended('taskstream.detach.${schema.replaceAll('"', '')}.' || ${topic}, 0)`

/** The function as it was first released. */
export function attachFunction(tables: PostgresTables): Statement {
  return raw(`
    create function ${attachBody(tables, 'language plpgsql')}`)
}

/**
 * The same function with the rights of its owner, the user who has migrated: only the owner of the table may attach a partition for a
 * new topic. Users who may execute the function may make partitions, so that right must be granted explicitly. The function sets its
 * search path, so that it does not call functions of its caller with the owner's rights.
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
 * A function that makes a topic's partition. DDL takes no parameters, so the function quotes the topic on the server. It does nothing
 * if the table is not partitioned, and keeps an existing partition. A partition is created first and then attached. That blocks no
 * push, poll or completion of any topic; `create … partition of` would.
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
