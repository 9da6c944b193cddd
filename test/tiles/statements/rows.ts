/** The row lane: tasks that are listed, and those that few were asked for. A row tells its own state, owner and attempt. */

/** CLAIM LISTED: `$1` topic, `$2` owner, `$3` how many. */
export const claimListed = `
    with c as materialized (
      select sequence from task where topic = $1 and listed and coalesce(state = 1, false)
       order by topic, sequence limit $3::int for update skip locked)
    update task t set state = 0, owner = $2, attempt = t.attempt + 1, tries = t.tries + 1, started = now()
     where t.topic = $1 and t.sequence = any (array(select sequence from c)) and t.state = 1
    returning t.sequence, t.identifier, t.input, t.attempt`

/**
 * COMPLETE ROWS: `$1` topic, `$2` owner, `$3` sequences, `$4` attempts, `$5` states; returns the sequences that were held. Rows are locked in order, so that
 * two who complete the same rows do not wait for each other.
 */
export const completeRows = `
    with held as materialized (
      select t.sequence from task t
       where t.topic = $1 and t.sequence = any ($3::int8[]) and t.state = 0 and t.owner = $2
         and t.attempt = ($4::int[])[array_position($3::int8[], t.sequence)] order by t.topic, t.sequence for no key update)
    update task t set state = ($5::int[])[array_position($3::int8[], t.sequence)], listed = ($5::int[])[array_position($3::int8[], t.sequence)] = 1,
           completed = case when ($5::int[])[array_position($3::int8[], t.sequence)] = 1 then null else now() end,
           owner = case when ($5::int[])[array_position($3::int8[], t.sequence)] = 1 then null else t.owner end
     where t.topic = $1 and t.sequence = any (array(select sequence from held)) and t.state = 0 and t.owner = $2
    returning t.sequence`

/** HOLD ROWS: `$1` topic, `$2` owner, `$3` sequences, `$4` attempts; returns the sequences that are held, locked. */
export const holdRows = `
    select t.sequence from task t
     where t.topic = $1 and t.sequence = any ($3::int8[]) and t.state = 0 and t.owner = $2
       and t.attempt = ($4::int[])[array_position($3::int8[], t.sequence)] order by t.topic, t.sequence for no key update`

/** EXPIRE ROWS: `$1` topic, `$2` milliseconds without a heartbeat after which an owner is dead. */
export const expireRows = `
    with c as materialized (
      select sequence from task t where topic = $1 and listed and coalesce(state = 0, false)
         and not exists (select from task_owner o where o.owner = t.owner and o.heartbeat > now() - $2 * interval '1 ms')
       order by topic, sequence limit 1000 for update skip locked)
    update task t set state = 1, owner = null, reason = 1 from c
     where t.topic = $1 and t.sequence = c.sequence and t.state = 0`
