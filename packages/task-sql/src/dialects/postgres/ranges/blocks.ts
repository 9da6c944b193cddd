/** The numbers of topics that keep outcomes. Each topic draws them from a sequence of its own, a block at a time. */
import { raw } from '../../../core/statement.ts'
import type { Statement } from '../../../core/statement.ts'
import type { PostgresTables } from '../tables.ts'
import { blockSize } from './range-states.ts'

/**
 * Functions that make, remove and use the sequence of a topic, with the rights of their owner: whoever pushes need not be granted each sequence. They
 * set their search path, so that they do not call functions of their caller.
 */
export function blockFunctions({ schema }: PostgresTables): readonly Statement[] {
  const how = 'security definer set search_path = pg_catalog, pg_temp'
  const name = `format('${schema}.%I', 'task_block_' || md5(topic))`
  return [
    raw(`
    create function ${schema}.task_blocks_open(topic text) returns void language plpgsql ${how} as $$
    begin
      if to_regclass(${name}) is null then
        execute 'create sequence ' || ${name} || ' as bigint minvalue 1 cache 1';
      end if;
    end $$`),
    raw(`
    create function ${schema}.task_blocks_close(topic text) returns void language plpgsql ${how} as $$
    begin
      if to_regclass(${name}) is not null then
        execute 'drop sequence ' || ${name};
      end if;
    end $$`),
    // The transaction draws its id before its numbers. So whoever sees a later block sees this one, or a transaction that is running.
    raw(`
    create function ${schema}.task_blocks_draw(topic text, count integer) returns bigint[] language plpgsql ${how} as $$
    declare
      blocks constant regclass := to_regclass(${name});
      firsts bigint[];
    begin
      if blocks is null then
        return null;
      end if;
      perform pg_current_xact_id();
      for nth in 1 .. count loop
        firsts := firsts || nextval(blocks) * ${blockSize};
      end loop;
      return firsts;
    end $$`),
  ]
}
