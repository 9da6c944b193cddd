/** The row lane: tasks that are listed, and those that few were asked for. A row tells its own state, owner and attempt. */

/** CLAIM LISTED: `$1` topic, `$2` owner, `$3` how many. */
export const claimListed = `
    with c as materialized (
      select sequence from task where topic = $1 and listed and coalesce(state = 1, false)
       order by topic, sequence limit $3::int for update skip locked)
    update task t set state = 0, owner = $2, attempt = t.attempt + 1, tries = t.tries + 1, started = now()
      from c where t.topic = $1 and t.sequence = c.sequence
    returning t.sequence, t.identifier, t.input, t.attempt`

/** COMPLETE ROWS: `$1` topic, `$2` owner, `$3` sequences, `$4` attempts, `$5` states; returns the sequences that were held. */
export const completeRows = `
    update task t set state = u.s, listed = u.s = 1, output = null, completed = case when u.s = 1 then null else now() end,
           owner = case when u.s = 1 then null else t.owner end
      from unnest($3::int8[], $4::int[], $5::int[]) u (q, a, s)
     where t.topic = $1 and t.sequence = u.q and t.state = 0 and t.owner = $2 and t.attempt = u.a
    returning t.sequence`

/** HOLD ROWS: `$1` topic, `$2` owner, `$3` sequences, `$4` attempts; returns the sequences that are held, locked. */
export const holdRows = `
    select t.sequence from task t join unnest($3::int8[], $4::int[]) u (q, a) on t.sequence = u.q
     where t.topic = $1 and t.state = 0 and t.owner = $2 and t.attempt = u.a order by t.sequence for no key update of t`

/** EXPIRE ROWS: `$1` topic, `$2` milliseconds without a heartbeat after which an owner is dead. */
export const expireRows = `
    with c as materialized (
      select sequence from task t where topic = $1 and listed and coalesce(state = 0, false)
         and not exists (select from task_owner o where o.owner = t.owner and o.heartbeat > now() - $2 * interval '1 ms')
       order by topic, sequence limit 1000 for update skip locked)
    update task t set state = 1, owner = null, reason = 1 from c
     where t.topic = $1 and t.sequence = c.sequence and t.state = 0`
