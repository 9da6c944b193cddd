-- postgres, active: two successes

with touched as (update "taskstream".task as t set 
listed = false,
completed = pg_catalog.statement_timestamp(),
output = ($1::jsonb ->> t.sequence::text)::text,
state = $2::int8,
reason = null  where 
t.topic = $3
and t.sequence = any ((select $4::int8[])::int8[])
and t.state = 0 and t.owner = $5 and t.attempt = $6::int8 returning sequence)
select count(*)::int as count, case when count(*) < $7::int then pg_catalog.string_agg(sequence::text, ',') end as sequences
from touched;

-- postgres, active: a success and a filter

with touched as (update "taskstream".task as t set 
listed = false,
completed = pg_catalog.statement_timestamp(),
output = ($1::jsonb ->> t.sequence::text)::text,
state = ($2::jsonb ->> t.sequence::text)::int8,
reason = ($3::jsonb ->> t.sequence::text)::int8  where 
t.topic = $4
and t.sequence = any ((select $5::int8[])::int8[])
and t.state = 0 and t.owner = $6 and t.attempt = $7::int8 returning sequence)
select count(*)::int as count, case when count(*) < $8::int then pg_catalog.string_agg(sequence::text, ',') end as sequences
from touched;

-- postgres, staged: two successes

with touched as (update "taskstream".task as t set 
listed = false,
completed = pg_catalog.statement_timestamp(),
output = ($1::jsonb ->> t.sequence::text)::text,
state = $2::int8,
reason = null, stage = case when t.stage <= 4 then $3::int8 when t.stage <= 7 then 7 else t.stage end  where 
t.topic = $4
and t.sequence = any ((select $5::int8[])::int8[])
and t.state = 0 and t.owner = $6 and t.attempt = $7::int8 returning sequence, identifier), noted as (
insert into "taskstream".task_turn (topic, identifier)
select p.topic, r.identifier
from "taskstream".task_topic p, (select distinct identifier from touched) r
where p.topic = $8 )
select count(*)::int as count, case when count(*) < $9::int then pg_catalog.string_agg(sequence::text, ',') end as sequences, case when count(*) > 0 then pg_catalog.pg_notify($10, $11)::text end as woken
from touched;

-- postgres, staged: a success and a filter

with touched as (update "taskstream".task as t set 
listed = false,
completed = pg_catalog.statement_timestamp(),
output = ($1::jsonb ->> t.sequence::text)::text,
state = ($2::jsonb ->> t.sequence::text)::int8,
reason = ($3::jsonb ->> t.sequence::text)::int8, stage = case when t.stage <= 4 then $4::int8 when t.stage <= 7 then 7 else t.stage end  where 
t.topic = $5
and t.sequence = any ((select $6::int8[])::int8[])
and t.state = 0 and t.owner = $7 and t.attempt = $8::int8 returning sequence, identifier), noted as (
insert into "taskstream".task_turn (topic, identifier)
select p.topic, r.identifier
from "taskstream".task_topic p, (select distinct identifier from touched) r
where p.topic = $9 )
select count(*)::int as count, case when count(*) < $10::int then pg_catalog.string_agg(sequence::text, ',') end as sequences, case when count(*) > 0 then pg_catalog.pg_notify($11, $12)::text end as woken
from touched;

-- postgres, locked: two successes

with touched as (update "taskstream".task as t set 
listed = false,
completed = pg_catalog.statement_timestamp(),
output = ($1::jsonb ->> t.sequence::text)::text,
state = $2::int8,
reason = null, owner = $3, attempt = t.attempt + 1,
started = coalesce(pg_catalog.to_timestamp($4::float8 / 1000), pg_catalog.transaction_timestamp()), tries = (t.tries + 1)  where 
t.topic = $5
and t.sequence = any ((select $6::int8[])::int8[])
and t.state = 1 and t.attempt = $7::int8 - 1 and coalesce(((select nullif(pg_catalog.current_setting('taskstream.locked', true), '')::jsonb) -> t.sequence::text)::int8 = t.attempt, false) returning sequence)
select count(*)::int as count, case when count(*) < $8::int then pg_catalog.string_agg(sequence::text, ',') end as sequences
from touched;

-- postgres, locked: a success and a filter

with touched as (update "taskstream".task as t set 
listed = false,
completed = pg_catalog.statement_timestamp(),
output = ($1::jsonb ->> t.sequence::text)::text,
state = ($2::jsonb ->> t.sequence::text)::int8,
reason = ($3::jsonb ->> t.sequence::text)::int8, owner = $4, attempt = t.attempt + 1,
started = coalesce(pg_catalog.to_timestamp($5::float8 / 1000), pg_catalog.transaction_timestamp()), tries = (t.tries + 1)  where 
t.topic = $6
and t.sequence = any ((select $7::int8[])::int8[])
and t.state = 1 and t.attempt = $8::int8 - 1 and coalesce(((select nullif(pg_catalog.current_setting('taskstream.locked', true), '')::jsonb) -> t.sequence::text)::int8 = t.attempt, false) returning sequence)
select count(*)::int as count, case when count(*) < $9::int then pg_catalog.string_agg(sequence::text, ',') end as sequences
from touched;

-- sqlite, active: two successes
update task as t set 
listed = 0,
completed = coalesce($1, cast(round(unixepoch('subsec') * 1000) as integer)),
output = r.output,
state = r.state,
reason = null from (select value ->> 0 as held_sequence, value ->> 1 as held_attempt, value ->> 2 as state, value ->> 3 as output, value ->> 4 as stage from json_each($2)) as r where t.sequence = r.held_sequence and +t.topic = $3 and +t.state = 0 and t.owner = $4 and t.attempt = r.held_attempt returning sequence;

-- sqlite, active: a success and a filter
update task as t set 
listed = 0,
completed = coalesce($1, cast(round(unixepoch('subsec') * 1000) as integer)),
output = r.output,
state = r.state,
reason = r.reason from (select value ->> 0 as held_sequence, value ->> 1 as held_attempt, value ->> 2 as state, value ->> 3 as output, value ->> 4 as reason, value ->> 5 as stage from json_each($2)) as r where t.sequence = r.held_sequence and +t.topic = $3 and +t.state = 0 and t.owner = $4 and t.attempt = r.held_attempt returning sequence;

-- sqlite, staged: two successes
update task as t set 
listed = 0,
completed = coalesce($1, cast(round(unixepoch('subsec') * 1000) as integer)),
output = r.output,
state = r.state,
reason = null, stage = case when t.stage <= 4 then r.stage when t.stage <= 7 then 7 else t.stage end from (select value ->> 0 as held_sequence, value ->> 1 as held_attempt, value ->> 2 as state, value ->> 3 as output, value ->> 4 as stage from json_each($2)) as r where t.sequence = r.held_sequence and +t.topic = $3 and +t.state = 0 and t.owner = $4 and t.attempt = r.held_attempt returning sequence;

insert into task_turn (topic, identifier)
select p.topic, r.identifier
from  task_topic p, (select value ->> 0 as identifier from json_each($1)) as r
where p.topic = $2;

-- sqlite, staged: a success and a filter
update task as t set 
listed = 0,
completed = coalesce($1, cast(round(unixepoch('subsec') * 1000) as integer)),
output = r.output,
state = r.state,
reason = r.reason, stage = case when t.stage <= 4 then r.stage when t.stage <= 7 then 7 else t.stage end from (select value ->> 0 as held_sequence, value ->> 1 as held_attempt, value ->> 2 as state, value ->> 3 as output, value ->> 4 as reason, value ->> 5 as stage from json_each($2)) as r where t.sequence = r.held_sequence and +t.topic = $3 and +t.state = 0 and t.owner = $4 and t.attempt = r.held_attempt returning sequence;

insert into task_turn (topic, identifier)
select p.topic, r.identifier
from  task_topic p, (select value ->> 0 as identifier from json_each($1)) as r
where p.topic = $2;

-- sqlite, locked: two successes
update task as t set 
listed = 0,
completed = coalesce($1, cast(round(unixepoch('subsec') * 1000) as integer)),
output = r.output,
state = r.state,
reason = null, tries = t.tries from (select value ->> 0 as held_sequence, value ->> 1 as held_attempt, value ->> 2 as state, value ->> 3 as output, value ->> 4 as stage from json_each($2)) as r where t.sequence = r.held_sequence and +t.topic = $3 and +t.state = 0 and t.owner = $4 and t.attempt = r.held_attempt returning sequence;

-- sqlite, locked: a success and a filter
update task as t set 
listed = 0,
completed = coalesce($1, cast(round(unixepoch('subsec') * 1000) as integer)),
output = r.output,
state = r.state,
reason = r.reason, tries = t.tries from (select value ->> 0 as held_sequence, value ->> 1 as held_attempt, value ->> 2 as state, value ->> 3 as output, value ->> 4 as reason, value ->> 5 as stage from json_each($2)) as r where t.sequence = r.held_sequence and +t.topic = $3 and +t.state = 0 and t.owner = $4 and t.attempt = r.held_attempt returning sequence;

-- mariadb, active: two successes
update json_table($1, '$[*]' columns (wanted bigint path '$[0]', given_attempt bigint path '$[1]', given_state bigint path '$[2]', given_output longtext character set utf8mb4 path '$[3]', given_stage bigint path '$[4]')) w straight_join task t force index (primary) on t.topic = $2 and t.sequence = w.wanted set 
listed = 0,
completed = (timestampdiff(microsecond, '1970-01-01', utc_timestamp(3)) div 1000),
output = w.given_output,
state = w.given_state,
reason = null, mark = $3, room = null where t.state = 0 and t.owner = $4 and t.attempt = w.given_attempt;

-- mariadb, active: a success and a filter
update json_table($1, '$[*]' columns (wanted bigint path '$[0]', given_attempt bigint path '$[1]', given_state bigint path '$[2]', given_output longtext character set utf8mb4 path '$[3]', given_reason bigint path '$[4]', given_stage bigint path '$[5]')) w straight_join task t force index (primary) on t.topic = $2 and t.sequence = w.wanted set 
listed = 0,
completed = (timestampdiff(microsecond, '1970-01-01', utc_timestamp(3)) div 1000),
output = w.given_output,
state = w.given_state,
reason = w.given_reason, mark = $3, room = null where t.state = 0 and t.owner = $4 and t.attempt = w.given_attempt;

-- mariadb, staged: two successes
update json_table($1, '$[*]' columns (wanted bigint path '$[0]', given_attempt bigint path '$[1]', given_state bigint path '$[2]', given_output longtext character set utf8mb4 path '$[3]', given_stage bigint path '$[4]')) w straight_join task t force index (primary) on t.topic = $2 and t.sequence = w.wanted set 
listed = 0,
completed = (timestampdiff(microsecond, '1970-01-01', utc_timestamp(3)) div 1000),
output = w.given_output,
state = w.given_state,
reason = null, stage = case when t.stage <= 4 then w.given_stage when t.stage <= 7 then 7 else t.stage end, mark = $3, room = null where t.state = 0 and t.owner = $4 and t.attempt = w.given_attempt;

insert into task_turn (topic, identifier)
select p.topic, r.identifier
from task_topic p, json_table($1, '$[*]' columns (identifier longtext character set utf8mb4 path '$[0]')) r
where p.topic = $2;

-- mariadb, staged: a success and a filter
update json_table($1, '$[*]' columns (wanted bigint path '$[0]', given_attempt bigint path '$[1]', given_state bigint path '$[2]', given_output longtext character set utf8mb4 path '$[3]', given_reason bigint path '$[4]', given_stage bigint path '$[5]')) w straight_join task t force index (primary) on t.topic = $2 and t.sequence = w.wanted set 
listed = 0,
completed = (timestampdiff(microsecond, '1970-01-01', utc_timestamp(3)) div 1000),
output = w.given_output,
state = w.given_state,
reason = w.given_reason, stage = case when t.stage <= 4 then w.given_stage when t.stage <= 7 then 7 else t.stage end, mark = $3, room = null where t.state = 0 and t.owner = $4 and t.attempt = w.given_attempt;

insert into task_turn (topic, identifier)
select p.topic, r.identifier
from task_topic p, json_table($1, '$[*]' columns (identifier longtext character set utf8mb4 path '$[0]')) r
where p.topic = $2;

-- mariadb, locked: two successes
update json_table($1, '$[*]' columns (wanted bigint path '$[0]', given_attempt bigint path '$[1]', given_state bigint path '$[2]', given_output longtext character set utf8mb4 path '$[3]', given_stage bigint path '$[4]')) w straight_join task t force index (primary) on t.topic = $2 and t.sequence = w.wanted set 
listed = 0,
completed = (timestampdiff(microsecond, '1970-01-01', utc_timestamp(3)) div 1000),
output = w.given_output,
state = w.given_state,
reason = null, tries = t.tries, mark = $3, room = null where t.state = 0 and t.owner = $4 and t.attempt = w.given_attempt;

-- mariadb, locked: a success and a filter
update json_table($1, '$[*]' columns (wanted bigint path '$[0]', given_attempt bigint path '$[1]', given_state bigint path '$[2]', given_output longtext character set utf8mb4 path '$[3]', given_reason bigint path '$[4]', given_stage bigint path '$[5]')) w straight_join task t force index (primary) on t.topic = $2 and t.sequence = w.wanted set 
listed = 0,
completed = (timestampdiff(microsecond, '1970-01-01', utc_timestamp(3)) div 1000),
output = w.given_output,
state = w.given_state,
reason = w.given_reason, tries = t.tries, mark = $3, room = null where t.state = 0 and t.owner = $4 and t.attempt = w.given_attempt;

-- mysql, active: two successes
update json_table($1, '$[*]' columns (wanted bigint path '$[0]', given_attempt bigint path '$[1]', given_state bigint path '$[2]', given_output longtext character set utf8mb4 path '$[3]', given_stage bigint path '$[4]')) w straight_join task t force index (primary) on t.topic = $2 and t.sequence = w.wanted set 
listed = 0,
completed = (timestampdiff(microsecond, '1970-01-01', utc_timestamp(3)) div 1000),
output = w.given_output,
state = w.given_state,
reason = null, mark = $3, room = null where t.state = 0 and t.owner = $4 and t.attempt = w.given_attempt;

-- mysql, active: a success and a filter
update json_table($1, '$[*]' columns (wanted bigint path '$[0]', given_attempt bigint path '$[1]', given_state bigint path '$[2]', given_output longtext character set utf8mb4 path '$[3]', given_reason bigint path '$[4]', given_stage bigint path '$[5]')) w straight_join task t force index (primary) on t.topic = $2 and t.sequence = w.wanted set 
listed = 0,
completed = (timestampdiff(microsecond, '1970-01-01', utc_timestamp(3)) div 1000),
output = w.given_output,
state = w.given_state,
reason = w.given_reason, mark = $3, room = null where t.state = 0 and t.owner = $4 and t.attempt = w.given_attempt;

-- mysql, staged: two successes
update json_table($1, '$[*]' columns (wanted bigint path '$[0]', given_attempt bigint path '$[1]', given_state bigint path '$[2]', given_output longtext character set utf8mb4 path '$[3]', given_stage bigint path '$[4]')) w straight_join task t force index (primary) on t.topic = $2 and t.sequence = w.wanted set 
listed = 0,
completed = (timestampdiff(microsecond, '1970-01-01', utc_timestamp(3)) div 1000),
output = w.given_output,
state = w.given_state,
reason = null, stage = case when t.stage <= 4 then w.given_stage when t.stage <= 7 then 7 else t.stage end, mark = $3, room = null where t.state = 0 and t.owner = $4 and t.attempt = w.given_attempt;

insert into task_turn (topic, identifier)
select p.topic, r.identifier
from task_topic p, json_table($1, '$[*]' columns (identifier longtext character set utf8mb4 path '$[0]')) r
where p.topic = $2;

-- mysql, staged: a success and a filter
update json_table($1, '$[*]' columns (wanted bigint path '$[0]', given_attempt bigint path '$[1]', given_state bigint path '$[2]', given_output longtext character set utf8mb4 path '$[3]', given_reason bigint path '$[4]', given_stage bigint path '$[5]')) w straight_join task t force index (primary) on t.topic = $2 and t.sequence = w.wanted set 
listed = 0,
completed = (timestampdiff(microsecond, '1970-01-01', utc_timestamp(3)) div 1000),
output = w.given_output,
state = w.given_state,
reason = w.given_reason, stage = case when t.stage <= 4 then w.given_stage when t.stage <= 7 then 7 else t.stage end, mark = $3, room = null where t.state = 0 and t.owner = $4 and t.attempt = w.given_attempt;

insert into task_turn (topic, identifier)
select p.topic, r.identifier
from task_topic p, json_table($1, '$[*]' columns (identifier longtext character set utf8mb4 path '$[0]')) r
where p.topic = $2;

-- mysql, locked: two successes
update json_table($1, '$[*]' columns (wanted bigint path '$[0]', given_attempt bigint path '$[1]', given_state bigint path '$[2]', given_output longtext character set utf8mb4 path '$[3]', given_stage bigint path '$[4]')) w straight_join task t force index (primary) on t.topic = $2 and t.sequence = w.wanted set 
listed = 0,
completed = (timestampdiff(microsecond, '1970-01-01', utc_timestamp(3)) div 1000),
output = w.given_output,
state = w.given_state,
reason = null, tries = t.tries, mark = $3, room = null where t.state = 0 and t.owner = $4 and t.attempt = w.given_attempt;

-- mysql, locked: a success and a filter
update json_table($1, '$[*]' columns (wanted bigint path '$[0]', given_attempt bigint path '$[1]', given_state bigint path '$[2]', given_output longtext character set utf8mb4 path '$[3]', given_reason bigint path '$[4]', given_stage bigint path '$[5]')) w straight_join task t force index (primary) on t.topic = $2 and t.sequence = w.wanted set 
listed = 0,
completed = (timestampdiff(microsecond, '1970-01-01', utc_timestamp(3)) div 1000),
output = w.given_output,
state = w.given_state,
reason = w.given_reason, tries = t.tries, mark = $3, room = null where t.state = 0 and t.owner = $4 and t.attempt = w.given_attempt;

-- oracle, active: two successes
select /*+ leading(w@keys t) use_nl(t) index(t) */ t.sequence from task t where 
t.topic = $1 and t.state = 0 and t.owner = $2
and (t.sequence, t.attempt) in (
select /*+ unnest qb_name(keys) */ w.wanted, w.given_attempt
from json_table($3, '$[*]' error on error columns (nth for ordinality, wanted number path '$[0]' error on error, given_attempt number path '$[1]' error on error)) w)
order by t.sequence for update;

merge /*+ leading(w) use_nl(t) index(t) */ into task t
using (select w.* from json_table($1, '$[*]' error on error columns (nth for ordinality, wanted number path '$[0]' error on error, given_attempt number path '$[1]' error on error, given_state number path '$[2]' error on error, given_output varchar2(4000 byte) path '$[3]' error on error, given_stage number path '$[4]' error on error)) w) w
on (t.topic = $2 and t.sequence = w.wanted)
when matched then
update set 
listed = 0,
completed = (select k.ms from task_clock k),
output = w.given_output,
state = w.given_state,
reason = null
where t.state = 0 and t.owner = $3 and t.attempt = w.given_attempt;

-- oracle, active: a success and a filter
select /*+ leading(w@keys t) use_nl(t) index(t) */ t.sequence from task t where 
t.topic = $1 and t.state = 0 and t.owner = $2
and (t.sequence, t.attempt) in (
select /*+ unnest qb_name(keys) */ w.wanted, w.given_attempt
from json_table($3, '$[*]' error on error columns (nth for ordinality, wanted number path '$[0]' error on error, given_attempt number path '$[1]' error on error)) w)
order by t.sequence for update;

merge /*+ leading(w) use_nl(t) index(t) */ into task t
using (select w.* from json_table($1, '$[*]' error on error columns (nth for ordinality, wanted number path '$[0]' error on error, given_attempt number path '$[1]' error on error, given_state number path '$[2]' error on error, given_output varchar2(4000 byte) path '$[3]' error on error, given_reason number path '$[4]' error on error, given_stage number path '$[5]' error on error)) w) w
on (t.topic = $2 and t.sequence = w.wanted)
when matched then
update set 
listed = 0,
completed = (select k.ms from task_clock k),
output = w.given_output,
state = w.given_state,
reason = w.given_reason
where t.state = 0 and t.owner = $3 and t.attempt = w.given_attempt;

-- oracle, staged: two successes
select /*+ leading(w@keys t) use_nl(t) index(t) */ t.sequence from task t where 
t.topic = $1 and t.state = 0 and t.owner = $2
and (t.sequence, t.attempt) in (
select /*+ unnest qb_name(keys) */ w.wanted, w.given_attempt
from json_table($3, '$[*]' error on error columns (nth for ordinality, wanted number path '$[0]' error on error, given_attempt number path '$[1]' error on error)) w)
order by t.sequence for update;

merge /*+ leading(w) use_nl(t) index(t) */ into task t
using (select w.* from json_table($1, '$[*]' error on error columns (nth for ordinality, wanted number path '$[0]' error on error, given_attempt number path '$[1]' error on error, given_state number path '$[2]' error on error, given_output varchar2(4000 byte) path '$[3]' error on error, given_stage number path '$[4]' error on error)) w) w
on (t.topic = $2 and t.sequence = w.wanted)
when matched then
update set 
listed = 0,
completed = (select k.ms from task_clock k),
output = w.given_output,
state = w.given_state,
reason = null, stage = case when t.stage <= 4 then w.given_stage when t.stage <= 7 then 7 else t.stage end
where t.state = 0 and t.owner = $3 and t.attempt = w.given_attempt;

insert into task_turn (topic, identifier)
select p.topic, r.identifier
from task_topic p, json_table($1, '$[*]' error on error columns (nth for ordinality, identifier varchar2(4000 byte) path '$[0]' error on error)) r
where p.topic = $2;

-- oracle, staged: a success and a filter
select /*+ leading(w@keys t) use_nl(t) index(t) */ t.sequence from task t where 
t.topic = $1 and t.state = 0 and t.owner = $2
and (t.sequence, t.attempt) in (
select /*+ unnest qb_name(keys) */ w.wanted, w.given_attempt
from json_table($3, '$[*]' error on error columns (nth for ordinality, wanted number path '$[0]' error on error, given_attempt number path '$[1]' error on error)) w)
order by t.sequence for update;

merge /*+ leading(w) use_nl(t) index(t) */ into task t
using (select w.* from json_table($1, '$[*]' error on error columns (nth for ordinality, wanted number path '$[0]' error on error, given_attempt number path '$[1]' error on error, given_state number path '$[2]' error on error, given_output varchar2(4000 byte) path '$[3]' error on error, given_reason number path '$[4]' error on error, given_stage number path '$[5]' error on error)) w) w
on (t.topic = $2 and t.sequence = w.wanted)
when matched then
update set 
listed = 0,
completed = (select k.ms from task_clock k),
output = w.given_output,
state = w.given_state,
reason = w.given_reason, stage = case when t.stage <= 4 then w.given_stage when t.stage <= 7 then 7 else t.stage end
where t.state = 0 and t.owner = $3 and t.attempt = w.given_attempt;

insert into task_turn (topic, identifier)
select p.topic, r.identifier
from task_topic p, json_table($1, '$[*]' error on error columns (nth for ordinality, identifier varchar2(4000 byte) path '$[0]' error on error)) r
where p.topic = $2;

-- oracle, locked: two successes
select /*+ leading(w@keys t) use_nl(t) index(t) */ t.sequence from task t where 
t.topic = $1 and t.state = 0 and t.owner = $2
and (t.sequence, t.attempt) in (
select /*+ unnest qb_name(keys) */ w.wanted, w.given_attempt
from json_table($3, '$[*]' error on error columns (nth for ordinality, wanted number path '$[0]' error on error, given_attempt number path '$[1]' error on error)) w)
order by t.sequence for update;

merge /*+ leading(w) use_nl(t) index(t) */ into task t
using (select w.* from json_table($1, '$[*]' error on error columns (nth for ordinality, wanted number path '$[0]' error on error, given_attempt number path '$[1]' error on error, given_state number path '$[2]' error on error, given_output varchar2(4000 byte) path '$[3]' error on error, given_stage number path '$[4]' error on error)) w) w
on (t.topic = $2 and t.sequence = w.wanted)
when matched then
update set 
listed = 0,
completed = (select k.ms from task_clock k),
output = w.given_output,
state = w.given_state,
reason = null, tries = t.tries
where t.state = 0 and t.owner = $3 and t.attempt = w.given_attempt;

-- oracle, locked: a success and a filter
select /*+ leading(w@keys t) use_nl(t) index(t) */ t.sequence from task t where 
t.topic = $1 and t.state = 0 and t.owner = $2
and (t.sequence, t.attempt) in (
select /*+ unnest qb_name(keys) */ w.wanted, w.given_attempt
from json_table($3, '$[*]' error on error columns (nth for ordinality, wanted number path '$[0]' error on error, given_attempt number path '$[1]' error on error)) w)
order by t.sequence for update;

merge /*+ leading(w) use_nl(t) index(t) */ into task t
using (select w.* from json_table($1, '$[*]' error on error columns (nth for ordinality, wanted number path '$[0]' error on error, given_attempt number path '$[1]' error on error, given_state number path '$[2]' error on error, given_output varchar2(4000 byte) path '$[3]' error on error, given_reason number path '$[4]' error on error, given_stage number path '$[5]' error on error)) w) w
on (t.topic = $2 and t.sequence = w.wanted)
when matched then
update set 
listed = 0,
completed = (select k.ms from task_clock k),
output = w.given_output,
state = w.given_state,
reason = w.given_reason, tries = t.tries
where t.state = 0 and t.owner = $3 and t.attempt = w.given_attempt;
