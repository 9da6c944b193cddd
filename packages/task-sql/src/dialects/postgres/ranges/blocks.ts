/** The numbers of topics that keep outcomes. Each topic draws them from a sequence of its own, a block at a time. */
import { raw, sql } from '../../../core/statement.ts'
import type { Statement } from '../../../core/statement.ts'
import type { PostgresTables } from '../tables.ts'
import { inTopic } from '../topic.ts'
import { blockBits, blockSize, frontierOf, rangeStates } from './range-states.ts'

/**
 * Functions that make, remove and use the sequence of a topic, with the rights of their owner: whoever pushes need not be granted each sequence. They
 * set their search path, so that they do not call functions of their caller.
 *
 * `task_blocks_open` returns the last block that was passed or drawn. No number is drawn twice, also if a topic is destroyed and made again: a lease of the former topic would fit a task of the new one. So a sequence begins
 * above all that were removed before it.
 */
export function blockFunctions({ schema }: PostgresTables): readonly Statement[] {
  const how = 'security definer set search_path = pg_catalog, pg_temp'
  const name = `format('${schema}.%I', 'task_block_' || md5(topic))`
  const passed = `${schema}.task_blocks_passed`
  const key = `hashtextextended('taskstream.blocks.${schema.replaceAll('"', '')}', 0)`
  return [
    raw(`create sequence ${passed} as bigint minvalue 0 start with 0 cache 1`),
    raw(`
    create function ${schema}.task_blocks_open(topic text, passed bigint) returns bigint language plpgsql ${how} as $$
    declare
      last bigint := greatest(passed, (select last_value from ${passed}));
      drawn constant text := format('select case when is_called then last_value else last_value - 1 end from %s', ${name});
    begin
      if to_regclass(${name}) is null then
        execute format('create sequence %s as bigint minvalue 1 cache 1 start with %s', ${name}, last + 1);
        return last;
      end if;
      execute drawn into last;
      if last < passed then
        -- Locks the sequence, so that nobody draws between the look and the move. Whoever has drawn from it is waited for, so that it is not locked in vain.
        execute format('alter sequence %s owned by none', ${name});
        execute drawn into last;
        if last < passed then
          perform setval(${name}::regclass, passed);
        end if;
      end if;
      return last;
    end $$`),
    raw(`
    create function ${schema}.task_blocks_close(topic text) returns void language plpgsql ${how} as $$
    declare
      last bigint;
    begin
      if to_regclass(${name}) is not null then
        -- Locks the sequence, so that nobody draws another number before it is gone.
        execute format('alter sequence %s owned by none', ${name});
        execute format('select last_value from %s', ${name}) into last;
        -- Of two topics that are destroyed at once, the lower number must not come last.
        perform pg_advisory_xact_lock(${key});
        perform setval('${passed}', greatest(last, (select last_value from ${passed})));
        execute format('drop sequence %s', ${name});
      end if;
    end $$`),
    // The transaction draws its id before its numbers. So whoever sees a later block sees this one, or a transaction that is running.
    raw(`
    create function ${schema}.task_blocks_draw(topic text, count integer) returns bigint[] language plpgsql ${how} as $$
    declare
      blocks regclass;
      gone regclass;
      firsts bigint[];
    begin
      loop
        blocks := to_regclass(${name});
        if blocks is null then
          return null;
        end if;
        perform pg_current_xact_id();
        begin
          for nth in 1 .. count loop
            firsts := firsts || nextval(blocks) * ${blockSize};
          end loop;
          return firsts;
        exception when internal_error or undefined_table then
          -- The topic was destroyed while this waited for its sequence. It may have been made again.
          if blocks = gone then
            raise;
          end if;
          gone := blocks;
          firsts := null;
        end;
      end loop;
    end $$`),
  ]
}

/** Makes the sequence of a new topic. Its first range ends before its first number. */
export function openBlocks({ schema, range }: PostgresTables, topic: string): Statement {
  return sql`
    insert into ${range} (topic, lo, hi, given, state)
    select ${topic}, 0, ${raw(schema)}.task_blocks_open(${topic}, 0) * ${raw(String(blockSize))} + ${raw(String(blockSize - 1))}, 0, ${rangeStates.ended}`
}

/** Makes the sequence of a topic that has none, or moves one that is behind its tasks: a copy of the tables has no sequences, or old ones. */
export function repairBlocks(tables: PostgresTables, topic: string): Statement {
  const last = sql`(select t.sequence from ${tables.task} t where ${inTopic(tables, topic)} order by t.topic desc, t.sequence desc limit 1)`
  return sql`
    select ${raw(tables.schema)}.task_blocks_open(${topic}, greatest(${last}, ${frontierOf(tables, sql`${topic}`)}) >> ${raw(String(blockBits))})`
}

/** Removes what a topic that kept outcomes has beside its tasks. */
export function closeBlocks({ schema, range }: PostgresTables, topic: string): readonly Statement[] {
  return [sql`delete from ${range} where topic = ${topic}`, sql`select from ${raw(schema)}.task_blocks_close(${topic})`]
}
