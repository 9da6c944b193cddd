-- Every statement of the Oracle dialect, by verb, with the kinds of its values. Written by the tests.

-- actions
--   text, number, number
select t.id, t.made as made, t.action, t.topic, t.actor, t.via, t.note, t.amount, t.filter, t.undoes,
t.sequences, t.former
from task_audit t
where 1 = 1 and t.topic = :1 and t.made >= ((select k.ms from task_clock k) + :2)
order by t.made desc
fetch first :3 rows only

-- actions
--   text, text, text, text, number
select t.id, t.made as made, t.action, t.topic, t.actor, t.via, t.note, t.amount, t.filter, t.undoes,
null as sequences, null as former
from task_audit t
where 1 = 1 and (t.id = :1 or t.id = :2 or (t.id > :3 and t.id < :4))
order by t.made desc
fetch first :5 rows only

-- actions
--   text, number, number, number
select t.id, t.made as made, t.action, t.topic, t.actor, t.via, t.note, t.amount, t.filter, t.undoes,
t.sequences, t.former
from task_audit t
where 1 = 1 and t.topic = :1 and t.made >= (:2 + :3)
order by t.made desc
fetch first :4 rows only

-- activate, deactivate
--   text
select a.active from task_topic p left join task_activation a on a.topic = p.topic where p.topic = :1

-- activate
--   text, null, null
insert /*+ ignore_row_on_dupkey_index(task_activation (topic)) */
into task_activation (topic, active, changed, actor, note)
values (:1, 1, (select k.ms from task_clock k), :2, :3)

-- activate
--   null, null, text
update task_activation set active = 1, changed = (select k.ms from task_clock k), actor = :1, note = :2 where topic = :3 and active <> 1

-- activate
--   text, number, null, null
insert /*+ ignore_row_on_dupkey_index(task_activation (topic)) */
into task_activation (topic, active, changed, actor, note)
values (:1, 1, :2, :3, :4)

-- activate
--   number, null, null, text
update task_activation set active = 1, changed = :1, actor = :2, note = :3 where topic = :4 and active <> 1

-- activations
select topic, case when active = 1 then 1 else 0 end as active, changed as changed, actor, note
from task_activation
order by topic

-- admit, poll; so many rows are fetched as are wanted
--   text, JSON
select /*+ leading(w@keys t) use_nl(t) index(t) */ t.sequence
from task t
where t.topic = :1 and t.sequence in (select /*+ unnest qb_name(keys) */ w.wanted from json_table(:2, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w) and t.state = 1
order by t.sequence
for update skip locked

-- admit, poll
--   JSON, text
select t.sequence from
(select /*+ leading(w t) use_nl(t) index(t) */ t.*
  from json_table(:1, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w, task t
  where t.topic = :2 and t.sequence = w.wanted) t
where 1 = 1 and t.state = 1 order by t.sequence

-- admit, cancel, complete, expire, handBack, poll, purge, push, reassign, reassignAll, reclaim, recreate, repair, restore
--   JSON, text
insert into task_turn (topic, identifier)
select p.topic, r.identifier
from task_topic p, json_table(:1, '$[*]' error on error columns (nth for ordinality, identifier varchar2(4000 byte) path '$[0]' error on error)) r
where p.topic = :2

-- admit
--   number, text, number, number
update task_limit
set used = used + :1
where topic = :2 and kind in ('entries', 'entries-dropping') and used + :3 <= amount and counted_at between (select k.ms from task_clock k) - :4 and (select k.ms from task_clock k)

-- admit
--   text
update task_limit set used = used where topic = :1 and kind in ('entries', 'entries-dropping')

-- admit
--   text
select t.kind, t.amount, t.per_ms, t.used from task_limit t where t.topic = :1 and kind in ('entries', 'entries-dropping')

-- admit
--   number, number, text, number, text, text
update task_limit
set counted_at = (select k.ms from task_clock k),
used = coalesce((select (select count(*) from task t where t.topic = p.topic and t.state = 1 and rownum <= :1) + (select count(*) from task t where t.topic = p.topic and t.state = 0 and rownum <= :2) + (select count(*) from (
        select 1 as one
        from task t
        where t.topic = :3 and t.due is not null and t.state = 4
        fetch first :4 rows only) w)
    from task_topic p
    where p.topic = :5), 0)
where topic = :6 and kind in ('entries', 'entries-dropping')

-- admit, upcoming, verb
--   text, number
select t.sequence
from task t
where t.topic = :1 and t.state = 1
order by t.sequence
fetch first :2 rows only

-- admit
--   text, JSON
select /*+ leading(w@keys t) use_nl(t) index(t) */ t.sequence
from task t
where t.topic = :1 and t.sequence in (select /*+ unnest qb_name(keys) */ w.wanted from json_table(:2, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w) and t.state = 1
order by t.sequence
for update

-- admit
--   text, JSON
update /*+ leading(w@keys t) use_nl(t) index(t) */ task t set
state = 5,
listed = 0,
reason = 7,
completed = (select k.ms from task_clock k),
stage = case when t.stage <= 4 then 4 when t.stage <= 7 then 7 else t.stage end where t.topic = :1 and t.sequence in (select /*+ unnest qb_name(keys) */ w.wanted from json_table(:2, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w)

-- admit, reassign, reassignAll, reclaim, repair
--   JSON, text
select sequence, identifier, stage from
(select /*+ leading(w t) use_nl(t) index(t) */ t.*
  from json_table(:1, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w, task t
  where t.topic = :2 and t.sequence = w.wanted) t
where 1 = 1

-- admit
--   number, text
update task_limit set used = :1 where topic = :2 and kind in ('entries', 'entries-dropping')

-- admit
--   JSON, text
select t.sequence
from
json_table(:1, '$[*]' error on error columns (nth for ordinality, external_id varchar2(4000 byte) path '$[0]' error on error)) r
join task t on t.external_id = r.external_id
where t.topic = :2 and t.external_id is not null

-- admit
--   number, text, number, number, number, number
update task_limit
set used = used + :1
where topic = :2 and kind in ('entries', 'entries-dropping') and used + :3 <= amount and counted_at between :4 - :5 and :6

-- admit
--   number, number, number, text, number, text, text
update task_limit
set counted_at = :1,
used = coalesce((select (select count(*) from task t where t.topic = p.topic and t.state = 1 and rownum <= :2) + (select count(*) from task t where t.topic = p.topic and t.state = 0 and rownum <= :3) + (select count(*) from (
        select 1 as one
        from task t
        where t.topic = :4 and t.due is not null and t.state = 4
        fetch first :5 rows only) w)
    from task_topic p
    where p.topic = :6), 0)
where topic = :7 and kind in ('entries', 'entries-dropping')

-- admit
--   number, text, JSON
update /*+ leading(w@keys t) use_nl(t) index(t) */ task t set
state = 5,
listed = 0,
reason = 7,
completed = :1,
stage = case when t.stage <= 4 then 4 when t.stage <= 7 then 7 else t.stage end where t.topic = :2 and t.sequence in (select /*+ unnest qb_name(keys) */ w.wanted from json_table(:3, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w)

-- attempts
--   text, number
select t.attempt, t.started as started, t.ended as ended, t.outcome, t.reason, t.owner, t.error, t.message,
t.fingerprint, t.release_name, t.trace
from task_attempt t
where t.topic = :1 and t.sequence = :2
order by t.attempt

-- attempts
--   text, text, text
select t.attempt, t.started as started, t.ended as ended, t.outcome, t.reason, t.owner, t.error, t.message,
t.fingerprint, t.release_name, t.trace
from task_attempt t
where t.topic = :1 and t.sequence = (select k.sequence from task k where k.topic = :2 and k.external_id = :3)
order by t.attempt

-- cancel, junction, push, recreate, reschedule
--   text
select stage from task_topic where topic = :1

-- cancel
--   text, JSON
select /*+ leading(w@keys t) use_nl(t) index(t) */ t.sequence
from task t
where t.topic = :1 and t.sequence in (select /*+ unnest qb_name(keys) */ w.wanted from json_table(:2, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w) and t.state in (0, 1, 2, 4)
order by t.sequence
for update

-- cancel
--   JSON, text
select t.sequence, t.identifier, case when (t.state = 4 and t.due < 253402300799000) then 9
when (t.state = 4 and t.due = 253402300799000) then 10 else t.state end as state, t.stage from
(select /*+ leading(w t) use_nl(t) index(t) */ t.*
  from json_table(:1, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w, task t
  where t.topic = :2 and t.sequence = w.wanted) t
where 1 = 1 and t.state in (0, 1, 2, 4) order by t.sequence

-- cancel
--   text, JSON
update /*+ leading(w@keys t) use_nl(t) index(t) */ task t set
state = 5,
listed = 0,
reason = 4,
due = null,
completed = (select k.ms from task_clock k),
stage = case when t.stage <= 4 then 4 when t.stage <= 7 then 7 else t.stage end where t.topic = :1 and t.sequence in (select /*+ unnest qb_name(keys) */ w.wanted from json_table(:2, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w)

-- cancel, reschedule
--   text, text
select t.sequence from task t where t.topic = :1 and t.external_id = :2

-- cancel
--   text, JSON
select t.sequence from task t where t.topic = :1 and t.stage is not null and t.identifier in (select w.wanted from json_table(:2, '$[*]' error on error columns (wanted varchar2(4000 byte) path '$' error on error)) w) and t.stage in (0, 1, 2, 3, 5, 6, 7, 9) and t.state in (0, 1, 2, 4)

-- cancel
--   number, text, JSON
update /*+ leading(w@keys t) use_nl(t) index(t) */ task t set
state = 5,
listed = 0,
reason = 4,
due = null,
completed = :1,
stage = case when t.stage <= 4 then 4 when t.stage <= 7 then 7 else t.stage end where t.topic = :2 and t.sequence in (select /*+ unnest qb_name(keys) */ w.wanted from json_table(:3, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w)

-- complete, handBack, hold, poll
--   text, text, JSON
--   text, text, JSON in a CLOB
select /*+ leading(w@keys t) use_nl(t) index(t) */ t.sequence from task t where
t.topic = :1 and t.state = 0 and t.owner = :2
and (t.sequence, t.attempt) in (
  select /*+ unnest qb_name(keys) */ w.wanted, w.given_attempt
  from json_table(:3, '$[*]' error on error columns (nth for ordinality, wanted number path '$[0]' error on error, given_attempt number path '$[1]' error on error)) w)
order by t.sequence for update

-- complete, push, recreate, repair, verb
--   number
select task_sequence.nextval as sequence from dual connect by level <= :1

-- complete
--   JSON in a CLOB, text, text
--   JSON, text, text
merge /*+ leading(w) use_nl(t) index(t) */ into task t
using (select w.* from json_table(:1, '$[*]' error on error columns (nth for ordinality, wanted number path '$[0]' error on error, given_attempt number path '$[1]' error on error, given_state number path '$[2]' error on error, given_output varchar2(4000 byte) path '$[3]' error on error, given_stage number path '$[4]' error on error)) w) w
on (t.topic = :2 and t.sequence = w.wanted)
when matched then
update set
listed = 0,
completed = (select k.ms from task_clock k),
output = w.given_output,
state = w.given_state,
reason = null
where t.state = 0 and t.owner = :3 and t.attempt = w.given_attempt

-- complete
--   JSON in a CLOB, text, text
merge /*+ leading(w) use_nl(t) index(t) */ into task t
using (select w.* from json_table(:1, '$[*]' error on error columns (nth for ordinality, wanted number path '$[0]' error on error, given_attempt number path '$[1]' error on error, given_state number path '$[2]' error on error, given_output clob path '$[3]' error on error, given_stage number path '$[4]' error on error)) w) w
on (t.topic = :2 and t.sequence = w.wanted)
when matched then
update set
listed = 0,
completed = (select k.ms from task_clock k),
output = w.given_output,
state = w.given_state,
reason = null
where t.state = 0 and t.owner = :3 and t.attempt = w.given_attempt

-- complete
--   null, JSON in a CLOB, text, JSON
--   null, JSON in a CLOB, text, JSON in a CLOB
insert into task_attempt (topic, sequence, attempt, started, ended, outcome, reason, owner, error, message, fingerprint, release_name, trace)
select t.topic, t.sequence, t.attempt, t.started, t.completed,
case when t.reason = 5 then 3
when t.state = 3 then 0
when t.due is null then 2
else 1 end, t.reason, t.owner, r.ended_error, r.ended_message,
r.ended_fingerprint, :1, r.ended_trace
from json_table(:2, '$[*]' error on error columns (nth for ordinality, ended_sequence number path '$[0]' error on error, ended_error varchar2(4000 byte) path '$[1]' error on error, ended_message clob path '$[2]' error on error, ended_fingerprint varchar2(4000 byte) path '$[3]' error on error, ended_trace varchar2(4000 byte) path '$[4]' error on error)) r cross join task t
where t.topic = :3 and t.sequence = r.ended_sequence and t.sequence in (select w.wanted from json_table(:4, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w)

-- complete, limit
--   text
select target from task_limit where topic = :1 and kind = 'dead-letter'

-- complete
--   JSON in a CLOB, JSON in a CLOB, text
--   JSON, JSON, text
insert /*+ ignore_row_on_dupkey_index(task, task_external_id) */ into task (sequence, topic, identifier, input, created, reference, external_id, headers, priority, max_tries, state, descent,
  due, deadline, listed, ranked, stage)
with n as (select w.nth, w.wanted from json_table(:1, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w)
select n.wanted,
p.topic, r.identifier, r.input, (select k.ms from task_clock k), r.reference, r.external_id, r.headers,
r.priority, r.max_tries, r.state, r.descent, case when r.due is not null then r.due
when r.delay is not null then ((select k.ms from task_clock k) + r.delay) end, case when r.deadline is not null then r.deadline
when r.deadline_delay is not null then ((select k.ms from task_clock k) + r.deadline_delay) end,
case when r.state = 1 then p.listing else 0 end, p.ranking,
case when p.stage = 1 then r.stage
when p.stage = 5 then case when r.state = 1 then case when r.priority < 0 then 6 else 5 end else 7 end
else p.stage end
from n, task_topic p, json_table(:2, '$[*]' error on error columns (nth for ordinality, identifier varchar2(4000 byte) path '$[0]' error on error, input varchar2(4000 byte) path '$[1]' error on error, reference varchar2(4000 byte) path '$[2]' error on error, external_id varchar2(4000 byte) path '$[3]' error on error, headers varchar2(4000 byte) path '$[4]' error on error, priority number path '$[5]' error on error, max_tries number path '$[6]' error on error, state number path '$[7]' error on error, descent number path '$[8]' error on error, stage number path '$[9]' error on error, deadline number path '$[10]' error on error, deadline_delay number path '$[11]' error on error, due number path '$[12]' error on error, delay number path '$[13]' error on error)) r
where p.topic = :3 and n.nth = r.nth

-- complete
--   JSON in a CLOB, text, text
--   JSON, text, text
merge /*+ leading(w) use_nl(t) index(t) */ into task t
using (select w.* from json_table(:1, '$[*]' error on error columns (nth for ordinality, wanted number path '$[0]' error on error, given_attempt number path '$[1]' error on error, given_state number path '$[2]' error on error, given_output varchar2(4000 byte) path '$[3]' error on error, given_delay number path '$[4]' error on error, given_stage number path '$[5]' error on error)) w) w
on (t.topic = :2 and t.sequence = w.wanted)
when matched then
update set
listed = 0,
completed = (select k.ms from task_clock k),
output = w.given_output,
state = case when w.given_delay is not null and (t.max_tries is not null and t.tries >= t.max_tries) then 3 else w.given_state end,
reason = case when w.given_delay is not null and (t.max_tries is not null and t.tries >= t.max_tries) then 1 else null end,
due = case when w.given_delay is not null and not (t.max_tries is not null and t.tries >= t.max_tries) then ((select k.ms from task_clock k) + w.given_delay) end
where t.state = 0 and t.owner = :3 and t.attempt = w.given_attempt

-- complete
--   null, JSON in a CLOB, text, JSON in a CLOB
--   null, JSON, text, JSON
insert into task_attempt (topic, sequence, attempt, started, ended, outcome, reason, owner, error, message, fingerprint, release_name, trace)
select t.topic, t.sequence, t.attempt, t.started, t.completed,
case when t.reason = 5 then 3
when t.state = 3 then 0
when t.due is null then 2
else 1 end, t.reason, t.owner, r.ended_error, r.ended_message,
r.ended_fingerprint, :1, r.ended_trace
from json_table(:2, '$[*]' error on error columns (nth for ordinality, ended_sequence number path '$[0]' error on error, ended_error varchar2(4000 byte) path '$[1]' error on error, ended_message varchar2(4000 byte) path '$[2]' error on error, ended_fingerprint varchar2(4000 byte) path '$[3]' error on error, ended_trace varchar2(4000 byte) path '$[4]' error on error)) r cross join task t
where t.topic = :3 and t.sequence = r.ended_sequence and t.sequence in (select w.wanted from json_table(:4, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w)

-- complete
--   JSON, text, text
merge /*+ leading(w) use_nl(t) index(t) */ into task t
using (select w.* from json_table(:1, '$[*]' error on error columns (nth for ordinality, wanted number path '$[0]' error on error, given_attempt number path '$[1]' error on error, given_state number path '$[2]' error on error, given_output varchar2(4000 byte) path '$[3]' error on error, given_stage number path '$[4]' error on error)) w) w
on (t.topic = :2 and t.sequence = w.wanted)
when matched then
update set
listed = 0,
completed = (select k.ms from task_clock k),
output = w.given_output,
state = w.given_state,
reason = null, stage = case when t.stage <= 4 then w.given_stage when t.stage <= 7 then 7 else t.stage end
where t.state = 0 and t.owner = :3 and t.attempt = w.given_attempt

-- complete
--   JSON in a CLOB, text, text
merge /*+ leading(w) use_nl(t) index(t) */ into task t
using (select w.* from json_table(:1, '$[*]' error on error columns (nth for ordinality, wanted number path '$[0]' error on error, given_attempt number path '$[1]' error on error, given_state number path '$[2]' error on error, given_output clob path '$[3]' error on error, given_stage number path '$[4]' error on error)) w) w
on (t.topic = :2 and t.sequence = w.wanted)
when matched then
update set
listed = 0,
completed = (select k.ms from task_clock k),
output = w.given_output,
state = w.given_state,
reason = null, stage = case when t.stage <= 4 then w.given_stage when t.stage <= 7 then 7 else t.stage end
where t.state = 0 and t.owner = :3 and t.attempt = w.given_attempt

-- complete
--   JSON, text, text
merge /*+ leading(w) use_nl(t) index(t) */ into task t
using (select w.* from json_table(:1, '$[*]' error on error columns (nth for ordinality, wanted number path '$[0]' error on error, given_attempt number path '$[1]' error on error, given_state number path '$[2]' error on error, given_output varchar2(4000 byte) path '$[3]' error on error, given_delay number path '$[4]' error on error, given_stage number path '$[5]' error on error)) w) w
on (t.topic = :2 and t.sequence = w.wanted)
when matched then
update set
listed = 0,
completed = (select k.ms from task_clock k),
output = w.given_output,
state = case when w.given_delay is not null and (t.max_tries is not null and t.tries >= t.max_tries) then 3 else w.given_state end,
reason = case when w.given_delay is not null and (t.max_tries is not null and t.tries >= t.max_tries) then 1 else null end,
due = case when w.given_delay is not null and not (t.max_tries is not null and t.tries >= t.max_tries) then ((select k.ms from task_clock k) + w.given_delay) end, stage = case when t.stage <= 4 then case when w.given_delay is not null and (t.max_tries is not null and t.tries >= t.max_tries) then 2 else w.given_stage end when t.stage <= 7 then 7 else t.stage end
where t.state = 0 and t.owner = :3 and t.attempt = w.given_attempt

-- complete, expire
--   text, JSON, text
delete /*+ leading(w@keys t) use_nl(t) index(t) */ from task_attempt t where t.topic = :1 and t.sequence in (select /*+ unnest qb_name(keys) */ w.wanted from json_table(:2, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w) and t.attempt > 5 and t.attempt <= (select k.attempt from task k where k.topic = :3 and k.sequence = t.sequence) - 15

-- complete
--   text, JSON
select d.parent as sequence, d.topic, d.sequence as needing
from task_dependency d
where d.parent_topic = :1 and d.parent in (select w.wanted from json_table(:2, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w)

-- complete, dependencies
--   JSON
select r.asked, d.need, d.parent_topic, d.parent, d.tolerant
from json_table(:1, '$[*]' error on error columns (nth for ordinality, asked number path '$[0]' error on error, wanted_topic varchar2(4000 byte) path '$[1]' error on error, wanted number path '$[2]' error on error)) r
join task_dependency d on d.topic = r.wanted_topic and d.sequence = r.wanted
order by r.asked, d.place

-- complete
--   text, number, text, number
update task_dependency
set parent_topic = :1, parent = :2
where parent_topic = :3 and parent = :4

-- complete
--   JSON, text
insert into task_result (topic, sequence, value, next_topic, next_sequence)
select p.topic, r.completed, r.returned, r.next_topic, r.next_sequence
from task_topic p, json_table(:1, '$[*]' error on error columns (nth for ordinality, completed number path '$[0]' error on error, returned varchar2(4000 byte) path '$[1]' error on error, next_topic varchar2(4000 byte) path '$[2]' error on error, next_sequence number path '$[3]' error on error)) r
where p.topic = :2

-- complete, recreate
--   text, JSON
select distinct d.parent as sequence
from task_dependency d
where d.parent_topic = :1 and d.parent in (select w.wanted from json_table(:2, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w)

-- complete
--   JSON in a CLOB, text, number, text
--   JSON, text, number, text
merge /*+ leading(w) use_nl(t) index(t) */ into task t
using (select w.* from json_table(:1, '$[*]' error on error columns (nth for ordinality, wanted number path '$[0]' error on error, given_attempt number path '$[1]' error on error, given_state number path '$[2]' error on error, given_output varchar2(4000 byte) path '$[3]' error on error, given_stage number path '$[4]' error on error)) w) w
on (t.topic = :2 and t.sequence = w.wanted)
when matched then
update set
listed = 0,
completed = :3,
output = w.given_output,
state = w.given_state,
reason = null
where t.state = 0 and t.owner = :4 and t.attempt = w.given_attempt

-- complete
--   JSON in a CLOB, text, number, text
merge /*+ leading(w) use_nl(t) index(t) */ into task t
using (select w.* from json_table(:1, '$[*]' error on error columns (nth for ordinality, wanted number path '$[0]' error on error, given_attempt number path '$[1]' error on error, given_state number path '$[2]' error on error, given_output clob path '$[3]' error on error, given_stage number path '$[4]' error on error)) w) w
on (t.topic = :2 and t.sequence = w.wanted)
when matched then
update set
listed = 0,
completed = :3,
output = w.given_output,
state = w.given_state,
reason = null
where t.state = 0 and t.owner = :4 and t.attempt = w.given_attempt

-- complete
--   JSON in a CLOB, number, number, number, JSON in a CLOB, text
--   JSON, number, number, number, JSON, text
insert /*+ ignore_row_on_dupkey_index(task, task_external_id) */ into task (sequence, topic, identifier, input, created, reference, external_id, headers, priority, max_tries, state, descent,
  due, deadline, listed, ranked, stage)
with n as (select w.nth, w.wanted from json_table(:1, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w)
select n.wanted,
p.topic, r.identifier, r.input, :2, r.reference, r.external_id, r.headers,
r.priority, r.max_tries, r.state, r.descent, case when r.due is not null then r.due
when r.delay is not null then (:3 + r.delay) end, case when r.deadline is not null then r.deadline
when r.deadline_delay is not null then (:4 + r.deadline_delay) end,
case when r.state = 1 then p.listing else 0 end, p.ranking,
case when p.stage = 1 then r.stage
when p.stage = 5 then case when r.state = 1 then case when r.priority < 0 then 6 else 5 end else 7 end
else p.stage end
from n, task_topic p, json_table(:5, '$[*]' error on error columns (nth for ordinality, identifier varchar2(4000 byte) path '$[0]' error on error, input varchar2(4000 byte) path '$[1]' error on error, reference varchar2(4000 byte) path '$[2]' error on error, external_id varchar2(4000 byte) path '$[3]' error on error, headers varchar2(4000 byte) path '$[4]' error on error, priority number path '$[5]' error on error, max_tries number path '$[6]' error on error, state number path '$[7]' error on error, descent number path '$[8]' error on error, stage number path '$[9]' error on error, deadline number path '$[10]' error on error, deadline_delay number path '$[11]' error on error, due number path '$[12]' error on error, delay number path '$[13]' error on error)) r
where p.topic = :6 and n.nth = r.nth

-- complete
--   JSON in a CLOB, text, number, number, text
--   JSON, text, number, number, text
merge /*+ leading(w) use_nl(t) index(t) */ into task t
using (select w.* from json_table(:1, '$[*]' error on error columns (nth for ordinality, wanted number path '$[0]' error on error, given_attempt number path '$[1]' error on error, given_state number path '$[2]' error on error, given_output varchar2(4000 byte) path '$[3]' error on error, given_delay number path '$[4]' error on error, given_stage number path '$[5]' error on error)) w) w
on (t.topic = :2 and t.sequence = w.wanted)
when matched then
update set
listed = 0,
completed = :3,
output = w.given_output,
state = case when w.given_delay is not null and (t.max_tries is not null and t.tries >= t.max_tries) then 3 else w.given_state end,
reason = case when w.given_delay is not null and (t.max_tries is not null and t.tries >= t.max_tries) then 1 else null end,
due = case when w.given_delay is not null and not (t.max_tries is not null and t.tries >= t.max_tries) then (:4 + w.given_delay) end
where t.state = 0 and t.owner = :5 and t.attempt = w.given_attempt

-- complete
--   JSON, text, number, text
merge /*+ leading(w) use_nl(t) index(t) */ into task t
using (select w.* from json_table(:1, '$[*]' error on error columns (nth for ordinality, wanted number path '$[0]' error on error, given_attempt number path '$[1]' error on error, given_state number path '$[2]' error on error, given_output varchar2(4000 byte) path '$[3]' error on error, given_stage number path '$[4]' error on error)) w) w
on (t.topic = :2 and t.sequence = w.wanted)
when matched then
update set
listed = 0,
completed = :3,
output = w.given_output,
state = w.given_state,
reason = null, stage = case when t.stage <= 4 then w.given_stage when t.stage <= 7 then 7 else t.stage end
where t.state = 0 and t.owner = :4 and t.attempt = w.given_attempt

-- complete
--   JSON in a CLOB, text, number, text
merge /*+ leading(w) use_nl(t) index(t) */ into task t
using (select w.* from json_table(:1, '$[*]' error on error columns (nth for ordinality, wanted number path '$[0]' error on error, given_attempt number path '$[1]' error on error, given_state number path '$[2]' error on error, given_output clob path '$[3]' error on error, given_stage number path '$[4]' error on error)) w) w
on (t.topic = :2 and t.sequence = w.wanted)
when matched then
update set
listed = 0,
completed = :3,
output = w.given_output,
state = w.given_state,
reason = null, stage = case when t.stage <= 4 then w.given_stage when t.stage <= 7 then 7 else t.stage end
where t.state = 0 and t.owner = :4 and t.attempt = w.given_attempt

-- complete
--   JSON, text, number, number, text
merge /*+ leading(w) use_nl(t) index(t) */ into task t
using (select w.* from json_table(:1, '$[*]' error on error columns (nth for ordinality, wanted number path '$[0]' error on error, given_attempt number path '$[1]' error on error, given_state number path '$[2]' error on error, given_output varchar2(4000 byte) path '$[3]' error on error, given_delay number path '$[4]' error on error, given_stage number path '$[5]' error on error)) w) w
on (t.topic = :2 and t.sequence = w.wanted)
when matched then
update set
listed = 0,
completed = :3,
output = w.given_output,
state = case when w.given_delay is not null and (t.max_tries is not null and t.tries >= t.max_tries) then 3 else w.given_state end,
reason = case when w.given_delay is not null and (t.max_tries is not null and t.tries >= t.max_tries) then 1 else null end,
due = case when w.given_delay is not null and not (t.max_tries is not null and t.tries >= t.max_tries) then (:4 + w.given_delay) end, stage = case when t.stage <= 4 then case when w.given_delay is not null and (t.max_tries is not null and t.tries >= t.max_tries) then 2 else w.given_stage end when t.stage <= 7 then 7 else t.stage end
where t.state = 0 and t.owner = :5 and t.attempt = w.given_attempt

-- count
select p.topic, c.state, c.count, c.bound
from task_topic p
left join (select s.topic, s.state, count(*) as count, max(s.sequence) as bound
  from (select t.topic, case when (t.state = 4 and t.due < 253402300799000) then 9
    when (t.state = 4 and t.due = 253402300799000) then 10 else t.state end as state, t.sequence
    from (select t.topic, t.state, t.due, t.sequence, t.listed, t.attempt,
      row_number() over (partition by t.topic, t.identifier order by t.sequence desc) as place
      from task t
      where 1 = 1) t
    where t.place = 1) s
  group by s.topic, s.state) c on c.topic = p.topic
order by p.topic, c.state

-- count
--   text, text
select p.topic, c.state, c.count, c.bound
from task_topic p
left join (select s.topic, s.state, count(*) as count, max(s.sequence) as bound
  from (select t.topic, case when (t.state = 4 and t.due < 253402300799000) then 9
    when (t.state = 4 and t.due = 253402300799000) then 10 else t.state end as state, t.sequence
    from (select t.topic, t.state, t.due, t.sequence, t.listed, t.attempt,
      row_number() over (partition by t.topic, t.identifier order by t.sequence desc) as place
      from task t
      where t.topic = :1) t
    where t.place = 1) s
  group by s.topic, s.state) c on c.topic = p.topic
where p.topic = :2
order by p.topic, c.state

-- count
select p.topic, c.state, c.count, c.bound
from task_topic p
left join (select s.topic, s.state, count(*) as count, max(s.sequence) as bound
  from (select t.topic, case when (t.state = 4 and t.due < 253402300799000) then 9
    when (t.state = 4 and t.due = 253402300799000) then 10 else t.state end as state, t.sequence
    from task t
    where 1 = 1) s
  group by s.topic, s.state) c on c.topic = p.topic
order by p.topic, c.state

-- count
--   text, text
select p.topic, c.state, c.count, c.bound
from task_topic p
left join (select s.topic, s.state, count(*) as count, max(s.sequence) as bound
  from (select t.topic, case when (t.state = 4 and t.due < 253402300799000) then 9
    when (t.state = 4 and t.due = 253402300799000) then 10 else t.state end as state, t.sequence
    from task t
    where t.topic = :1) s
  group by s.topic, s.state) c on c.topic = p.topic
where p.topic = :2
order by p.topic, c.state

-- count
select p.topic, c.state, c.count, c.bound
from task_topic p
left join (select s.topic, s.state, count(*) as count, max(s.sequence) as bound
  from (select t.topic, case when (t.state = 4 and t.due < 253402300799000) then 9
    when (t.state = 4 and t.due = 253402300799000) then 10 else t.state end as state, t.sequence
    from (select t.topic, t.state, t.due, t.sequence, t.listed, t.attempt,
      row_number() over (partition by t.topic, t.identifier order by t.sequence desc) as place
      from task t
      where 1 = 1) t
    where t.place = 1 and 1 = 0) s
  group by s.topic, s.state) c on c.topic = p.topic
order by p.topic, c.state

-- count
--   text, text
select p.topic, c.state, c.count, c.bound
from task_topic p
left join (select s.topic, s.state, count(*) as count, max(s.sequence) as bound
  from (select t.topic, case when (t.state = 4 and t.due < 253402300799000) then 9
    when (t.state = 4 and t.due = 253402300799000) then 10 else t.state end as state, t.sequence
    from (select t.topic, t.state, t.due, t.sequence, t.listed, t.attempt,
      row_number() over (partition by t.topic, t.identifier order by t.sequence desc) as place
      from task t
      where t.topic = :1) t
    where t.place = 1 and 1 = 0) s
  group by s.topic, s.state) c on c.topic = p.topic
where p.topic = :2
order by p.topic, c.state

-- count
select p.topic, c.state, c.count, c.bound
from task_topic p
left join (select s.topic, s.state, count(*) as count, max(s.sequence) as bound
  from (select t.topic, case when (t.state = 4 and t.due < 253402300799000) then 9
    when (t.state = 4 and t.due = 253402300799000) then 10 else t.state end as state, t.sequence
    from task t
    where 1 = 1 and 1 = 0) s
  group by s.topic, s.state) c on c.topic = p.topic
order by p.topic, c.state

-- count
--   text, text
select p.topic, c.state, c.count, c.bound
from task_topic p
left join (select s.topic, s.state, count(*) as count, max(s.sequence) as bound
  from (select t.topic, case when (t.state = 4 and t.due < 253402300799000) then 9
    when (t.state = 4 and t.due = 253402300799000) then 10 else t.state end as state, t.sequence
    from task t
    where t.topic = :1 and 1 = 0) s
  group by s.topic, s.state) c on c.topic = p.topic
where p.topic = :2
order by p.topic, c.state

-- count
--   text, text, number, number, number, number, number, number, number, number
select p.topic, c.state, c.count, c.bound
from task_topic p
left join (select s.topic, s.state, count(*) as count, max(s.sequence) as bound
  from (select t.topic, case when (t.state = 4 and t.due < 253402300799000) then 9
    when (t.state = 4 and t.due = 253402300799000) then 10 else t.state end as state, t.sequence
    from (select t.topic, t.state, t.due, t.sequence, t.listed, t.attempt,
      row_number() over (partition by t.topic, t.identifier order by t.sequence desc) as place
      from task t
      where 1 = 1 and t.identifier = :1 and t.reference = :2 and t.reason = :3 and t.sequence >= :4 and t.sequence <= :5 and t.created >= :6 and t.created < :7 and t.completed >= :8 and t.completed < :9 and coalesce(t.completed, t.created) < :10) t
    where t.place = 1 and case when t.state = 3 or t.state = 6 then 1 else 0 end > 0) s
  group by s.topic, s.state) c on c.topic = p.topic
order by p.topic, c.state

-- count
--   text, text, text, number, number, number, number, number, number, number, number, text
select p.topic, c.state, c.count, c.bound
from task_topic p
left join (select s.topic, s.state, count(*) as count, max(s.sequence) as bound
  from (select t.topic, case when (t.state = 4 and t.due < 253402300799000) then 9
    when (t.state = 4 and t.due = 253402300799000) then 10 else t.state end as state, t.sequence
    from (select t.topic, t.state, t.due, t.sequence, t.listed, t.attempt,
      row_number() over (partition by t.topic, t.identifier order by t.sequence desc) as place
      from task t
      where t.topic = :1 and t.identifier = :2 and t.reference = :3 and t.reason = :4 and t.sequence >= :5 and t.sequence <= :6 and t.created >= :7 and t.created < :8 and t.completed >= :9 and t.completed < :10 and coalesce(t.completed, t.created) < :11) t
    where t.place = 1 and case when t.state = 3 or t.state = 6 then 1 else 0 end > 0) s
  group by s.topic, s.state) c on c.topic = p.topic
where p.topic = :12
order by p.topic, c.state

-- count
--   text, text, number, number, number, number, number, number, number, number
select p.topic, c.state, c.count, c.bound
from task_topic p
left join (select s.topic, s.state, count(*) as count, max(s.sequence) as bound
  from (select t.topic, case when (t.state = 4 and t.due < 253402300799000) then 9
    when (t.state = 4 and t.due = 253402300799000) then 10 else t.state end as state, t.sequence
    from task t
    where 1 = 1 and t.identifier = :1 and t.reference = :2 and t.reason = :3 and t.sequence >= :4 and t.sequence <= :5 and t.created >= :6 and t.created < :7 and t.completed >= :8 and t.completed < :9 and coalesce(t.completed, t.created) < :10 and case when t.state = 3 or t.state = 6 then 1 else 0 end > 0) s
  group by s.topic, s.state) c on c.topic = p.topic
order by p.topic, c.state

-- count
--   text, text, text, number, number, number, number, number, number, number, number, text
select p.topic, c.state, c.count, c.bound
from task_topic p
left join (select s.topic, s.state, count(*) as count, max(s.sequence) as bound
  from (select t.topic, case when (t.state = 4 and t.due < 253402300799000) then 9
    when (t.state = 4 and t.due = 253402300799000) then 10 else t.state end as state, t.sequence
    from task t
    where t.topic = :1 and t.identifier = :2 and t.reference = :3 and t.reason = :4 and t.sequence >= :5 and t.sequence <= :6 and t.created >= :7 and t.created < :8 and t.completed >= :9 and t.completed < :10 and coalesce(t.completed, t.created) < :11 and case when t.state = 3 or t.state = 6 then 1 else 0 end > 0) s
  group by s.topic, s.state) c on c.topic = p.topic
where p.topic = :12
order by p.topic, c.state

-- count
--   text, text
select p.topic, c.state, c.count, c.bound
from task_topic p
left join (select s.topic, s.state, count(*) as count, max(s.sequence) as bound
  from (select t.topic, case when (t.state = 4 and t.due < 253402300799000) then 9
    when (t.state = 4 and t.due = 253402300799000) then 10 else t.state end as state, t.sequence
    from task t
    where t.topic = :1 and not exists (select 1
      from task_dependency d
      join task k on k.topic = d.topic and k.sequence = d.sequence
      where d.parent_topic = t.topic and d.parent = t.sequence
      and k.state in (0, 1, 2, 4))) s
  group by s.topic, s.state) c on c.topic = p.topic
where p.topic = :2
order by p.topic, c.state

-- deactivate
--   text, null, null
insert /*+ ignore_row_on_dupkey_index(task_activation (topic)) */
into task_activation (topic, active, changed, actor, note)
values (:1, 0, (select k.ms from task_clock k), :2, :3)

-- deactivate
--   null, null, text
--   text, text, text
update task_activation set active = 0, changed = (select k.ms from task_clock k), actor = :1, note = :2 where topic = :3 and active <> 0

-- deactivate
--   text, number, null, null
insert /*+ ignore_row_on_dupkey_index(task_activation (topic)) */
into task_activation (topic, active, changed, actor, note)
values (:1, 0, :2, :3, :4)

-- deactivate
--   number, null, null, text
--   number, text, text, text
update task_activation set active = 0, changed = :1, actor = :2, note = :3 where topic = :4 and active <> 0

-- depend, purge, push
--   text, JSON
delete /*+ leading(w@keys t) use_nl(t) index(t) */ from task_dependency t where t.topic = :1 and t.sequence in (select /*+ unnest qb_name(keys) */ w.wanted from json_table(:2, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w)

-- depend
--   text, JSON
select /*+ leading(w@keys t) use_nl(t) index(t) */ t.sequence
from task t
where t.topic = :1 and t.sequence in (select /*+ unnest qb_name(keys) */ w.wanted from json_table(:2, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w) and t.state = 4 and t.due is null
order by t.sequence
for update

-- depend
--   JSON, text
select t.sequence from
(select /*+ leading(w t) use_nl(t) index(t) */ t.*
  from json_table(:1, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w, task t
  where t.topic = :2 and t.sequence = w.wanted) t
where 1 = 1 and t.state = 4 and t.due is null order by t.sequence

-- depend
--   text, JSON
update /*+ leading(w@keys t) use_nl(t) index(t) */ task t set due = 253402300799000, stage = case when t.stage <= 4 then 1 when t.stage <= 7 then 7 else t.stage end where t.topic = :1 and t.sequence in (select /*+ unnest qb_name(keys) */ w.wanted from json_table(:2, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w)

-- depend
--   number, JSON, text
insert into task_dependency (topic, sequence, place, need, parent_topic, parent, tolerant)
select p.topic, :1, r.place, r.need, r.needed_topic, r.needed, r.tolerant
from task_topic p, json_table(:2, '$[*]' error on error columns (nth for ordinality, place number path '$[0]' error on error, need varchar2(4000 byte) path '$[1]' error on error, needed_topic varchar2(4000 byte) path '$[2]' error on error, needed number path '$[3]' error on error, tolerant number path '$[4]' error on error)) r
where p.topic = :3

-- destroy, purgeAll
--   text
delete from task_turn where topic = :1

-- destroy, initialize, purgeAll
--   text
delete from task where topic = :1

-- destroy, purgeAll
--   text
delete from task_result where topic = :1

-- destroy, purgeAll
--   text
delete from task_attempt where topic = :1

-- destroy, purgeAll
--   text
delete from task_dependency where topic = :1

-- destroy
--   text
delete from task_topic where topic = :1

-- destroy
--   text
delete from task_activation where topic = :1

-- destroy
--   text
delete from task_limit where topic = :1

-- destroy
--   text
delete from task_slot where topic = :1

-- destroy
--   text
delete from task_lane where topic = :1

-- endings
--   JSON
select r.place, t.topic, t.sequence, t.state as state, t.reason, e.value, e.next_topic, e.next_sequence,
case when t.state in (3, 5) then t.output end as output
from json_table(:1, '$[*]' error on error columns (nth for ordinality, place number path '$[0]' error on error, wanted_topic varchar2(4000 byte) path '$[1]' error on error, wanted number path '$[2]' error on error)) r
join task t on t.topic = r.wanted_topic and t.sequence = r.wanted
left join task_result e on e.topic = t.topic and e.sequence = t.sequence and t.state = 6

-- errors, limit, push, restore
--   text
select 1 as known from task_topic where topic = :1

-- errors
--   number
select p.topic
from task_topic p
where (select t.ended from task_attempt t where t.topic = p.topic order by t.ended desc fetch first 1 rows only) >= ((select k.ms from task_clock k) + :1)
order by p.topic
fetch first 200 rows only

-- errors
--   text, text, number, number, number
select e.fingerprint, e.release_name, count(*) as count,
count(case e.fate when 2 then 1 end) as open, count(distinct case e.fate when 1 then e.sequence end) as pending,
max(e.ended) as last_ended
from (select g.sequence, g.fingerprint, g.release_name, g.ended, (
    select case when t.state in (1, 0, 4) then 1
    when t.state in (3, 2) and t.attempt = g.attempt then 2 end
    from task t
    where t.topic = :1 and t.sequence = g.sequence) as fate
  from (select t.sequence, t.attempt, t.fingerprint, t.release_name, t.ended, t.outcome
    from task_attempt t
    where t.topic = :2 and t.ended >= ((select k.ms from task_clock k) + :3)
    order by t.ended desc
    fetch first :4 rows only) g
  where g.fingerprint is not null and g.outcome <> 2
  fetch first :5 rows only) e
group by e.fingerprint, e.release_name

-- errors
--   text, text, text, text
select e.place, e.sequence, e.error, e.release_name, e.ended from (
  select 0 as place, t.sequence, t.error, t.release_name, t.ended as ended
  from task_attempt t
  where t.topic = :1 and t.fingerprint = :2 and t.outcome <> 2 and t.fingerprint is not null
  order by t.ended
  fetch first 1 rows only) e union all
select e.place, e.sequence, e.error, e.release_name, e.ended from (
  select -1 as place, t.sequence, t.error, t.release_name, t.ended as ended
  from task_attempt t
  where t.topic = :3 and t.fingerprint = :4 and t.outcome <> 2 and t.fingerprint is not null
  order by t.ended desc
  fetch first 1 rows only) e

-- errors
--   text, text, number, number
select e.fingerprint, e.release_name, count(*) as count,
count(case e.fate when 2 then 1 end) as open, count(distinct case e.fate when 1 then e.sequence end) as pending,
max(e.ended) as last_ended
from (select g.sequence, g.fingerprint, g.release_name, g.ended, (
    select case when t.state in (1, 0, 4) then 1
    when t.state in (3, 2) and t.attempt = g.attempt then 2 end
    from task t
    where t.topic = :1 and t.sequence = g.sequence) as fate
  from (select t.sequence, t.attempt, t.fingerprint, t.release_name, t.ended, t.outcome
    from task_attempt t
    where t.topic = :2
    order by t.ended desc
    fetch first :3 rows only) g
  where g.fingerprint is not null and g.outcome <> 2
  fetch first :4 rows only) e
group by e.fingerprint, e.release_name

-- errors
--   number, number
select p.topic
from task_topic p
where (select t.ended from task_attempt t where t.topic = p.topic order by t.ended desc fetch first 1 rows only) >= (:1 + :2)
order by p.topic
fetch first 200 rows only

-- errors
--   text, text, number, number, number, number
select e.fingerprint, e.release_name, count(*) as count,
count(case e.fate when 2 then 1 end) as open, count(distinct case e.fate when 1 then e.sequence end) as pending,
max(e.ended) as last_ended
from (select g.sequence, g.fingerprint, g.release_name, g.ended, (
    select case when t.state in (1, 0, 4) then 1
    when t.state in (3, 2) and t.attempt = g.attempt then 2 end
    from task t
    where t.topic = :1 and t.sequence = g.sequence) as fate
  from (select t.sequence, t.attempt, t.fingerprint, t.release_name, t.ended, t.outcome
    from task_attempt t
    where t.topic = :2 and t.ended >= (:3 + :4)
    order by t.ended desc
    fetch first :5 rows only) g
  where g.fingerprint is not null and g.outcome <> 2
  fetch first :6 rows only) e
group by e.fingerprint, e.release_name

-- expire, freeSlots
--   text, number, number
select /*+ leading(p t) use_nl(t) index(t task_open) */ t.topic, t.sequence, t.owner
from task_topic p
join task t on t.topic = p.topic and t.state = 0
where
t.owner <> :1
and not exists (select 1 from task_owner o where o.owner = t.owner and o.heartbeat >= ((select k.ms from task_clock k) + :2))
fetch first :3 rows only

-- expire
--   text, number
select max(o.own) as heartbeat, max(o.ahead) as ahead
from (select case when o.owner = :1 then o.heartbeat end as own,
  case when o.heartbeat > ((select k.ms from task_clock k) + :2) then 1 else 0 end as ahead
  from task_owner o) o

-- expire
--   number
update task_owner set heartbeat = (select k.ms from task_clock k) where heartbeat > ((select k.ms from task_clock k) + :1)

-- expire
--   text, JSON, text, number
select /*+ leading(w@keys t) use_nl(t) index(t) */ t.sequence
from task t
where t.topic = :1 and t.sequence in (select /*+ unnest qb_name(keys) */ w.wanted from json_table(:2, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w) and t.state = 0 and
t.owner <> :3
and not exists (select 1 from task_owner o where o.owner = t.owner and o.heartbeat >= ((select k.ms from task_clock k) + :4))
order by t.sequence
for update skip locked

-- expire
--   JSON, text, text, number
select t.sequence from
(select /*+ leading(w t) use_nl(t) index(t) */ t.*
  from json_table(:1, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w, task t
  where t.topic = :2 and t.sequence = w.wanted) t
where 1 = 1 and t.state = 0 and
t.owner <> :3
and not exists (select 1 from task_owner o where o.owner = t.owner and o.heartbeat >= ((select k.ms from task_clock k) + :4)) order by t.sequence

-- expire
--   text, JSON
update /*+ leading(w@keys t) use_nl(t) index(t) */ task t set state = 2, listed = 0, reason = 6, stage = case when t.stage <= 4 then 2 when t.stage <= 7 then 7 else t.stage end where t.topic = :1 and t.sequence in (select /*+ unnest qb_name(keys) */ w.wanted from json_table(:2, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w)

-- expire
--   JSON, text
select topic, sequence, attempt, state, identifier, stage from
(select /*+ leading(w t) use_nl(t) index(t) */ t.*
  from json_table(:1, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w, task t
  where t.topic = :2 and t.sequence = w.wanted) t
where 1 = 1

-- expire
--   JSON, text, JSON
insert into task_attempt (topic, sequence, attempt, started, ended, outcome, reason, owner, error, message, fingerprint, release_name, trace)
select t.topic, t.sequence, t.attempt, t.started, (select k.ms from task_clock k), 4, 6, r.lost_owner, null, null,
'lost', (select n.release_name from task_node n where n.owner = r.lost_owner) as release_name, null
from json_table(:1, '$[*]' error on error columns (nth for ordinality, lost_sequence number path '$[0]' error on error, lost_owner varchar2(4000 byte) path '$[1]' error on error)) r cross join task t
where t.topic = :2 and t.sequence = r.lost_sequence and t.sequence in (select w.wanted from json_table(:3, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w)

-- expire
--   text, JSON
update /*+ leading(w@keys t) use_nl(t) index(t) */ task t set
state = case when (t.max_tries is not null and t.tries >= t.max_tries) then 3 else 1 end,
listed = case when (t.max_tries is not null and t.tries >= t.max_tries) then 0 else 1 end,
reason = case when (t.max_tries is not null and t.tries >= t.max_tries) then 1 else 6 end,
completed = case when (t.max_tries is not null and t.tries >= t.max_tries) then (select k.ms from task_clock k) end,
owner = case when (t.max_tries is not null and t.tries >= t.max_tries) then t.owner end,
stage = case when t.stage <= 4 then case when (t.max_tries is not null and t.tries >= t.max_tries) then 2 else 1 end when t.stage <= 7 then case when (t.max_tries is not null and t.tries >= t.max_tries) then 7 else case when t.priority < 0 then 6 else 5 end end else t.stage end where t.topic = :1 and t.sequence in (select /*+ unnest qb_name(keys) */ w.wanted from json_table(:2, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w)

-- expire, freeSlots
--   text, number, number, number
select /*+ leading(p t) use_nl(t) index(t task_open) */ t.topic, t.sequence, t.owner
from task_topic p
join task t on t.topic = p.topic and t.state = 0
where
t.owner <> :1
and not exists (select 1 from task_owner o where o.owner = t.owner and o.heartbeat >= (:2 + :3))
fetch first :4 rows only

-- expire
--   text, number, number
select max(o.own) as heartbeat, max(o.ahead) as ahead
from (select case when o.owner = :1 then o.heartbeat end as own,
  case when o.heartbeat > (:2 + :3) then 1 else 0 end as ahead
  from task_owner o) o

-- expire
--   number, number, number
update task_owner set heartbeat = :1 where heartbeat > (:2 + :3)

-- expire
--   text, JSON, text, number, number
select /*+ leading(w@keys t) use_nl(t) index(t) */ t.sequence
from task t
where t.topic = :1 and t.sequence in (select /*+ unnest qb_name(keys) */ w.wanted from json_table(:2, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w) and t.state = 0 and
t.owner <> :3
and not exists (select 1 from task_owner o where o.owner = t.owner and o.heartbeat >= (:4 + :5))
order by t.sequence
for update skip locked

-- expire
--   JSON, text, text, number, number
select t.sequence from
(select /*+ leading(w t) use_nl(t) index(t) */ t.*
  from json_table(:1, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w, task t
  where t.topic = :2 and t.sequence = w.wanted) t
where 1 = 1 and t.state = 0 and
t.owner <> :3
and not exists (select 1 from task_owner o where o.owner = t.owner and o.heartbeat >= (:4 + :5)) order by t.sequence

-- expire
--   number, JSON, text, JSON
insert into task_attempt (topic, sequence, attempt, started, ended, outcome, reason, owner, error, message, fingerprint, release_name, trace)
select t.topic, t.sequence, t.attempt, t.started, :1, 4, 6, r.lost_owner, null, null,
'lost', (select n.release_name from task_node n where n.owner = r.lost_owner) as release_name, null
from json_table(:2, '$[*]' error on error columns (nth for ordinality, lost_sequence number path '$[0]' error on error, lost_owner varchar2(4000 byte) path '$[1]' error on error)) r cross join task t
where t.topic = :3 and t.sequence = r.lost_sequence and t.sequence in (select w.wanted from json_table(:4, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w)

-- expire
--   number, text, JSON
update /*+ leading(w@keys t) use_nl(t) index(t) */ task t set
state = case when (t.max_tries is not null and t.tries >= t.max_tries) then 3 else 1 end,
listed = case when (t.max_tries is not null and t.tries >= t.max_tries) then 0 else 1 end,
reason = case when (t.max_tries is not null and t.tries >= t.max_tries) then 1 else 6 end,
completed = case when (t.max_tries is not null and t.tries >= t.max_tries) then :1 end,
owner = case when (t.max_tries is not null and t.tries >= t.max_tries) then t.owner end,
stage = case when t.stage <= 4 then case when (t.max_tries is not null and t.tries >= t.max_tries) then 2 else 1 end when t.stage <= 7 then case when (t.max_tries is not null and t.tries >= t.max_tries) then 7 else case when t.priority < 0 then 6 else 5 end end else t.stage end where t.topic = :2 and t.sequence in (select /*+ unnest qb_name(keys) */ w.wanted from json_table(:3, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w)

-- freeSlots
--   text, number
select s.topic, s.owner from task_slot s where
s.owner <> :1
and not exists (select 1 from task_owner o where o.owner = s.owner and o.heartbeat >= ((select k.ms from task_clock k) + :2)) order by s.topic, s.owner for update skip locked

-- freeSlots
--   text, number, number
select s.topic, s.owner from task_slot s where
s.owner <> :1
and not exists (select 1 from task_owner o where o.owner = s.owner and o.heartbeat >= (:2 + :3)) order by s.topic, s.owner for update skip locked

-- giveTokens
--   text
select amount, per_ms from task_limit where topic = :1 and kind = 'rate'

-- giveTokens
--   number, text
update task_limit set used = used - :1 where topic = :2 and kind = 'rate'

-- handBack
--   JSON in a CLOB, text, text
--   JSON, text, text
merge /*+ leading(w) use_nl(t) index(t) */ into task t
using (select w.* from json_table(:1, '$[*]' error on error columns (nth for ordinality, wanted number path '$[0]' error on error, given_attempt number path '$[1]' error on error)) w) w
on (t.topic = :2 and t.sequence = w.wanted)
when matched then
update set state = 1, listed = 1, owner = null, started = null, tries = t.tries - 1, stage = case when t.stage <= 4 then 1 when t.stage <= 7 then case when t.priority < 0 then 6 else 5 end else t.stage end
where t.state = 0 and t.owner = :3 and t.attempt = w.given_attempt

-- heartbeat
--   text
update task_owner set heartbeat = (select k.ms from task_clock k) where owner = :1

-- heartbeat
--   number, text
update task_owner set heartbeat = :1 where owner = :2

-- held, reclaim
--   text, number
select /*+ leading(p t) use_nl(t) index(t task_open) */ t.topic, t.sequence, t.owner
from task_topic p
join task t on t.topic = p.topic and t.state = 0
where t.owner = :1
fetch first :2 rows only

-- held
--   JSON, text
select t.sequence, t.identifier, t.owner as owner, t.attempt as attempt, t.tries as tries,
t.started as started
from
(select /*+ leading(w t) use_nl(t) index(t) */ t.*
  from json_table(:1, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w, task t
  where t.topic = :2 and t.sequence = w.wanted) t
where 1 = 1 and t.state = 0

-- hold
--   text, text, JSON
--   text, text, JSON in a CLOB
select /*+ leading(w@keys t) use_nl(t) index(t) */ t.sequence from task t where
t.topic = :1 and t.state = 0 and t.owner = :2
and (t.sequence, t.attempt) in (
  select /*+ unnest qb_name(keys) */ w.wanted, w.given_attempt
  from json_table(:3, '$[*]' error on error columns (nth for ordinality, wanted number path '$[0]' error on error, given_attempt number path '$[1]' error on error)) w)
order by t.sequence

-- holdSlots
--   text, text
select 1 as held from task_slot where topic = :1 and owner = :2 for update

-- initialize, migrate, plan, register, repair, report, schemaStatus
select (select d.value from nls_database_parameters d where d.parameter = 'NLS_CHARACTERSET') as charset,
(select s.value from nls_session_parameters s where s.parameter = 'NLS_COMP') as comparison,
(select s.value from nls_session_parameters s where s.parameter = 'NLS_SORT') as sort,
(select count(*) from all_tables a where a.owner = sys_context('userenv', 'current_schema') and a.table_name = 'TASK_MIGRATION') as found
from dual

-- initialize, register, repair, report, schemaStatus
select * from task_migration

-- initialize
--   text, number, number, null
--   text, number, number, number
insert /*+ ignore_row_on_dupkey_index(task_topic (topic)) */
into task_topic (topic, ordering, condition, listing, ranking, stage)
values (:1, :2, :3, 1, 1, :4)

-- initialize, repair
--   text, number
insert /*+ ignore_row_on_dupkey_index(task_lane (topic, lane)) */
into task_lane (topic, lane)
select :1, level - 1 from dual connect by level <= :2

-- initialize
--   text, number, number, number
insert /*+ ignore_row_on_dupkey_index(task_topic (topic)) */
into task_topic (topic, ordering, condition, listing, ranking, stage)
values (:1, :2, :3, 0, 0, :4)

-- initialize
--   text
select p.ordering, p.condition, p.stage from task_topic p where p.topic = :1

-- initialize, migrate
--   text
select (select d.value from nls_database_parameters d where d.parameter = 'NLS_CHARACTERSET') as charset,
(select s.value from nls_session_parameters s where s.parameter = 'NLS_COMP') as comparison,
(select s.value from nls_session_parameters s where s.parameter = 'NLS_SORT') as sort,
(select count(*) from all_tables a where a.owner = upper(:1) and a.table_name = 'TASK_MIGRATION') as found
from dual

-- initialize
select * from tasks.task_migration

-- initialize
--   text, number, number, null
--   text, number, number, number
insert /*+ ignore_row_on_dupkey_index(task_topic (topic)) */
into tasks.task_topic (topic, ordering, condition, listing, ranking, stage)
values (:1, :2, :3, 1, 1, :4)

-- initialize
--   text
delete from tasks.task where topic = :1

-- initialize
--   text, number
insert /*+ ignore_row_on_dupkey_index(task_lane (topic, lane)) */
into tasks.task_lane (topic, lane)
select :1, level - 1 from dual connect by level <= :2

-- initialize
--   text, number, number, number
insert /*+ ignore_row_on_dupkey_index(task_topic (topic)) */
into tasks.task_topic (topic, ordering, condition, listing, ranking, stage)
values (:1, :2, :3, 0, 0, :4)

-- initialize
--   text
select p.ordering, p.condition, p.stage from tasks.task_topic p where p.topic = :1

-- junction, poll
--   text, JSON
update task_lane l
set polled = l.polled + 1
where l.topic = :1 and l.lane in (select w.wanted from json_table(:2, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w)

-- junction
--   JSON
select distinct ora_hash(w.wanted, 1023) as lane from json_table(:1, '$[*]' error on error columns (wanted varchar2(4000 byte) path '$' error on error)) w

-- junction
--   text, number, number, text, number, text, text, number
select /*+ index(l) */ l.lane
from task_lane l
where l.topic = :1 and l.lane between :2 and :3 and substr(:4, (l.lane - :5) * 3 + 1, 3) <> :6
order by substr(:7, (l.lane - :8) * 3 + 1, 3)
for update

-- junction
--   text, JSON
select distinct t.identifier
from task t where t.topic = :1 and t.stage is not null and t.identifier in (select w.wanted from json_table(:2, '$[*]' error on error columns (wanted varchar2(4000 byte) path '$' error on error)) w)
and (t.state = 4 and t.due is null)

-- junction
--   text, JSON
select /*+ first_rows(100) */ t.sequence
from task t
where t.topic = :1 and t.stage is not null and t.identifier in (select w.wanted from json_table(:2, '$[*]' error on error columns (wanted varchar2(4000 byte) path '$' error on error)) w) and (t.state = 4 and t.due is null)
order by t.sequence
for update

-- junction
--   JSON, text, JSON
select t.sequence from
(select /*+ leading(w t) use_nl(t) index(t) */ t.*
  from json_table(:1, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w, task t
  where t.topic = :2 and t.sequence = w.wanted) t
where 1 = 1 and t.stage is not null and t.identifier in (select w.wanted from json_table(:3, '$[*]' error on error columns (wanted varchar2(4000 byte) path '$' error on error)) w) and (t.state = 4 and t.due is null) order by t.sequence

-- junction
--   text, JSON
update /*+ leading(w@keys t) use_nl(t) index(t) */ task t set state = 1, listed = 1, completed = null, stage = case when t.stage <= 4 then 1 when t.stage <= 7 then case when t.priority < 0 then 6 else 5 end else t.stage end where t.topic = :1 and t.sequence in (select /*+ unnest qb_name(keys) */ w.wanted from json_table(:2, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w)

-- junction
--   JSON, text
select identifier from
(select /*+ leading(w t) use_nl(t) index(t) */ t.*
  from json_table(:1, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w, task t
  where t.topic = :2 and t.sequence = w.wanted) t
where 1 = 1

-- junction
--   text, JSON
select distinct t.identifier
from task t where t.topic = :1 and t.stage is not null and t.identifier in (select w.wanted from json_table(:2, '$[*]' error on error columns (wanted varchar2(4000 byte) path '$' error on error)) w)
and t.state between 0 and 7

-- limit
--   text
select t.kind, t.amount, t.per_ms, t.target from task_limit t where t.topic = :1

-- limit
--   text, text, number
insert /*+ ignore_row_on_dupkey_index(task_limit (topic, kind)) */
into task_limit (topic, kind, used)
values (:1, :2, :3)

-- limit
--   text, text, null, null, number, text
--   text, text, number, null, number, null
--   text, text, number, number, number, null
insert /*+ ignore_row_on_dupkey_index(task_limit (topic, kind)) */
into task_limit (topic, kind, amount, per_ms, used, target)
values (:1, :2, :3, :4, :5, :6)

-- limit
--   number, null, null, text, text
update task_limit set amount = :1, per_ms = :2, target = :3 where topic = :4 and kind = :5

-- limits
--   text
select topic, kind, amount, per_ms, target from task_limit where kind <> :1 order by topic, kind

-- lock, redrive
--   text, number, number, number
select t.sequence
from task t
where t.topic = :1 and t.sequence > :2 and t.sequence < :3 and case when t.state = 3 then 1 else 0 end > 0
order by t.sequence
fetch first :4 rows only

-- lock
--   text, JSON
select /*+ leading(w@keys t) use_nl(t) index(t) */ t.sequence
from task t
where t.topic = :1 and t.sequence in (select /*+ unnest qb_name(keys) */ w.wanted from json_table(:2, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w) and 1 = 1 and case when t.state = 3 then 1 else 0 end > 0
order by t.sequence
for update

-- lock
--   JSON, text
select t.sequence, t.identifier, t.attempt, t.tries, t.priority, t.reason, t.stage, case when (t.state = 4 and t.due < 253402300799000) then 9
when (t.state = 4 and t.due = 253402300799000) then 10 else t.state end as state,
case when t.output is null then 0 else 1 end as told, t.due as due, t.deadline as deadline from
(select /*+ leading(w t) use_nl(t) index(t) */ t.*
  from json_table(:1, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w, task t
  where t.topic = :2 and t.sequence = w.wanted) t
where 1 = 1 and 1 = 1 and case when t.state = 3 then 1 else 0 end > 0 order by t.sequence

-- lock
--   text, number, number, number
select t.sequence
from task t
where t.topic = :1 and t.sequence > :2 and t.sequence < :3 and not exists (select 1
  from task_dependency d
  join task k on k.topic = d.topic and k.sequence = d.sequence
  where d.parent_topic = t.topic and d.parent = t.sequence
  and k.state in (0, 1, 2, 4))
order by t.sequence desc
fetch first :4 rows only

-- lock
--   text, JSON
select /*+ leading(w@keys t) use_nl(t) index(t) */ t.sequence
from task t
where t.topic = :1 and t.sequence in (select /*+ unnest qb_name(keys) */ w.wanted from json_table(:2, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w) and 1 = 1 and not exists (select 1
  from task_dependency d
  join task k on k.topic = d.topic and k.sequence = d.sequence
  where d.parent_topic = t.topic and d.parent = t.sequence
  and k.state in (0, 1, 2, 4))
order by t.sequence
for update skip locked

-- lock
--   JSON, text
select t.sequence, t.identifier, t.attempt, t.tries, t.priority, t.reason, t.stage, case when (t.state = 4 and t.due < 253402300799000) then 9
when (t.state = 4 and t.due = 253402300799000) then 10 else t.state end as state,
case when t.output is null then 0 else 1 end as told, t.due as due, t.deadline as deadline from
(select /*+ leading(w t) use_nl(t) index(t) */ t.*
  from json_table(:1, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w, task t
  where t.topic = :2 and t.sequence = w.wanted) t
where 1 = 1 and 1 = 1 and not exists (select 1
  from task_dependency d
  join task k on k.topic = d.topic and k.sequence = d.sequence
  where d.parent_topic = t.topic and d.parent = t.sequence
  and k.state in (0, 1, 2, 4)) order by t.sequence

-- lock
--   text, text, text, number
select a.sequence
from task_attempt a
where a.topic = :1 and a.fingerprint = :2 and (select 1 from task t where t.topic = :3 and t.sequence = a.sequence and t.attempt = a.attempt) = 1
order by a.ended desc
fetch first :4 rows only

-- lock
--   text, JSON
select /*+ leading(w@keys t) use_nl(t) index(t) */ t.sequence
from task t
where t.topic = :1 and t.sequence in (select /*+ unnest qb_name(keys) */ w.wanted from json_table(:2, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w) and 1 = 1
order by t.sequence
for update

-- lock
--   JSON, text
select t.sequence, t.identifier, t.attempt, t.tries, t.priority, t.reason, t.stage, case when (t.state = 4 and t.due < 253402300799000) then 9
when (t.state = 4 and t.due = 253402300799000) then 10 else t.state end as state,
case when t.output is null then 0 else 1 end as told, t.due as due, t.deadline as deadline from
(select /*+ leading(w t) use_nl(t) index(t) */ t.*
  from json_table(:1, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w, task t
  where t.topic = :2 and t.sequence = w.wanted) t
where 1 = 1 and 1 = 1 order by t.sequence

-- lost
--   JSON in a CLOB, text, text
--   JSON, text, text
select t.sequence, t.attempt as attempt
from
(select /*+ leading(w t) use_nl(t) index(t) */ t.*
  from json_table(:1, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w, task t
  where t.topic = :2 and t.sequence = w.wanted) t
where 1 = 1 and t.state = 0 and t.owner = :3

-- migrate
begin
execute immediate 'create table task_migration (
  version number(10) not null,
  name varchar2(250 char) not null,
  applied varchar2(100 char) not null,
  works_from number(10),
  constraint task_migration_key primary key (version)
)';
exception
when others then
if sqlcode <> -955 then
raise;
end if;
end;

-- migrate
begin
execute immediate 'create sequence task_sequence minvalue 1 maxvalue 9007199254740991 cache 1000 order';
exception
when others then
if sqlcode <> -955 then
raise;
end if;
end;

-- migrate
begin
execute immediate 'create table task (
  topic varchar2(250 char) not null,
  sequence number(16) not null,
  identifier varchar2(500 char) not null,
  state number(1) default 1 not null,
  descent number(1) default 1 not null,
  reason number(5),
  listed number(1) default 0 not null,
  ranked number(1) default 0 not null,
  stage number(1),
  priority number(5) default 0 not null,
  urgency number(5) generated always as (-priority) virtual,
  attempt number(10) default 0 not null,
  tries number(10) default 0 not null,
  max_tries number(10),
  created number(16) not null,
  started number(16),
  completed number(16),
  due number(16),
  deadline number(16),
  owner varchar2(250 char),
  reference varchar2(500 char),
  external_id varchar2(500 char),
  headers clob,
  input clob,
  output clob,
  constraint task_key primary key (topic, sequence) using index compress 1
)';
exception
when others then
if sqlcode <> -955 then
raise;
end if;
end;

-- migrate
begin
execute immediate 'create index task_open on task (topic, state, sequence) compress 2';
exception
when others then
if sqlcode <> -955 then
raise;
end if;
end;

-- migrate
begin
execute immediate 'create index task_listed on task (topic, listed, state, sequence) compress 3';
exception
when others then
if sqlcode <> -955 then
raise;
end if;
end;

-- migrate
begin
execute immediate 'create index task_ranked on task (topic, ranked, listed, state, urgency, sequence) compress 4';
exception
when others then
if sqlcode <> -955 then
raise;
end if;
end;

-- migrate
begin
execute immediate 'create index task_identifier on task (topic, identifier, stage, sequence) compress 1';
exception
when others then
if sqlcode <> -955 then
raise;
end if;
end;

-- migrate
begin
execute immediate 'create index task_due on task (topic, due) compress 1';
exception
when others then
if sqlcode <> -955 then
raise;
end if;
end;

-- migrate
begin
execute immediate 'create unique index task_external_id
on task (external_id, case when external_id is not null then topic end)';
exception
when others then
if sqlcode <> -955 then
raise;
end if;
end;

-- migrate
begin
execute immediate 'create table task_topic (
  topic varchar2(250 char) not null,
  ordering number(5) default 0 not null,
  condition number(5) default 0 not null,
  listing number(1) default 0 not null,
  ranking number(1) default 0 not null,
  stage number(1),
  constraint task_topic_key primary key (topic)
)';
exception
when others then
if sqlcode <> -955 then
raise;
end if;
end;

-- migrate
begin
execute immediate 'create table task_owner (
  owner varchar2(250 char) not null,
  name varchar2(250 char) not null,
  heartbeat number(16) not null,
  constraint task_owner_key primary key (owner)
)';
exception
when others then
if sqlcode <> -955 then
raise;
end if;
end;

-- migrate
begin
execute immediate 'create table task_turn (
  topic varchar2(250 char) not null,
  turn number(16) generated always as identity (cache 1000 order),
  identifier varchar2(500 char) not null,
  constraint task_turn_key primary key (topic, turn) using index compress 1
)';
exception
when others then
if sqlcode <> -955 then
raise;
end if;
end;

-- migrate
begin
execute immediate 'create table task_lane (
  topic varchar2(250 char) not null,
  lane number(5) not null,
  polled number(16) default 0 not null,
  constraint task_lane_key primary key (topic, lane) using index compress 1
)';
exception
when others then
if sqlcode <> -955 then
raise;
end if;
end;

-- migrate
begin
execute immediate 'create table task_activation (
  topic varchar2(250 char) not null,
  active number(1) not null,
  changed number(16) not null,
  constraint task_activation_key primary key (topic)
)';
exception
when others then
if sqlcode <> -955 then
raise;
end if;
end;

-- migrate
begin
execute immediate 'create table task_periodic (
  scope varchar2(250 char) not null,
  id varchar2(250 char) not null,
  name varchar2(250 char),
  application varchar2(250 char),
  status number(1) not null,
  note varchar2(1000 char),
  timer varchar2(1000 char) not null,
  summary varchar2(500 char),
  topic varchar2(250 char) not null,
  identifier varchar2(500 char) not null,
  input clob,
  headers clob,
  priority number(5) not null,
  max_tries number(10),
  misfire number(1) not null,
  late_ms number(16),
  overlap number(1) not null,
  jitter_ms number(16) not null,
  starts number(16),
  ends number(16),
  max_count number(16),
  fired number(16) default 0 not null,
  skipped number(16) default 0 not null,
  occurrence number(16),
  due number(16),
  last_occurrence number(16),
  last_topic varchar2(250 char),
  last_sequence number(16),
  created number(16) not null,
  changed number(16) not null,
  constraint task_periodic_key primary key (scope, id) using index compress 1
)';
exception
when others then
if sqlcode <> -955 then
raise;
end if;
end;

-- migrate
begin
execute immediate 'create index task_periodic_due on task_periodic (due)';
exception
when others then
if sqlcode <> -955 then
raise;
end if;
end;

-- migrate
create or replace view task_clock as
select extract(day from i.since) * 86400000
+ extract(hour from i.since) * 3600000
+ extract(minute from i.since) * 60000
+ trunc(extract(second from i.since) * 1000) as ms
from (select sys_extract_utc(systimestamp) - timestamp '1970-01-01 00:00:00' as since from dual) i

-- migrate
create or replace view task_pretty as
select topic, sequence, identifier,
case case state when 7 then descent else state end when 0 then 'active' when 1 then 'ready' when 2 then 'expired' when 3 then 'failed' when 4 then 'suspended' when 5 then 'filtered' when 6 then 'succeeded' when 7 then 'recreated' when 8 then 'redundant' end as state,
case state when 7 then 'yes' else 'no' end as recreated,
case reason when 0 then 'deadline' when 1 then 'tries' when 2 then 'terminated' when 3 then 'unreachable' when 4 then 'cancelled' when 5 then 'timeout' when 6 then 'lease' end as reason,
owner, attempt, tries, max_tries, priority, reference, external_id,
timestamp '1970-01-01 00:00:00 +00:00' + numtodsinterval(created / 1000, 'second') as created, timestamp '1970-01-01 00:00:00 +00:00' + numtodsinterval(started / 1000, 'second') as started, timestamp '1970-01-01 00:00:00 +00:00' + numtodsinterval(completed / 1000, 'second') as completed, timestamp '1970-01-01 00:00:00 +00:00' + numtodsinterval(due / 1000, 'second') as due, timestamp '1970-01-01 00:00:00 +00:00' + numtodsinterval(deadline / 1000, 'second') as deadline,
headers, input, output
from task

-- migrate
--   number, text
insert /*+ ignore_row_on_dupkey_index(task_migration (version)) */
into task_migration (version, name, applied)
values (:1, :2, current_timestamp)

-- migrate
begin
execute immediate 'create table task_result (
  topic varchar2(250 char) not null,
  sequence number(16) not null,
  value clob,
  next_topic varchar2(250 char),
  next_sequence number(16),
  constraint task_result_key primary key (topic, sequence) using index compress 1
)';
exception
when others then
if sqlcode <> -955 then
raise;
end if;
end;

-- migrate
begin
execute immediate 'create table task_attempt (
  topic varchar2(250 char) not null,
  sequence number(16) not null,
  attempt number(10) not null,
  started number(16),
  ended number(16) not null,
  outcome number(1) not null,
  reason number(5),
  owner varchar2(250 char),
  error varchar2(200 char),
  message clob,
  constraint task_attempt_key primary key (topic, sequence, attempt) using index compress 1
)';
exception
when others then
if sqlcode <> -955 then
raise;
end if;
end;

-- migrate
begin
execute immediate 'create index task_attempt_ended on task_attempt (topic, ended)';
exception
when others then
if sqlcode <> -955 then
raise;
end if;
end;

-- migrate
--   number, text, number
insert /*+ ignore_row_on_dupkey_index(task_migration (version)) */
into task_migration (version, name, applied, works_from)
values (:1, :2, current_timestamp, :3)

-- migrate
begin
execute immediate 'create table task_dependency (
  topic varchar2(250 char) not null,
  sequence number(16) not null,
  place number(10) not null,
  need varchar2(100 char) not null,
  parent_topic varchar2(250 char) not null,
  parent number(16) not null,
  tolerant number(1) not null,
  constraint task_dependency_key primary key (topic, sequence, place) using index compress 1
)';
exception
when others then
if sqlcode <> -955 then
raise;
end if;
end;

-- migrate
begin
execute immediate 'create index task_dependency_parent on task_dependency (parent_topic, parent)';
exception
when others then
if sqlcode <> -955 then
raise;
end if;
end;

-- migrate
begin
execute immediate 'create table task_limit (
  topic varchar2(250 char) not null,
  kind varchar2(20 char) not null,
  amount number(16),
  per_ms number(16),
  used number(18) default 0 not null,
  counted_at number(16),
  target varchar2(250 char),
  constraint task_limit_key primary key (topic, kind) using index compress 1
)';
exception
when others then
if sqlcode <> -955 then
raise;
end if;
end;

-- migrate
begin
execute immediate 'create table task_slot (
  topic varchar2(250 char) not null,
  owner varchar2(250 char) not null,
  slots number(10) not null,
  wanted number(10) not null,
  constraint task_slot_key primary key (topic, owner) using index compress 1
)';
exception
when others then
if sqlcode <> -955 then
raise;
end if;
end;

-- migrate
create or replace view task_pretty as
select topic, sequence, identifier,
case case state when 7 then descent else state end when 0 then 'active' when 1 then 'ready' when 2 then 'expired' when 3 then 'failed' when 4 then 'suspended' when 5 then 'filtered' when 6 then 'succeeded' when 7 then 'recreated' when 8 then 'redundant' end as state,
case state when 7 then 'yes' else 'no' end as recreated,
case reason when 0 then 'deadline' when 1 then 'tries' when 2 then 'terminated' when 3 then 'unreachable' when 4 then 'cancelled' when 5 then 'timeout' when 6 then 'lease' when 7 then 'dropped' end as reason,
owner, attempt, tries, max_tries, priority, reference, external_id,
timestamp '1970-01-01 00:00:00 +00:00' + numtodsinterval(created / 1000, 'second') as created, timestamp '1970-01-01 00:00:00 +00:00' + numtodsinterval(started / 1000, 'second') as started, timestamp '1970-01-01 00:00:00 +00:00' + numtodsinterval(completed / 1000, 'second') as completed, timestamp '1970-01-01 00:00:00 +00:00' + numtodsinterval(due / 1000, 'second') as due, timestamp '1970-01-01 00:00:00 +00:00' + numtodsinterval(deadline / 1000, 'second') as deadline,
headers, input, output
from task

-- migrate
begin
execute immediate 'alter table task_attempt add (fingerprint varchar2(20 char), release_name varchar2(100 char))';
exception
when others then
if sqlcode <> -1430 then
raise;
end if;
end;

-- migrate
begin
execute immediate 'create index task_attempt_fingerprint on task_attempt (topic, fingerprint, ended)';
exception
when others then
if sqlcode <> -955 then
raise;
end if;
end;

-- migrate
begin
execute immediate 'alter table task_activation add (actor varchar2(250 char), note varchar2(500 char))';
exception
when others then
if sqlcode <> -1430 then
raise;
end if;
end;

-- migrate
begin
execute immediate 'create table task_node (
  owner varchar2(250 char) not null,
  name varchar2(250 char) not null,
  kind varchar2(20 char) not null,
  host varchar2(250 char) not null,
  pid number(16) not null,
  release_name varchar2(100 char),
  started number(16) not null,
  seen number(16) not null,
  lease_ms number(16) not null,
  quiet number(1) default 0 not null,
  topics clob not null,
  report clob not null,
  constraint task_node_key primary key (owner)
)';
exception
when others then
if sqlcode <> -955 then
raise;
end if;
end;

-- migrate
begin
execute immediate 'create table task_audit (
  id varchar2(20 char) not null,
  made number(16) not null,
  action varchar2(20 char) not null,
  topic varchar2(250 char),
  actor varchar2(250 char),
  via varchar2(20 char),
  undoes varchar2(20 char),
  note varchar2(500 char),
  amount number(16) not null,
  filter clob,
  sequences clob,
  former clob,
  constraint task_audit_key primary key (id)
)';
exception
when others then
if sqlcode <> -955 then
raise;
end if;
end;

-- migrate
begin
execute immediate 'create index task_audit_made on task_audit (made)';
exception
when others then
if sqlcode <> -955 then
raise;
end if;
end;

-- migrate
begin
execute immediate 'alter table task_attempt add (trace varchar2(64 char))';
exception
when others then
if sqlcode <> -1430 then
raise;
end if;
end;

-- migrate
begin
execute immediate 'create table tasks.task_migration (
  version number(10) not null,
  name varchar2(250 char) not null,
  applied varchar2(100 char) not null,
  works_from number(10),
  constraint task_migration_key primary key (version)
)';
exception
when others then
if sqlcode <> -955 then
raise;
end if;
end;

-- migrate
begin
execute immediate 'create sequence tasks.task_sequence minvalue 1 maxvalue 9007199254740991 cache 1000 order';
exception
when others then
if sqlcode <> -955 then
raise;
end if;
end;

-- migrate
begin
execute immediate 'create table tasks.task (
  topic varchar2(250 char) not null,
  sequence number(16) not null,
  identifier varchar2(500 char) not null,
  state number(1) default 1 not null,
  descent number(1) default 1 not null,
  reason number(5),
  listed number(1) default 0 not null,
  ranked number(1) default 0 not null,
  stage number(1),
  priority number(5) default 0 not null,
  urgency number(5) generated always as (-priority) virtual,
  attempt number(10) default 0 not null,
  tries number(10) default 0 not null,
  max_tries number(10),
  created number(16) not null,
  started number(16),
  completed number(16),
  due number(16),
  deadline number(16),
  owner varchar2(250 char),
  reference varchar2(500 char),
  external_id varchar2(500 char),
  headers clob,
  input clob,
  output clob,
  constraint task_key primary key (topic, sequence) using index compress 1
)';
exception
when others then
if sqlcode <> -955 then
raise;
end if;
end;

-- migrate
begin
execute immediate 'create index tasks.task_open on tasks.task (topic, state, sequence) compress 2';
exception
when others then
if sqlcode <> -955 then
raise;
end if;
end;

-- migrate
begin
execute immediate 'create index tasks.task_listed on tasks.task (topic, listed, state, sequence) compress 3';
exception
when others then
if sqlcode <> -955 then
raise;
end if;
end;

-- migrate
begin
execute immediate 'create index tasks.task_ranked on tasks.task (topic, ranked, listed, state, urgency, sequence) compress 4';
exception
when others then
if sqlcode <> -955 then
raise;
end if;
end;

-- migrate
begin
execute immediate 'create index tasks.task_identifier on tasks.task (topic, identifier, stage, sequence) compress 1';
exception
when others then
if sqlcode <> -955 then
raise;
end if;
end;

-- migrate
begin
execute immediate 'create index tasks.task_due on tasks.task (topic, due) compress 1';
exception
when others then
if sqlcode <> -955 then
raise;
end if;
end;

-- migrate
begin
execute immediate 'create unique index tasks.task_external_id
on tasks.task (external_id, case when external_id is not null then topic end)';
exception
when others then
if sqlcode <> -955 then
raise;
end if;
end;

-- migrate
begin
execute immediate 'create table tasks.task_topic (
  topic varchar2(250 char) not null,
  ordering number(5) default 0 not null,
  condition number(5) default 0 not null,
  listing number(1) default 0 not null,
  ranking number(1) default 0 not null,
  stage number(1),
  constraint task_topic_key primary key (topic)
)';
exception
when others then
if sqlcode <> -955 then
raise;
end if;
end;

-- migrate
begin
execute immediate 'create table tasks.task_owner (
  owner varchar2(250 char) not null,
  name varchar2(250 char) not null,
  heartbeat number(16) not null,
  constraint task_owner_key primary key (owner)
)';
exception
when others then
if sqlcode <> -955 then
raise;
end if;
end;

-- migrate
begin
execute immediate 'create table tasks.task_turn (
  topic varchar2(250 char) not null,
  turn number(16) generated always as identity (cache 1000 order),
  identifier varchar2(500 char) not null,
  constraint task_turn_key primary key (topic, turn) using index compress 1
)';
exception
when others then
if sqlcode <> -955 then
raise;
end if;
end;

-- migrate
begin
execute immediate 'create table tasks.task_lane (
  topic varchar2(250 char) not null,
  lane number(5) not null,
  polled number(16) default 0 not null,
  constraint task_lane_key primary key (topic, lane) using index compress 1
)';
exception
when others then
if sqlcode <> -955 then
raise;
end if;
end;

-- migrate
begin
execute immediate 'create table tasks.task_activation (
  topic varchar2(250 char) not null,
  active number(1) not null,
  changed number(16) not null,
  constraint task_activation_key primary key (topic)
)';
exception
when others then
if sqlcode <> -955 then
raise;
end if;
end;

-- migrate
begin
execute immediate 'create table tasks.task_periodic (
  scope varchar2(250 char) not null,
  id varchar2(250 char) not null,
  name varchar2(250 char),
  application varchar2(250 char),
  status number(1) not null,
  note varchar2(1000 char),
  timer varchar2(1000 char) not null,
  summary varchar2(500 char),
  topic varchar2(250 char) not null,
  identifier varchar2(500 char) not null,
  input clob,
  headers clob,
  priority number(5) not null,
  max_tries number(10),
  misfire number(1) not null,
  late_ms number(16),
  overlap number(1) not null,
  jitter_ms number(16) not null,
  starts number(16),
  ends number(16),
  max_count number(16),
  fired number(16) default 0 not null,
  skipped number(16) default 0 not null,
  occurrence number(16),
  due number(16),
  last_occurrence number(16),
  last_topic varchar2(250 char),
  last_sequence number(16),
  created number(16) not null,
  changed number(16) not null,
  constraint task_periodic_key primary key (scope, id) using index compress 1
)';
exception
when others then
if sqlcode <> -955 then
raise;
end if;
end;

-- migrate
begin
execute immediate 'create index tasks.task_periodic_due on tasks.task_periodic (due)';
exception
when others then
if sqlcode <> -955 then
raise;
end if;
end;

-- migrate
create or replace view tasks.task_clock as
select extract(day from i.since) * 86400000
+ extract(hour from i.since) * 3600000
+ extract(minute from i.since) * 60000
+ trunc(extract(second from i.since) * 1000) as ms
from (select sys_extract_utc(systimestamp) - timestamp '1970-01-01 00:00:00' as since from dual) i

-- migrate
create or replace view tasks.task_pretty as
select topic, sequence, identifier,
case case state when 7 then descent else state end when 0 then 'active' when 1 then 'ready' when 2 then 'expired' when 3 then 'failed' when 4 then 'suspended' when 5 then 'filtered' when 6 then 'succeeded' when 7 then 'recreated' when 8 then 'redundant' end as state,
case state when 7 then 'yes' else 'no' end as recreated,
case reason when 0 then 'deadline' when 1 then 'tries' when 2 then 'terminated' when 3 then 'unreachable' when 4 then 'cancelled' when 5 then 'timeout' when 6 then 'lease' end as reason,
owner, attempt, tries, max_tries, priority, reference, external_id,
timestamp '1970-01-01 00:00:00 +00:00' + numtodsinterval(created / 1000, 'second') as created, timestamp '1970-01-01 00:00:00 +00:00' + numtodsinterval(started / 1000, 'second') as started, timestamp '1970-01-01 00:00:00 +00:00' + numtodsinterval(completed / 1000, 'second') as completed, timestamp '1970-01-01 00:00:00 +00:00' + numtodsinterval(due / 1000, 'second') as due, timestamp '1970-01-01 00:00:00 +00:00' + numtodsinterval(deadline / 1000, 'second') as deadline,
headers, input, output
from tasks.task

-- migrate
--   number, text
insert /*+ ignore_row_on_dupkey_index(task_migration (version)) */
into tasks.task_migration (version, name, applied)
values (:1, :2, current_timestamp)

-- migrate
begin
execute immediate 'create table tasks.task_result (
  topic varchar2(250 char) not null,
  sequence number(16) not null,
  value clob,
  next_topic varchar2(250 char),
  next_sequence number(16),
  constraint task_result_key primary key (topic, sequence) using index compress 1
)';
exception
when others then
if sqlcode <> -955 then
raise;
end if;
end;

-- migrate
begin
execute immediate 'create table tasks.task_attempt (
  topic varchar2(250 char) not null,
  sequence number(16) not null,
  attempt number(10) not null,
  started number(16),
  ended number(16) not null,
  outcome number(1) not null,
  reason number(5),
  owner varchar2(250 char),
  error varchar2(200 char),
  message clob,
  constraint task_attempt_key primary key (topic, sequence, attempt) using index compress 1
)';
exception
when others then
if sqlcode <> -955 then
raise;
end if;
end;

-- migrate
begin
execute immediate 'create index tasks.task_attempt_ended on tasks.task_attempt (topic, ended)';
exception
when others then
if sqlcode <> -955 then
raise;
end if;
end;

-- migrate
--   number, text, number
insert /*+ ignore_row_on_dupkey_index(task_migration (version)) */
into tasks.task_migration (version, name, applied, works_from)
values (:1, :2, current_timestamp, :3)

-- migrate
begin
execute immediate 'create table tasks.task_dependency (
  topic varchar2(250 char) not null,
  sequence number(16) not null,
  place number(10) not null,
  need varchar2(100 char) not null,
  parent_topic varchar2(250 char) not null,
  parent number(16) not null,
  tolerant number(1) not null,
  constraint task_dependency_key primary key (topic, sequence, place) using index compress 1
)';
exception
when others then
if sqlcode <> -955 then
raise;
end if;
end;

-- migrate
begin
execute immediate 'create index tasks.task_dependency_parent on tasks.task_dependency (parent_topic, parent)';
exception
when others then
if sqlcode <> -955 then
raise;
end if;
end;

-- migrate
begin
execute immediate 'create table tasks.task_limit (
  topic varchar2(250 char) not null,
  kind varchar2(20 char) not null,
  amount number(16),
  per_ms number(16),
  used number(18) default 0 not null,
  counted_at number(16),
  target varchar2(250 char),
  constraint task_limit_key primary key (topic, kind) using index compress 1
)';
exception
when others then
if sqlcode <> -955 then
raise;
end if;
end;

-- migrate
begin
execute immediate 'create table tasks.task_slot (
  topic varchar2(250 char) not null,
  owner varchar2(250 char) not null,
  slots number(10) not null,
  wanted number(10) not null,
  constraint task_slot_key primary key (topic, owner) using index compress 1
)';
exception
when others then
if sqlcode <> -955 then
raise;
end if;
end;

-- migrate
create or replace view tasks.task_pretty as
select topic, sequence, identifier,
case case state when 7 then descent else state end when 0 then 'active' when 1 then 'ready' when 2 then 'expired' when 3 then 'failed' when 4 then 'suspended' when 5 then 'filtered' when 6 then 'succeeded' when 7 then 'recreated' when 8 then 'redundant' end as state,
case state when 7 then 'yes' else 'no' end as recreated,
case reason when 0 then 'deadline' when 1 then 'tries' when 2 then 'terminated' when 3 then 'unreachable' when 4 then 'cancelled' when 5 then 'timeout' when 6 then 'lease' when 7 then 'dropped' end as reason,
owner, attempt, tries, max_tries, priority, reference, external_id,
timestamp '1970-01-01 00:00:00 +00:00' + numtodsinterval(created / 1000, 'second') as created, timestamp '1970-01-01 00:00:00 +00:00' + numtodsinterval(started / 1000, 'second') as started, timestamp '1970-01-01 00:00:00 +00:00' + numtodsinterval(completed / 1000, 'second') as completed, timestamp '1970-01-01 00:00:00 +00:00' + numtodsinterval(due / 1000, 'second') as due, timestamp '1970-01-01 00:00:00 +00:00' + numtodsinterval(deadline / 1000, 'second') as deadline,
headers, input, output
from tasks.task

-- migrate
begin
execute immediate 'alter table tasks.task_attempt add (fingerprint varchar2(20 char), release_name varchar2(100 char))';
exception
when others then
if sqlcode <> -1430 then
raise;
end if;
end;

-- migrate
begin
execute immediate 'create index tasks.task_attempt_fingerprint on tasks.task_attempt (topic, fingerprint, ended)';
exception
when others then
if sqlcode <> -955 then
raise;
end if;
end;

-- migrate
begin
execute immediate 'alter table tasks.task_activation add (actor varchar2(250 char), note varchar2(500 char))';
exception
when others then
if sqlcode <> -1430 then
raise;
end if;
end;

-- migrate
begin
execute immediate 'create table tasks.task_node (
  owner varchar2(250 char) not null,
  name varchar2(250 char) not null,
  kind varchar2(20 char) not null,
  host varchar2(250 char) not null,
  pid number(16) not null,
  release_name varchar2(100 char),
  started number(16) not null,
  seen number(16) not null,
  lease_ms number(16) not null,
  quiet number(1) default 0 not null,
  topics clob not null,
  report clob not null,
  constraint task_node_key primary key (owner)
)';
exception
when others then
if sqlcode <> -955 then
raise;
end if;
end;

-- migrate
begin
execute immediate 'create table tasks.task_audit (
  id varchar2(20 char) not null,
  made number(16) not null,
  action varchar2(20 char) not null,
  topic varchar2(250 char),
  actor varchar2(250 char),
  via varchar2(20 char),
  undoes varchar2(20 char),
  note varchar2(500 char),
  amount number(16) not null,
  filter clob,
  sequences clob,
  former clob,
  constraint task_audit_key primary key (id)
)';
exception
when others then
if sqlcode <> -955 then
raise;
end if;
end;

-- migrate
begin
execute immediate 'create index tasks.task_audit_made on tasks.task_audit (made)';
exception
when others then
if sqlcode <> -955 then
raise;
end if;
end;

-- migrate
begin
execute immediate 'alter table tasks.task_attempt add (trace varchar2(64 char))';
exception
when others then
if sqlcode <> -1430 then
raise;
end if;
end;

-- migrate
begin
execute immediate 'create table task (
  topic varchar2(250 char) not null,
  sequence number(16) not null,
  identifier varchar2(500 char) not null,
  state number(1) default 1 not null,
  descent number(1) default 1 not null,
  reason number(5),
  listed number(1) default 0 not null,
  ranked number(1) default 0 not null,
  stage number(1),
  priority number(5) default 0 not null,
  urgency number(5) generated always as (-priority) virtual,
  attempt number(10) default 0 not null,
  tries number(10) default 0 not null,
  max_tries number(10),
  created number(16) not null,
  started number(16),
  completed number(16),
  due number(16),
  deadline number(16),
  owner varchar2(250 char),
  reference varchar2(500 char),
  external_id varchar2(500 char),
  headers clob,
  input clob,
  output clob,
  constraint task_key primary key (topic, sequence) using index compress 1 local
) partition by list (topic) automatic (partition task_first values (''taskstream''))';
exception
when others then
if sqlcode <> -955 then
raise;
end if;
end;

-- migrate
begin
execute immediate 'create index task_open on task (topic, state, sequence) compress 2 local';
exception
when others then
if sqlcode <> -955 then
raise;
end if;
end;

-- migrate
begin
execute immediate 'create index task_listed on task (topic, listed, state, sequence) compress 3 local';
exception
when others then
if sqlcode <> -955 then
raise;
end if;
end;

-- migrate
begin
execute immediate 'create index task_ranked on task (topic, ranked, listed, state, urgency, sequence) compress 4 local';
exception
when others then
if sqlcode <> -955 then
raise;
end if;
end;

-- migrate
begin
execute immediate 'create index task_identifier on task (topic, identifier, stage, sequence) compress 1 local';
exception
when others then
if sqlcode <> -955 then
raise;
end if;
end;

-- migrate
begin
execute immediate 'create index task_due on task (topic, due) compress 1 local';
exception
when others then
if sqlcode <> -955 then
raise;
end if;
end;

-- nodes, verb, why
select o.owner, o.name, o.heartbeat as heartbeat, (select k.ms from task_clock k) as now
from task_owner o
order by o.heartbeat desc
fetch first 10000 rows only

-- nodes, verb, why
--   number
select n.owner, n.name, n.kind, n.host, n.pid, n.release_name, n.lease_ms, n.quiet, n.topics, n.report,
n.started as started, n.seen as seen, (select k.ms from task_clock k) as now
from task_node n
where n.seen >= ((select k.ms from task_clock k) + :1) or exists (select 1 from task_owner o where o.owner = n.owner)
order by n.seen desc
fetch first 10000 rows only

-- nodes, verb, why
--   number
select o.owner, o.name, o.heartbeat as heartbeat, :1 as now
from task_owner o
order by o.heartbeat desc
fetch first 10000 rows only

-- nodes, verb, why
--   number, number, number
select n.owner, n.name, n.kind, n.host, n.pid, n.release_name, n.lease_ms, n.quiet, n.topics, n.report,
n.started as started, n.seen as seen, :1 as now
from task_node n
where n.seen >= (:2 + :3) or exists (select 1 from task_owner o where o.owner = n.owner)
order by n.seen desc
fetch first 10000 rows only

-- overview
--   number, number, number
select p.topic, p.ordering, p.condition, p.stage,
(select count(*) from task t where t.topic = p.topic and t.state = 1 and rownum <= :1) as ready,
(select count(*) from task t where t.topic = p.topic and t.state = 0 and rownum <= :2) as active,
(select count(*) from task t where t.topic = p.topic and t.due < 253402300799000 and t.state = 4 and rownum <= :3) as delayed_tasks,
(select k.ms from task_clock k) -
(select t.created
  from task t
  where t.topic = p.topic and t.state = 1
  order by t.sequence
  fetch first 1 rows only) as oldest
from task_topic p
order by p.topic

-- overview
--   number, number, number, number
select p.topic, p.ordering, p.condition, p.stage,
(select count(*) from task t where t.topic = p.topic and t.state = 1 and rownum <= :1) as ready,
(select count(*) from task t where t.topic = p.topic and t.state = 0 and rownum <= :2) as active,
(select count(*) from task t where t.topic = p.topic and t.due < 253402300799000 and t.state = 4 and rownum <= :3) as delayed_tasks,
:4 -
(select t.created
  from task t
  where t.topic = p.topic and t.state = 1
  order by t.sequence
  fetch first 1 rows only) as oldest
from task_topic p
order by p.topic

-- owners
--   text, number
select owner, heartbeat as heartbeat
from task_owner
where owner <> :1
and heartbeat >= ((select k.ms from task_clock k) + :2)
order by owner

-- owners
--   text, number, number
select owner, heartbeat as heartbeat
from task_owner
where owner <> :1
and heartbeat >= (:2 + :3)
order by owner

-- page
--   text, number, number, number
select sequence, identifier, max_tries, priority, reference, external_id, headers as headers, input,
descent, reason, output, t.attempt as attempt, t.tries as tries, t.state as state, t.owner as owner, t.started as started,
created as created, completed as completed, due as due, deadline as deadline
from task t
where t.topic = :1 and t.sequence > :2 and t.sequence < :3
order by t.sequence
fetch first :4 rows only

-- page
--   text, number, number, number
select sequence, identifier, max_tries, priority, reference, external_id, headers as headers, input,
descent, reason, output, t.attempt as attempt, t.tries as tries, t.state as state, t.owner as owner, t.started as started,
created as created, completed as completed, due as due, deadline as deadline
from task t
where t.topic = :1 and t.sequence > :2 and t.sequence < :3
order by t.sequence desc
fetch first :4 rows only

-- page
--   text, number, number, number
select sequence, identifier, max_tries, priority, reference, external_id, headers as headers, input,
descent, reason, output, t.attempt as attempt, t.tries as tries, t.state as state, t.owner as owner, t.started as started,
created as created, completed as completed, due as due, deadline as deadline
from task t
where t.topic = :1 and t.sequence > :2 and t.sequence < :3 and 1 = 0
order by t.sequence
fetch first :4 rows only

-- page
--   text, number, number, number
select sequence, identifier, max_tries, priority, reference, external_id, headers as headers, input,
descent, reason, output, t.attempt as attempt, t.tries as tries, t.state as state, t.owner as owner, t.started as started,
created as created, completed as completed, due as due, deadline as deadline
from task t
where t.topic = :1 and t.sequence > :2 and t.sequence < :3 and 1 = 0
order by t.sequence desc
fetch first :4 rows only

-- page
--   text, number, number, text, text, number, number, number, number, number, number, number, number, number
select sequence, identifier, max_tries, priority, reference, external_id, headers as headers, input,
descent, reason, output, t.attempt as attempt, t.tries as tries, t.state as state, t.owner as owner, t.started as started,
created as created, completed as completed, due as due, deadline as deadline
from task t
where t.topic = :1 and t.sequence > :2 and t.sequence < :3 and case when t.state = 3 or t.state = 6 then 1 else 0 end > 0 and t.identifier = :4 and t.reference = :5 and t.reason = :6 and t.sequence >= :7 and t.sequence <= :8 and t.created >= :9 and t.created < :10 and t.completed >= :11 and t.completed < :12 and coalesce(t.completed, t.created) < :13
order by t.sequence
fetch first :14 rows only

-- page
--   text, number, number, text, text, number, number, number, number, number, number, number, number, number
select sequence, identifier, max_tries, priority, reference, external_id, headers as headers, input,
descent, reason, output, t.attempt as attempt, t.tries as tries, t.state as state, t.owner as owner, t.started as started,
created as created, completed as completed, due as due, deadline as deadline
from task t
where t.topic = :1 and t.sequence > :2 and t.sequence < :3 and case when t.state = 3 or t.state = 6 then 1 else 0 end > 0 and t.identifier = :4 and t.reference = :5 and t.reason = :6 and t.sequence >= :7 and t.sequence <= :8 and t.created >= :9 and t.created < :10 and t.completed >= :11 and t.completed < :12 and coalesce(t.completed, t.created) < :13
order by t.sequence desc
fetch first :14 rows only

-- peek
--   number, text, text, text, text, number, text, text, text, text
select p.topic as topic,
case when (select count(*) from task t where t.topic = p.topic and t.state = 1 and rownum <= :1) > 0 or p.stage is not null and exists (select 1 from task_turn n where n.topic = :2)
then 1 else 0 end as ready,
(select t.due
  from task t
  where t.topic = :3 and t.due is not null and t.state = 4
  order by t.topic, t.due
  fetch first 1 rows only) as due,
(select 1
  from task t
  where t.topic = :4 and t.due = 253402300799000
  fetch first 1 rows only) as blocked,
(select k.ms from task_clock k) as now
from task_topic p where p.topic = :5 union all
select p.topic as topic,
case when (select count(*) from task t where t.topic = p.topic and t.state = 1 and rownum <= :6) > 0 or p.stage is not null and exists (select 1 from task_turn n where n.topic = :7)
then 1 else 0 end as ready,
(select t.due
  from task t
  where t.topic = :8 and t.due is not null and t.state = 4
  order by t.topic, t.due
  fetch first 1 rows only) as due,
(select 1
  from task t
  where t.topic = :9 and t.due = 253402300799000
  fetch first 1 rows only) as blocked,
(select k.ms from task_clock k) as now
from task_topic p where p.topic = :10

-- peek
--   number, text, text, text, number, text, number, text, text, text, number, text
select p.topic as topic,
case when (select count(*) from task t where t.topic = p.topic and t.state = 1 and rownum <= :1) > 0 or p.stage is not null and exists (select 1 from task_turn n where n.topic = :2)
then 1 else 0 end as ready,
(select t.due
  from task t
  where t.topic = :3 and t.due is not null and t.state = 4
  order by t.topic, t.due
  fetch first 1 rows only) as due,
(select 1
  from task t
  where t.topic = :4 and t.due = 253402300799000
  fetch first 1 rows only) as blocked,
:5 as now
from task_topic p where p.topic = :6 union all
select p.topic as topic,
case when (select count(*) from task t where t.topic = p.topic and t.state = 1 and rownum <= :7) > 0 or p.stage is not null and exists (select 1 from task_turn n where n.topic = :8)
then 1 else 0 end as ready,
(select t.due
  from task t
  where t.topic = :9 and t.due is not null and t.state = 4
  order by t.topic, t.due
  fetch first 1 rows only) as due,
(select 1
  from task t
  where t.topic = :10 and t.due = 253402300799000
  fetch first 1 rows only) as blocked,
:11 as now
from task_topic p where p.topic = :12

-- poll; so many rows are fetched as are wanted
--   text, text, number, number, text
select /*+ first_rows(100) */ t.sequence
from task t
where t.topic = :1 and t.state = 1 and exists (select 1
  from task_topic p
  where p.topic = :2
  and p.ordering = :3
  and p.condition = :4)
and exists (select 1 from task_owner o where o.owner = :5)
order by t.sequence
for update skip locked

-- poll
--   JSON, text, text, number, number, text
select sequence, identifier, attempt, tries, input,
case when priority <> 0 or max_tries is not null or reference is not null or external_id is not null
or headers is not null or deadline is not null
then json_array(priority, max_tries, reference, external_id, headers, deadline,
  case when deadline <= (select k.ms from task_clock k) then 1 end null on null returning clob) end as extras from
(select /*+ leading(w t) use_nl(t) index(t) */ t.*
  from json_table(:1, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w, task t
  where t.topic = :2 and t.sequence = w.wanted) t
where 1 = 1 and t.state = 1 and exists (select 1
  from task_topic p
  where p.topic = :3
  and p.ordering = :4
  and p.condition = :5)
and exists (select 1 from task_owner o where o.owner = :6) order by t.sequence

-- poll
--   text, text, JSON
update /*+ leading(w@keys t) use_nl(t) index(t) */ task t set
state = 0,
reason = null,
owner = :1,
attempt = t.attempt + 1,
tries = t.tries + 1,
started = (select k.ms from task_clock k) where t.topic = :2 and t.sequence in (select /*+ unnest qb_name(keys) */ w.wanted from json_table(:3, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w)

-- poll
--   text, text
select p.ordering, p.condition, (select 1 from task_owner o where o.owner = :1) as registered, 0 as extent
from task_topic p
where p.topic = :2

-- poll
--   JSON, text, text
merge /*+ leading(w) use_nl(t) index(t) */ into task t
using (select w.* from json_table(:1, '$[*]' error on error columns (nth for ordinality, wanted number path '$[0]' error on error, given_attempt number path '$[1]' error on error)) w) w
on (t.topic = :2 and t.sequence = w.wanted)
when matched then
update set
state = 5,
listed = 0,
reason = 0,
completed = (select k.ms from task_clock k),
stage = case when t.stage <= 4 then 4 when t.stage <= 7 then 7 else t.stage end
where t.state = 0 and t.owner = :3 and t.attempt = w.given_attempt

-- poll
--   text, number
select ora_hash(c.identifier, 1023) as lane, to_char(min(c.place)) as nearest
from (
  select n.turn, n.identifier, n.turn as place
  from task_turn n
  where n.topic = :1
  order by n.turn
  fetch first :2 rows only) c
group by ora_hash(c.identifier, 1023)
order by min(c.place)

-- poll; so many rows are fetched as are wanted
--   text, number, number, text, number, text, text, number
select /*+ index(l) */ l.lane
from task_lane l
where l.topic = :1 and l.lane between :2 and :3 and substr(:4, (l.lane - :5) * 3 + 1, 3) <> :6
order by substr(:7, (l.lane - :8) * 3 + 1, 3)
for update skip locked

-- poll
--   text, number, text
select c.turn, c.identifier from (
  select n.turn, n.identifier, n.turn as place
  from task_turn n
  where n.topic = :1
  order by n.turn
  fetch first :2 rows only) c where substr(:3, ora_hash(c.identifier, 1023) + 1, 1) + 0 = 1

-- poll
--   text, JSON, text
select r.identifier,
(select t.sequence
  from task t
  where t.topic = :1 and t.identifier = r.identifier and t.stage = 1
  order by t.sequence
  fetch first 1 rows only) as sequence
from json_table(:2, '$[*]' error on error columns (nth for ordinality, identifier varchar2(4000 byte) path '$[0]' error on error)) r
where (select 1 from task b where b.topic = :3 and b.identifier = r.identifier and b.stage = 0 fetch first 1 rows only) is null

-- poll
--   text, JSON
select /*+ leading(w@keys t) use_nl(t) index(t) */ t.sequence
from task t
where t.topic = :1 and t.sequence in (select /*+ unnest qb_name(keys) */ w.wanted from json_table(:2, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w) and t.state = 1 and t.listed = 0
order by t.sequence
for update skip locked

-- poll
--   JSON, text
select t.sequence from
(select /*+ leading(w t) use_nl(t) index(t) */ t.*
  from json_table(:1, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w, task t
  where t.topic = :2 and t.sequence = w.wanted) t
where 1 = 1 and t.state = 1 and t.listed = 0 order by t.sequence

-- poll
--   text, JSON
update /*+ leading(w@keys t) use_nl(t) index(t) */ task t set listed = 1 where t.topic = :1 and t.sequence in (select /*+ unnest qb_name(keys) */ w.wanted from json_table(:2, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w)

-- poll
--   text, JSON
delete /*+ leading(w@keys t) use_nl(t) index(t) */ from task_turn t where t.topic = :1 and t.turn in (select /*+ unnest qb_name(keys) */ w.wanted from json_table(:2, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w)

-- poll
--   text, number
select ora_hash(c.identifier, 1023) as lane, to_char(min(c.place)) as nearest
from (
  select t.sequence, t.identifier, t.sequence as place
  from task t
  where t.topic = :1 and t.listed = 1 and t.state = 1
  order by t.sequence
  fetch first :2 rows only) c
group by ora_hash(c.identifier, 1023)
order by min(c.place)

-- poll
--   text, text, text, number, text, number
select c.sequence, coalesce((select 1 from task b where b.topic = :1 and b.identifier = c.identifier and b.stage = 0 fetch first 1 rows only), (select 1 from task b where b.topic = :2 and b.identifier = c.identifier and b.stage = 1 and b.sequence < c.sequence fetch first 1 rows only)) as blocked
from (select c.sequence, c.identifier, c.place
  from (
    select t.sequence, t.identifier, t.sequence as place
    from task t
    where t.topic = :3 and t.listed = 1 and t.state = 1
    order by t.sequence
    fetch first :4 rows only) c
  where substr(:5, ora_hash(c.identifier, 1023) + 1, 1) + 0 = 1 and 1 = 1
  order by c.place
  fetch first :6 rows only) c
order by c.place

-- poll
--   text, text, JSON
update /*+ leading(w@keys t) use_nl(t) index(t) */ task t set state = 0, reason = null, owner = :1, attempt = t.attempt + 1, tries = t.tries + 1, started = (select k.ms from task_clock k), stage = 0 where t.topic = :2 and t.sequence in (select /*+ unnest qb_name(keys) */ w.wanted from json_table(:3, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w)

-- poll
--   JSON, text
select sequence, identifier, attempt, tries, input,
case when priority <> 0 or max_tries is not null or reference is not null or external_id is not null
or headers is not null or deadline is not null
then json_array(priority, max_tries, reference, external_id, headers, deadline,
  case when deadline <= (select k.ms from task_clock k) then 1 end null on null returning clob) end as extras from
(select /*+ leading(w t) use_nl(t) index(t) */ t.*
  from json_table(:1, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w, task t
  where t.topic = :2 and t.sequence = w.wanted) t
where 1 = 1

-- poll
--   text, JSON
select /*+ leading(w@keys t) use_nl(t) index(t) */ t.sequence
from task t
where t.topic = :1 and t.sequence in (select /*+ unnest qb_name(keys) */ w.wanted from json_table(:2, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w) and t.state = 1 and t.listed = 1
order by t.sequence
for update skip locked

-- poll
--   JSON, text
select t.sequence from
(select /*+ leading(w t) use_nl(t) index(t) */ t.*
  from json_table(:1, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w, task t
  where t.topic = :2 and t.sequence = w.wanted) t
where 1 = 1 and t.state = 1 and t.listed = 1 order by t.sequence

-- poll
--   text, JSON
update /*+ leading(w@keys t) use_nl(t) index(t) */ task t set listed = 0 where t.topic = :1 and t.sequence in (select /*+ unnest qb_name(keys) */ w.wanted from json_table(:2, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w)

-- poll
--   text
select 1 as found
from task t
where t.topic = :1 and t.listed = 1 and t.state = 1
order by t.sequence
fetch first 1 rows only

-- poll
--   JSON, text
select t.identifier
from
(select /*+ leading(w t) use_nl(t) index(t) */ t.*
  from json_table(:1, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w, task t
  where t.topic = :2 and t.sequence = w.wanted) t
where 1 = 1 and t.state = 1 and t.listed = 0

-- poll
--   text, text, text, text, number, text, number
select c.sequence, coalesce((select 1 from task b where b.topic = :1 and b.identifier = c.identifier and b.stage = 0 fetch first 1 rows only), (select 1 from task b where b.topic = :2 and b.identifier = c.identifier and b.stage = 1 and b.sequence < c.sequence fetch first 1 rows only), (select 1 from task b where b.topic = :3 and b.identifier = c.identifier and b.stage = 2 and b.sequence < c.sequence fetch first 1 rows only)) as blocked
from (select c.sequence, c.identifier, c.place
  from (
    select t.sequence, t.identifier, t.sequence as place
    from task t
    where t.topic = :4 and t.listed = 1 and t.state = 1
    order by t.sequence
    fetch first :5 rows only) c
  where substr(:6, ora_hash(c.identifier, 1023) + 1, 1) + 0 = 1 and 1 = 1
  order by c.place
  fetch first :7 rows only) c
order by c.place

-- poll
--   text, text, text, text, text, number, text, number
select c.sequence, coalesce((select 1 from task b where b.topic = :1 and b.identifier = c.identifier and b.stage = 0 fetch first 1 rows only), (select 1 from task b where b.topic = :2 and b.identifier = c.identifier and b.stage = 1 and b.sequence < c.sequence fetch first 1 rows only), (select 1 from task b where b.topic = :3 and b.identifier = c.identifier and b.stage = 2 and b.sequence < c.sequence fetch first 1 rows only), (select 1 from task b where b.topic = :4 and b.identifier = c.identifier and b.stage = 3 and b.sequence < c.sequence fetch first 1 rows only)) as blocked
from (select c.sequence, c.identifier, c.place
  from (
    select t.sequence, t.identifier, t.sequence as place
    from task t
    where t.topic = :5 and t.listed = 1 and t.state = 1
    order by t.sequence
    fetch first :6 rows only) c
  where substr(:7, ora_hash(c.identifier, 1023) + 1, 1) + 0 = 1 and 1 = 1
  order by c.place
  fetch first :8 rows only) c
order by c.place

-- poll; so many rows are fetched as are wanted
--   text, number, number, text, number, number, text
select /*+ first_rows(100) */ t.sequence
from task t
where t.topic = :1 and t.sequence > :2 and t.sequence < :3 and t.listed = 1 and t.state = 1 and exists (select 1
  from task_topic p
  where p.topic = :4
  and p.ordering = :5
  and p.condition = :6)
and exists (select 1 from task_owner o where o.owner = :7)
order by t.sequence desc
for update skip locked

-- poll
--   JSON, text, text, number, number, text
select t.sequence from
(select /*+ leading(w t) use_nl(t) index(t) */ t.*
  from json_table(:1, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w, task t
  where t.topic = :2 and t.sequence = w.wanted) t
where 1 = 1 and t.listed = 1 and t.state = 1 and exists (select 1
  from task_topic p
  where p.topic = :3
  and p.ordering = :4
  and p.condition = :5)
and exists (select 1 from task_owner o where o.owner = :6) order by t.sequence desc

-- poll
--   text, text, JSON
update /*+ leading(w@keys t) use_nl(t) index(t) */ task t set state = 0, reason = null, owner = :1, attempt = t.attempt + 1, tries = t.tries + 1, started = (select k.ms from task_clock k) where t.topic = :2 and t.sequence in (select /*+ unnest qb_name(keys) */ w.wanted from json_table(:3, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w)

-- poll
--   text, JSON, text
select r.identifier,
(select t.sequence
  from task t
  where t.topic = :1 and t.identifier = r.identifier and t.stage = 1
  order by t.sequence desc
  fetch first 1 rows only) as sequence
from json_table(:2, '$[*]' error on error columns (nth for ordinality, identifier varchar2(4000 byte) path '$[0]' error on error)) r
where (select 1 from task b where b.topic = :3 and b.identifier = r.identifier and b.stage = 0 fetch first 1 rows only) is null

-- poll
--   text, number
select ora_hash(c.identifier, 1023) as lane, to_char(min(c.place)) as nearest
from (
  select t.sequence, t.identifier, - t.sequence as place
  from task t
  where t.topic = :1 and t.listed = 1 and t.state = 1
  order by t.sequence desc
  fetch first :2 rows only) c
group by ora_hash(c.identifier, 1023)
order by min(c.place)

-- poll
--   text, text, text, number, text, number
select c.sequence, coalesce((select 1 from task b where b.topic = :1 and b.identifier = c.identifier and b.stage = 0 fetch first 1 rows only), (select 1 from task b where b.topic = :2 and b.identifier = c.identifier and b.stage = 1 and b.sequence > c.sequence fetch first 1 rows only)) as blocked
from (select c.sequence, c.identifier, c.place
  from (
    select t.sequence, t.identifier, - t.sequence as place
    from task t
    where t.topic = :3 and t.listed = 1 and t.state = 1
    order by t.sequence desc
    fetch first :4 rows only) c
  where substr(:5, ora_hash(c.identifier, 1023) + 1, 1) + 0 = 1 and 1 = 1
  order by c.place
  fetch first :6 rows only) c
order by c.place

-- poll
--   text
select 1 as found
from task t
where t.topic = :1 and t.listed = 1 and t.state = 1
order by t.sequence desc
fetch first 1 rows only

-- poll
--   text, text, text, text, number, text, number
select c.sequence, coalesce((select 1 from task b where b.topic = :1 and b.identifier = c.identifier and b.stage = 0 fetch first 1 rows only), (select 1 from task b where b.topic = :2 and b.identifier = c.identifier and b.stage = 1 and b.sequence > c.sequence fetch first 1 rows only), (select 1 from task b where b.topic = :3 and b.identifier = c.identifier and b.stage = 2 and b.sequence > c.sequence fetch first 1 rows only)) as blocked
from (select c.sequence, c.identifier, c.place
  from (
    select t.sequence, t.identifier, - t.sequence as place
    from task t
    where t.topic = :4 and t.listed = 1 and t.state = 1
    order by t.sequence desc
    fetch first :5 rows only) c
  where substr(:6, ora_hash(c.identifier, 1023) + 1, 1) + 0 = 1 and 1 = 1
  order by c.place
  fetch first :7 rows only) c
order by c.place

-- poll
--   text, text, text, text, text, number, text, number
select c.sequence, coalesce((select 1 from task b where b.topic = :1 and b.identifier = c.identifier and b.stage = 0 fetch first 1 rows only), (select 1 from task b where b.topic = :2 and b.identifier = c.identifier and b.stage = 1 and b.sequence > c.sequence fetch first 1 rows only), (select 1 from task b where b.topic = :3 and b.identifier = c.identifier and b.stage = 2 and b.sequence > c.sequence fetch first 1 rows only), (select 1 from task b where b.topic = :4 and b.identifier = c.identifier and b.stage = 3 and b.sequence > c.sequence fetch first 1 rows only)) as blocked
from (select c.sequence, c.identifier, c.place
  from (
    select t.sequence, t.identifier, - t.sequence as place
    from task t
    where t.topic = :5 and t.listed = 1 and t.state = 1
    order by t.sequence desc
    fetch first :6 rows only) c
  where substr(:7, ora_hash(c.identifier, 1023) + 1, 1) + 0 = 1 and 1 = 1
  order by c.place
  fetch first :8 rows only) c
order by c.place

-- poll; so many rows are fetched as are wanted
--   text, number, number, text, number, number, text
select /*+ first_rows(100) */ t.sequence
from task t
where t.topic = :1 and t.sequence > :2 and t.sequence < :3 and t.listed = 1 and t.state = 1 and t.ranked = 1 and exists (select 1
  from task_topic p
  where p.topic = :4
  and p.ordering = :5
  and p.condition = :6)
and exists (select 1 from task_owner o where o.owner = :7)
order by t.urgency, t.sequence
for update skip locked

-- poll
--   JSON, text, text, number, number, text
select t.sequence from
(select /*+ leading(w t) use_nl(t) index(t) */ t.*
  from json_table(:1, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w, task t
  where t.topic = :2 and t.sequence = w.wanted) t
where 1 = 1 and t.listed = 1 and t.state = 1 and t.ranked = 1 and exists (select 1
  from task_topic p
  where p.topic = :3
  and p.ordering = :4
  and p.condition = :5)
and exists (select 1 from task_owner o where o.owner = :6) order by t.urgency, t.sequence

-- poll
--   text, number
select ora_hash(c.identifier, 1023) as lane, to_char(min(c.place)) as nearest
from (
  select t.sequence, t.identifier, t.sequence - t.priority * 140737488355328 as place
  from task t
  where t.topic = :1 and t.listed = 1 and t.state = 1 and t.ranked = 1
  order by t.urgency, t.sequence
  fetch first :2 rows only) c
group by ora_hash(c.identifier, 1023)
order by min(c.place)

-- poll
--   text, text, text, number, text, number
select c.sequence, coalesce((select 1 from task b where b.topic = :1 and b.identifier = c.identifier and b.stage = 0 fetch first 1 rows only), (select 1 from task b where b.topic = :2 and b.identifier = c.identifier and b.stage = 1 and b.sequence < c.sequence fetch first 1 rows only)) as blocked
from (select c.sequence, c.identifier, c.place
  from (
    select t.sequence, t.identifier, t.sequence - t.priority * 140737488355328 as place
    from task t
    where t.topic = :3 and t.listed = 1 and t.state = 1 and t.ranked = 1
    order by t.urgency, t.sequence
    fetch first :4 rows only) c
  where substr(:5, ora_hash(c.identifier, 1023) + 1, 1) + 0 = 1 and 1 = 1
  order by c.place
  fetch first :6 rows only) c
order by c.place

-- poll
--   text
select 1 as found
from task t
where t.topic = :1 and t.listed = 1 and t.state = 1 and t.ranked = 1
order by t.urgency, t.sequence
fetch first 1 rows only

-- poll
--   text, text, text, text, number, text, number
select c.sequence, coalesce((select 1 from task b where b.topic = :1 and b.identifier = c.identifier and b.stage = 0 fetch first 1 rows only), (select 1 from task b where b.topic = :2 and b.identifier = c.identifier and b.stage = 1 and b.sequence < c.sequence fetch first 1 rows only), (select 1 from task b where b.topic = :3 and b.identifier = c.identifier and b.stage = 2 and b.sequence < c.sequence fetch first 1 rows only)) as blocked
from (select c.sequence, c.identifier, c.place
  from (
    select t.sequence, t.identifier, t.sequence - t.priority * 140737488355328 as place
    from task t
    where t.topic = :4 and t.listed = 1 and t.state = 1 and t.ranked = 1
    order by t.urgency, t.sequence
    fetch first :5 rows only) c
  where substr(:6, ora_hash(c.identifier, 1023) + 1, 1) + 0 = 1 and 1 = 1
  order by c.place
  fetch first :7 rows only) c
order by c.place

-- poll
--   text, text, text, text, text, number, text, number
select c.sequence, coalesce((select 1 from task b where b.topic = :1 and b.identifier = c.identifier and b.stage = 0 fetch first 1 rows only), (select 1 from task b where b.topic = :2 and b.identifier = c.identifier and b.stage = 1 and b.sequence < c.sequence fetch first 1 rows only), (select 1 from task b where b.topic = :3 and b.identifier = c.identifier and b.stage = 2 and b.sequence < c.sequence fetch first 1 rows only), (select 1 from task b where b.topic = :4 and b.identifier = c.identifier and b.stage = 3 and b.sequence < c.sequence fetch first 1 rows only)) as blocked
from (select c.sequence, c.identifier, c.place
  from (
    select t.sequence, t.identifier, t.sequence - t.priority * 140737488355328 as place
    from task t
    where t.topic = :5 and t.listed = 1 and t.state = 1 and t.ranked = 1
    order by t.urgency, t.sequence
    fetch first :6 rows only) c
  where substr(:7, ora_hash(c.identifier, 1023) + 1, 1) + 0 = 1 and 1 = 1
  order by c.place
  fetch first :8 rows only) c
order by c.place

-- poll
--   text, text, text, number, text, text, number
with g (identifier, step) as (
  select
  (select t.identifier
    from task t
    where t.topic = :1 and t.stage is not null
    order by t.identifier
    fetch first 1 rows only), 1
  from task_topic p
  where p.topic = :2
  union all
  select
  (select t.identifier
    from task t
    where t.topic = :3 and t.stage is not null and t.identifier > g.identifier
    order by t.identifier
    fetch first 1 rows only), g.step + 1
  from g
  where g.identifier is not null and g.step < :4)
select c.identifier, c.step, c.high, c.low
from (select g.identifier, g.step,
  (select t.sequence
    from task t
    where t.topic = :5 and t.identifier = g.identifier and t.stage = 5
    order by t.sequence
    fetch first 1 rows only) as high,
  (select t.sequence
    from task t
    where t.topic = :6 and t.identifier = g.identifier and t.stage = 6
    order by t.sequence
    fetch first 1 rows only) as low
  from g
  where g.identifier is not null) c
where c.high is not null or c.low is not null or c.step = :7
order by c.step

-- poll
--   text, text, number, number
select t.sequence
from task t
where t.topic = :1 and t.identifier = :2 and t.stage = 5 and t.sequence > :3
order by t.sequence
fetch first :4 rows only

-- poll
--   text, JSON, text, number, number, text
select /*+ leading(w@keys t) use_nl(t) index(t) */ t.sequence
from task t
where t.topic = :1 and t.sequence in (select /*+ unnest qb_name(keys) */ w.wanted from json_table(:2, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w) and t.state = 1 and exists (select 1
  from task_topic p
  where p.topic = :3
  and p.ordering = :4
  and p.condition = :5)
and exists (select 1 from task_owner o where o.owner = :6)
order by t.sequence
for update skip locked

-- poll
--   JSON, text, text, number, number, text
select t.sequence from
(select /*+ leading(w t) use_nl(t) index(t) */ t.*
  from json_table(:1, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w, task t
  where t.topic = :2 and t.sequence = w.wanted) t
where 1 = 1 and t.state = 1 and exists (select 1
  from task_topic p
  where p.topic = :3
  and p.ordering = :4
  and p.condition = :5)
and exists (select 1 from task_owner o where o.owner = :6) order by t.sequence

-- poll
--   text, text, JSON
update /*+ leading(w@keys t) use_nl(t) index(t) */ task t set state = 0, reason = null, owner = :1, attempt = t.attempt + 1, tries = t.tries + 1, started = (select k.ms from task_clock k), stage = 7 where t.topic = :2 and t.sequence in (select /*+ unnest qb_name(keys) */ w.wanted from json_table(:3, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w)

-- poll
--   text, text, text, text, number, text, text, number
with g (identifier, step) as (
  select
  (select t.identifier
    from task t
    where t.topic = :1 and t.stage is not null and t.identifier > :2
    order by t.identifier
    fetch first 1 rows only), 1
  from task_topic p
  where p.topic = :3
  union all
  select
  (select t.identifier
    from task t
    where t.topic = :4 and t.stage is not null and t.identifier > g.identifier
    order by t.identifier
    fetch first 1 rows only), g.step + 1
  from g
  where g.identifier is not null and g.step < :5)
select c.identifier, c.step, c.high, c.low
from (select g.identifier, g.step,
  (select t.sequence
    from task t
    where t.topic = :6 and t.identifier = g.identifier and t.stage = 5
    order by t.sequence
    fetch first 1 rows only) as high,
  (select t.sequence
    from task t
    where t.topic = :7 and t.identifier = g.identifier and t.stage = 6
    order by t.sequence
    fetch first 1 rows only) as low
  from g
  where g.identifier is not null) c
where c.high is not null or c.low is not null or c.step = :8
order by c.step

-- poll; so many rows are fetched as are wanted
--   text, JSON, text, number, number, text, JSON
select /*+ leading(w@keys t) use_nl(t) index(t) */ t.sequence
from task t
where t.topic = :1 and t.sequence in (select /*+ unnest qb_name(keys) */ w.wanted from json_table(:2, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w) and t.state = 1 and exists (select 1
  from task_topic p
  where p.topic = :3
  and p.ordering = :4
  and p.condition = :5)
and exists (select 1 from task_owner o where o.owner = :6)
order by (select w.nth from json_table(:7, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w where w.wanted = t.sequence)
for update skip locked

-- poll
--   text, text, text, text, text, number, text, text, number
select c.sequence, coalesce((select 1 from task b where b.topic = :1 and b.identifier = c.identifier and b.stage = 0 fetch first 1 rows only), (select 1 from task b where b.topic = :2 and b.identifier = c.identifier and b.stage = 1 and b.sequence < c.sequence fetch first 1 rows only), (select 1 from task b where b.topic = :3 and b.identifier = c.identifier and b.stage = 2 and b.sequence < c.sequence fetch first 1 rows only), (select 1 from task b where b.topic = :4 and b.identifier = c.identifier and b.stage = 3 and b.sequence < c.sequence fetch first 1 rows only)) as blocked
from (select c.sequence, c.identifier, c.place
  from (
    select t.sequence, t.identifier, t.sequence as place
    from task t
    where t.topic = :5 and t.listed = 1 and t.state = 1
    order by t.sequence
    fetch first :6 rows only) c
  where substr(:7, ora_hash(c.identifier, 1023) + 1, 1) + 0 = 1 and c.place <= to_number(:8)
  order by c.place
  fetch first :9 rows only) c
order by c.place

-- poll
--   number, JSON, text, text, number, number, text
select sequence, identifier, attempt, tries, input,
case when priority <> 0 or max_tries is not null or reference is not null or external_id is not null
or headers is not null or deadline is not null
then json_array(priority, max_tries, reference, external_id, headers, deadline,
  case when deadline <= :1 then 1 end null on null returning clob) end as extras from
(select /*+ leading(w t) use_nl(t) index(t) */ t.*
  from json_table(:2, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w, task t
  where t.topic = :3 and t.sequence = w.wanted) t
where 1 = 1 and t.state = 1 and exists (select 1
  from task_topic p
  where p.topic = :4
  and p.ordering = :5
  and p.condition = :6)
and exists (select 1 from task_owner o where o.owner = :7) order by t.sequence

-- poll
--   text, number, text, JSON
update /*+ leading(w@keys t) use_nl(t) index(t) */ task t set
state = 0,
reason = null,
owner = :1,
attempt = t.attempt + 1,
tries = t.tries + 1,
started = :2 where t.topic = :3 and t.sequence in (select /*+ unnest qb_name(keys) */ w.wanted from json_table(:4, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w)

-- poll
--   text, number, text, JSON
update /*+ leading(w@keys t) use_nl(t) index(t) */ task t set state = 0, reason = null, owner = :1, attempt = t.attempt + 1, tries = t.tries + 1, started = :2, stage = 0 where t.topic = :3 and t.sequence in (select /*+ unnest qb_name(keys) */ w.wanted from json_table(:4, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w)

-- poll
--   number, JSON, text
select sequence, identifier, attempt, tries, input,
case when priority <> 0 or max_tries is not null or reference is not null or external_id is not null
or headers is not null or deadline is not null
then json_array(priority, max_tries, reference, external_id, headers, deadline,
  case when deadline <= :1 then 1 end null on null returning clob) end as extras from
(select /*+ leading(w t) use_nl(t) index(t) */ t.*
  from json_table(:2, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w, task t
  where t.topic = :3 and t.sequence = w.wanted) t
where 1 = 1

-- poll
--   text, number, text, JSON
update /*+ leading(w@keys t) use_nl(t) index(t) */ task t set state = 0, reason = null, owner = :1, attempt = t.attempt + 1, tries = t.tries + 1, started = :2 where t.topic = :3 and t.sequence in (select /*+ unnest qb_name(keys) */ w.wanted from json_table(:4, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w)

-- poll
--   text, number, text, JSON
update /*+ leading(w@keys t) use_nl(t) index(t) */ task t set state = 0, reason = null, owner = :1, attempt = t.attempt + 1, tries = t.tries + 1, started = :2, stage = 7 where t.topic = :3 and t.sequence in (select /*+ unnest qb_name(keys) */ w.wanted from json_table(:4, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w)

-- promoteDue, settle
--   text, JSON
update /*+ leading(w@keys t) use_nl(t) index(t) */ task t set state = 1, listed = 1, due = null, completed = null, stage = case when t.stage <= 4 then 1 when t.stage <= 7 then case when t.priority < 0 then 6 else 5 end else t.stage end where t.topic = :1 and t.sequence in (select /*+ unnest qb_name(keys) */ w.wanted from json_table(:2, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w)

-- promoteDue
--   text, text, text
select (select t.due
  from task t
  where t.topic = :1 and t.due is not null and t.state = 4
  order by t.topic, t.due
  fetch first 1 rows only) as due,
(select 1
  from task t
  where t.topic = :2 and t.due = 253402300799000
  fetch first 1 rows only) as blocked,
(select k.ms from task_clock k) as now
from task_topic p
where p.topic = :3

-- promoteDue; so many rows are fetched as are wanted
--   text
select /*+ first_rows(100) */ t.sequence
from task t
where t.topic = :1 and t.due <= (select k.ms from task_clock k) and t.state = 4
order by t.due
for update skip locked

-- promoteDue
--   JSON, text
select t.sequence from
(select /*+ leading(w t) use_nl(t) index(t) */ t.*
  from json_table(:1, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w, task t
  where t.topic = :2 and t.sequence = w.wanted) t
where 1 = 1 and t.due <= (select k.ms from task_clock k) and t.state = 4 order by t.due

-- promoteDue
--   text, text, number, text
select (select t.due
  from task t
  where t.topic = :1 and t.due is not null and t.state = 4
  order by t.topic, t.due
  fetch first 1 rows only) as due,
(select 1
  from task t
  where t.topic = :2 and t.due = 253402300799000
  fetch first 1 rows only) as blocked,
:3 as now
from task_topic p
where p.topic = :4

-- promoteDue; so many rows are fetched as are wanted
--   text, number
select /*+ first_rows(100) */ t.sequence
from task t
where t.topic = :1 and t.due <= :2 and t.state = 4
order by t.due
for update skip locked

-- promoteDue
--   JSON, text, number
select t.sequence from
(select /*+ leading(w t) use_nl(t) index(t) */ t.*
  from json_table(:1, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w, task t
  where t.topic = :2 and t.sequence = w.wanted) t
where 1 = 1 and t.due <= :3 and t.state = 4 order by t.due

-- promoteDue
--   text, text, text
select (select t.due
  from tasks.task t
  where t.topic = :1 and t.due is not null and t.state = 4
  order by t.topic, t.due
  fetch first 1 rows only) as due,
(select 1
  from tasks.task t
  where t.topic = :2 and t.due = 253402300799000
  fetch first 1 rows only) as blocked,
(select k.ms from tasks.task_clock k) as now
from tasks.task_topic p
where p.topic = :3

-- promoteDue; so many rows are fetched as are wanted
--   text
select /*+ first_rows(100) */ t.sequence
from tasks.task t
where t.topic = :1 and t.due <= (select k.ms from tasks.task_clock k) and t.state = 4
order by t.due
for update skip locked

-- promoteDue
--   JSON, text
select t.sequence from
(select /*+ leading(w t) use_nl(t) index(t) */ t.*
  from json_table(:1, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w, tasks.task t
  where t.topic = :2 and t.sequence = w.wanted) t
where 1 = 1 and t.due <= (select k.ms from tasks.task_clock k) and t.state = 4 order by t.due

-- promoteDue
--   text, JSON
update /*+ leading(w@keys t) use_nl(t) index(t) */ tasks.task t set state = 1, listed = 1, due = null, completed = null, stage = case when t.stage <= 4 then 1 when t.stage <= 7 then case when t.priority < 0 then 6 else 5 end else t.stage end where t.topic = :1 and t.sequence in (select /*+ unnest qb_name(keys) */ w.wanted from json_table(:2, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w)

-- purge, push, recreate
--   JSON, text
select identifier, stage from
(select /*+ leading(w t) use_nl(t) index(t) */ t.*
  from json_table(:1, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w, task t
  where t.topic = :2 and t.sequence = w.wanted) t
where 1 = 1

-- purge, push, reassign, recreate, redrive
--   text, JSON
delete /*+ leading(w@keys t) use_nl(t) index(t) */ from task_result t where t.topic = :1 and t.sequence in (select /*+ unnest qb_name(keys) */ w.wanted from json_table(:2, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w)

-- purge, push
--   text, JSON
delete /*+ leading(w@keys t) use_nl(t) index(t) */ from task_attempt t where t.topic = :1 and t.sequence in (select /*+ unnest qb_name(keys) */ w.wanted from json_table(:2, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w)

-- purge, push
--   text, JSON
delete /*+ leading(w@keys t) use_nl(t) index(t) */ from task t where t.topic = :1 and t.sequence in (select /*+ unnest qb_name(keys) */ w.wanted from json_table(:2, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w)

-- purge; so many rows are fetched as are wanted
--   text, number, number
select /*+ first_rows(100) */ t.sequence
from task t
where t.topic = :1 and t.sequence > :2 and t.sequence < :3 and 1 = 1 and case when t.state = 3 or (t.state = 4 and t.due is null) or t.state = 5 or t.state = 6 or t.state = 7 or t.state = 8 then 1 else 0 end > 0 and not exists (select 1
  from task_dependency d
  join task k on k.topic = d.topic and k.sequence = d.sequence
  where d.parent_topic = t.topic and d.parent = t.sequence
  and k.state in (0, 1, 2, 4))
order by t.sequence
for update skip locked

-- purge
--   JSON, text
select t.sequence from
(select /*+ leading(w t) use_nl(t) index(t) */ t.*
  from json_table(:1, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w, task t
  where t.topic = :2 and t.sequence = w.wanted) t
where 1 = 1 and 1 = 1 and case when t.state = 3 or (t.state = 4 and t.due is null) or t.state = 5 or t.state = 6 or t.state = 7 or t.state = 8 then 1 else 0 end > 0 and not exists (select 1
  from task_dependency d
  join task k on k.topic = d.topic and k.sequence = d.sequence
  where d.parent_topic = t.topic and d.parent = t.sequence
  and k.state in (0, 1, 2, 4)) order by t.sequence

-- purge; so many rows are fetched as are wanted
--   text, number, number, number
select /*+ first_rows(100) */ t.sequence
from task t
where t.topic = :1 and t.sequence > :2 and t.sequence < :3 and 1 = 1 and case when t.state = 3 or (t.state = 4 and t.due is null) or t.state = 5 or t.state = 6 or t.state = 7 or t.state = 8 then 1 else 0 end > 0 and coalesce(t.completed, t.created) <= ((select k.ms from task_clock k) + :4) and not exists (select 1
  from task_dependency d
  join task k on k.topic = d.topic and k.sequence = d.sequence
  where d.parent_topic = t.topic and d.parent = t.sequence
  and k.state in (0, 1, 2, 4))
order by t.sequence
for update skip locked

-- purge
--   JSON, text, number
select t.sequence from
(select /*+ leading(w t) use_nl(t) index(t) */ t.*
  from json_table(:1, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w, task t
  where t.topic = :2 and t.sequence = w.wanted) t
where 1 = 1 and 1 = 1 and case when t.state = 3 or (t.state = 4 and t.due is null) or t.state = 5 or t.state = 6 or t.state = 7 or t.state = 8 then 1 else 0 end > 0 and coalesce(t.completed, t.created) <= ((select k.ms from task_clock k) + :3) and not exists (select 1
  from task_dependency d
  join task k on k.topic = d.topic and k.sequence = d.sequence
  where d.parent_topic = t.topic and d.parent = t.sequence
  and k.state in (0, 1, 2, 4)) order by t.sequence

-- purge; so many rows are fetched as are wanted
--   text, number, number
select /*+ first_rows(100) */ t.sequence
from task t
where t.topic = :1 and t.sequence > :2 and t.sequence < :3 and 1 = 1 and 1 = 0 and not exists (select 1
  from task_dependency d
  join task k on k.topic = d.topic and k.sequence = d.sequence
  where d.parent_topic = t.topic and d.parent = t.sequence
  and k.state in (0, 1, 2, 4))
order by t.sequence
for update skip locked

-- purge
--   JSON, text
select t.sequence from
(select /*+ leading(w t) use_nl(t) index(t) */ t.*
  from json_table(:1, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w, task t
  where t.topic = :2 and t.sequence = w.wanted) t
where 1 = 1 and 1 = 1 and 1 = 0 and not exists (select 1
  from task_dependency d
  join task k on k.topic = d.topic and k.sequence = d.sequence
  where d.parent_topic = t.topic and d.parent = t.sequence
  and k.state in (0, 1, 2, 4)) order by t.sequence

-- purge; so many rows are fetched as are wanted
--   text, number, number, number
select /*+ first_rows(100) */ t.sequence
from task t
where t.topic = :1 and t.sequence > :2 and t.sequence < :3 and 1 = 1 and 1 = 0 and coalesce(t.completed, t.created) <= ((select k.ms from task_clock k) + :4) and not exists (select 1
  from task_dependency d
  join task k on k.topic = d.topic and k.sequence = d.sequence
  where d.parent_topic = t.topic and d.parent = t.sequence
  and k.state in (0, 1, 2, 4))
order by t.sequence
for update skip locked

-- purge
--   JSON, text, number
select t.sequence from
(select /*+ leading(w t) use_nl(t) index(t) */ t.*
  from json_table(:1, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w, task t
  where t.topic = :2 and t.sequence = w.wanted) t
where 1 = 1 and 1 = 1 and 1 = 0 and coalesce(t.completed, t.created) <= ((select k.ms from task_clock k) + :3) and not exists (select 1
  from task_dependency d
  join task k on k.topic = d.topic and k.sequence = d.sequence
  where d.parent_topic = t.topic and d.parent = t.sequence
  and k.state in (0, 1, 2, 4)) order by t.sequence

-- purge; so many rows are fetched as are wanted
--   text, number, number, text, text, number, number, number, number, number, number, number, number
select /*+ first_rows(100) */ t.sequence
from task t
where t.topic = :1 and t.sequence > :2 and t.sequence < :3 and 1 = 1 and case when t.state = 3 or t.state = 6 then 1 else 0 end > 0 and t.identifier = :4 and t.reference = :5 and t.reason = :6 and t.sequence >= :7 and t.sequence <= :8 and t.created >= :9 and t.created < :10 and t.completed >= :11 and t.completed < :12 and coalesce(t.completed, t.created) < :13 and not exists (select 1
  from task_dependency d
  join task k on k.topic = d.topic and k.sequence = d.sequence
  where d.parent_topic = t.topic and d.parent = t.sequence
  and k.state in (0, 1, 2, 4))
order by t.sequence
for update skip locked

-- purge
--   JSON, text, text, text, number, number, number, number, number, number, number, number
select t.sequence from
(select /*+ leading(w t) use_nl(t) index(t) */ t.*
  from json_table(:1, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w, task t
  where t.topic = :2 and t.sequence = w.wanted) t
where 1 = 1 and 1 = 1 and case when t.state = 3 or t.state = 6 then 1 else 0 end > 0 and t.identifier = :3 and t.reference = :4 and t.reason = :5 and t.sequence >= :6 and t.sequence <= :7 and t.created >= :8 and t.created < :9 and t.completed >= :10 and t.completed < :11 and coalesce(t.completed, t.created) < :12 and not exists (select 1
  from task_dependency d
  join task k on k.topic = d.topic and k.sequence = d.sequence
  where d.parent_topic = t.topic and d.parent = t.sequence
  and k.state in (0, 1, 2, 4)) order by t.sequence

-- purge; so many rows are fetched as are wanted
--   text, number, number, text, text, number, number, number, number, number, number, number, number, number
select /*+ first_rows(100) */ t.sequence
from task t
where t.topic = :1 and t.sequence > :2 and t.sequence < :3 and 1 = 1 and case when t.state = 3 or t.state = 6 then 1 else 0 end > 0 and t.identifier = :4 and t.reference = :5 and t.reason = :6 and t.sequence >= :7 and t.sequence <= :8 and t.created >= :9 and t.created < :10 and t.completed >= :11 and t.completed < :12 and coalesce(t.completed, t.created) < :13 and coalesce(t.completed, t.created) <= ((select k.ms from task_clock k) + :14) and not exists (select 1
  from task_dependency d
  join task k on k.topic = d.topic and k.sequence = d.sequence
  where d.parent_topic = t.topic and d.parent = t.sequence
  and k.state in (0, 1, 2, 4))
order by t.sequence
for update skip locked

-- purge
--   JSON, text, text, text, number, number, number, number, number, number, number, number, number
select t.sequence from
(select /*+ leading(w t) use_nl(t) index(t) */ t.*
  from json_table(:1, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w, task t
  where t.topic = :2 and t.sequence = w.wanted) t
where 1 = 1 and 1 = 1 and case when t.state = 3 or t.state = 6 then 1 else 0 end > 0 and t.identifier = :3 and t.reference = :4 and t.reason = :5 and t.sequence >= :6 and t.sequence <= :7 and t.created >= :8 and t.created < :9 and t.completed >= :10 and t.completed < :11 and coalesce(t.completed, t.created) < :12 and coalesce(t.completed, t.created) <= ((select k.ms from task_clock k) + :13) and not exists (select 1
  from task_dependency d
  join task k on k.topic = d.topic and k.sequence = d.sequence
  where d.parent_topic = t.topic and d.parent = t.sequence
  and k.state in (0, 1, 2, 4)) order by t.sequence

-- purge; so many rows are fetched as are wanted
--   text, number, number
select /*+ first_rows(100) */ t.sequence
from task t
where t.topic = :1 and t.sequence > :2 and t.sequence < :3 and 1 = 1 and case when t.state = 1 or t.state = 0 then 1 else 0 end > 0 and not exists (select 1
  from task_dependency d
  join task k on k.topic = d.topic and k.sequence = d.sequence
  where d.parent_topic = t.topic and d.parent = t.sequence
  and k.state in (0, 1, 2, 4))
order by t.sequence
for update skip locked

-- purge
--   JSON, text
select t.sequence from
(select /*+ leading(w t) use_nl(t) index(t) */ t.*
  from json_table(:1, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w, task t
  where t.topic = :2 and t.sequence = w.wanted) t
where 1 = 1 and 1 = 1 and case when t.state = 1 or t.state = 0 then 1 else 0 end > 0 and not exists (select 1
  from task_dependency d
  join task k on k.topic = d.topic and k.sequence = d.sequence
  where d.parent_topic = t.topic and d.parent = t.sequence
  and k.state in (0, 1, 2, 4)) order by t.sequence

-- purge
--   text, JSON
select /*+ leading(w@keys t) use_nl(t) index(t) */ t.sequence
from task t
where t.topic = :1 and t.sequence in (select /*+ unnest qb_name(keys) */ w.wanted from json_table(:2, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w) and 1 = 1 and case when t.state = 3 or (t.state = 4 and t.due is null) or t.state = 5 or t.state = 6 or t.state = 7 or t.state = 8 then 1 else 0 end > 0 and not exists (select 1
  from task_dependency d
  join task k on k.topic = d.topic and k.sequence = d.sequence
  where d.parent_topic = t.topic and d.parent = t.sequence
  and k.state in (0, 1, 2, 4))
order by t.sequence
for update skip locked

-- purge; so many rows are fetched as are wanted
--   text, number, number, number, number
select /*+ first_rows(100) */ t.sequence
from task t
where t.topic = :1 and t.sequence > :2 and t.sequence < :3 and 1 = 1 and case when t.state = 3 or (t.state = 4 and t.due is null) or t.state = 5 or t.state = 6 or t.state = 7 or t.state = 8 then 1 else 0 end > 0 and coalesce(t.completed, t.created) <= (:4 + :5) and not exists (select 1
  from task_dependency d
  join task k on k.topic = d.topic and k.sequence = d.sequence
  where d.parent_topic = t.topic and d.parent = t.sequence
  and k.state in (0, 1, 2, 4))
order by t.sequence
for update skip locked

-- purge
--   JSON, text, number, number
select t.sequence from
(select /*+ leading(w t) use_nl(t) index(t) */ t.*
  from json_table(:1, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w, task t
  where t.topic = :2 and t.sequence = w.wanted) t
where 1 = 1 and 1 = 1 and case when t.state = 3 or (t.state = 4 and t.due is null) or t.state = 5 or t.state = 6 or t.state = 7 or t.state = 8 then 1 else 0 end > 0 and coalesce(t.completed, t.created) <= (:3 + :4) and not exists (select 1
  from task_dependency d
  join task k on k.topic = d.topic and k.sequence = d.sequence
  where d.parent_topic = t.topic and d.parent = t.sequence
  and k.state in (0, 1, 2, 4)) order by t.sequence

-- purge; so many rows are fetched as are wanted
--   text, number, number, number, number
select /*+ first_rows(100) */ t.sequence
from task t
where t.topic = :1 and t.sequence > :2 and t.sequence < :3 and 1 = 1 and 1 = 0 and coalesce(t.completed, t.created) <= (:4 + :5) and not exists (select 1
  from task_dependency d
  join task k on k.topic = d.topic and k.sequence = d.sequence
  where d.parent_topic = t.topic and d.parent = t.sequence
  and k.state in (0, 1, 2, 4))
order by t.sequence
for update skip locked

-- purge
--   JSON, text, number, number
select t.sequence from
(select /*+ leading(w t) use_nl(t) index(t) */ t.*
  from json_table(:1, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w, task t
  where t.topic = :2 and t.sequence = w.wanted) t
where 1 = 1 and 1 = 1 and 1 = 0 and coalesce(t.completed, t.created) <= (:3 + :4) and not exists (select 1
  from task_dependency d
  join task k on k.topic = d.topic and k.sequence = d.sequence
  where d.parent_topic = t.topic and d.parent = t.sequence
  and k.state in (0, 1, 2, 4)) order by t.sequence

-- purge; so many rows are fetched as are wanted
--   text, number, number, text, text, number, number, number, number, number, number, number, number, number, number
select /*+ first_rows(100) */ t.sequence
from task t
where t.topic = :1 and t.sequence > :2 and t.sequence < :3 and 1 = 1 and case when t.state = 3 or t.state = 6 then 1 else 0 end > 0 and t.identifier = :4 and t.reference = :5 and t.reason = :6 and t.sequence >= :7 and t.sequence <= :8 and t.created >= :9 and t.created < :10 and t.completed >= :11 and t.completed < :12 and coalesce(t.completed, t.created) < :13 and coalesce(t.completed, t.created) <= (:14 + :15) and not exists (select 1
  from task_dependency d
  join task k on k.topic = d.topic and k.sequence = d.sequence
  where d.parent_topic = t.topic and d.parent = t.sequence
  and k.state in (0, 1, 2, 4))
order by t.sequence
for update skip locked

-- purge
--   JSON, text, text, text, number, number, number, number, number, number, number, number, number, number
select t.sequence from
(select /*+ leading(w t) use_nl(t) index(t) */ t.*
  from json_table(:1, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w, task t
  where t.topic = :2 and t.sequence = w.wanted) t
where 1 = 1 and 1 = 1 and case when t.state = 3 or t.state = 6 then 1 else 0 end > 0 and t.identifier = :3 and t.reference = :4 and t.reason = :5 and t.sequence >= :6 and t.sequence <= :7 and t.created >= :8 and t.created < :9 and t.completed >= :10 and t.completed < :11 and coalesce(t.completed, t.created) < :12 and coalesce(t.completed, t.created) <= (:13 + :14) and not exists (select 1
  from task_dependency d
  join task k on k.topic = d.topic and k.sequence = d.sequence
  where d.parent_topic = t.topic and d.parent = t.sequence
  and k.state in (0, 1, 2, 4)) order by t.sequence

-- purge; so many rows are fetched as are wanted
--   text, number, number
select /*+ first_rows(100) */ t.sequence
from tasks.task t
where t.topic = :1 and t.sequence > :2 and t.sequence < :3 and 1 = 1 and case when t.state = 3 or (t.state = 4 and t.due is null) or t.state = 5 or t.state = 6 or t.state = 7 or t.state = 8 then 1 else 0 end > 0 and not exists (select 1
  from tasks.task_dependency d
  join tasks.task k on k.topic = d.topic and k.sequence = d.sequence
  where d.parent_topic = t.topic and d.parent = t.sequence
  and k.state in (0, 1, 2, 4))
order by t.sequence
for update skip locked

-- purge
--   JSON, text
select t.sequence from
(select /*+ leading(w t) use_nl(t) index(t) */ t.*
  from json_table(:1, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w, tasks.task t
  where t.topic = :2 and t.sequence = w.wanted) t
where 1 = 1 and 1 = 1 and case when t.state = 3 or (t.state = 4 and t.due is null) or t.state = 5 or t.state = 6 or t.state = 7 or t.state = 8 then 1 else 0 end > 0 and not exists (select 1
  from tasks.task_dependency d
  join tasks.task k on k.topic = d.topic and k.sequence = d.sequence
  where d.parent_topic = t.topic and d.parent = t.sequence
  and k.state in (0, 1, 2, 4)) order by t.sequence

-- purge
--   text, JSON
delete /*+ leading(w@keys t) use_nl(t) index(t) */ from tasks.task_result t where t.topic = :1 and t.sequence in (select /*+ unnest qb_name(keys) */ w.wanted from json_table(:2, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w)

-- purge
--   text, JSON
delete /*+ leading(w@keys t) use_nl(t) index(t) */ from tasks.task_attempt t where t.topic = :1 and t.sequence in (select /*+ unnest qb_name(keys) */ w.wanted from json_table(:2, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w)

-- purge
--   text, JSON
delete /*+ leading(w@keys t) use_nl(t) index(t) */ from tasks.task_dependency t where t.topic = :1 and t.sequence in (select /*+ unnest qb_name(keys) */ w.wanted from json_table(:2, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w)

-- purge
--   JSON, text
select identifier, stage from
(select /*+ leading(w t) use_nl(t) index(t) */ t.*
  from json_table(:1, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w, tasks.task t
  where t.topic = :2 and t.sequence = w.wanted) t
where 1 = 1

-- purge
--   text, JSON
delete /*+ leading(w@keys t) use_nl(t) index(t) */ from tasks.task t where t.topic = :1 and t.sequence in (select /*+ unnest qb_name(keys) */ w.wanted from json_table(:2, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w)

-- purge
--   JSON, text
insert into tasks.task_turn (topic, identifier)
select p.topic, r.identifier
from tasks.task_topic p, json_table(:1, '$[*]' error on error columns (nth for ordinality, identifier varchar2(4000 byte) path '$[0]' error on error)) r
where p.topic = :2

-- purge; so many rows are fetched as are wanted
--   text, number, number, number
select /*+ first_rows(100) */ t.sequence
from tasks.task t
where t.topic = :1 and t.sequence > :2 and t.sequence < :3 and 1 = 1 and case when t.state = 3 or (t.state = 4 and t.due is null) or t.state = 5 or t.state = 6 or t.state = 7 or t.state = 8 then 1 else 0 end > 0 and coalesce(t.completed, t.created) <= ((select k.ms from tasks.task_clock k) + :4) and not exists (select 1
  from tasks.task_dependency d
  join tasks.task k on k.topic = d.topic and k.sequence = d.sequence
  where d.parent_topic = t.topic and d.parent = t.sequence
  and k.state in (0, 1, 2, 4))
order by t.sequence
for update skip locked

-- purge
--   JSON, text, number
select t.sequence from
(select /*+ leading(w t) use_nl(t) index(t) */ t.*
  from json_table(:1, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w, tasks.task t
  where t.topic = :2 and t.sequence = w.wanted) t
where 1 = 1 and 1 = 1 and case when t.state = 3 or (t.state = 4 and t.due is null) or t.state = 5 or t.state = 6 or t.state = 7 or t.state = 8 then 1 else 0 end > 0 and coalesce(t.completed, t.created) <= ((select k.ms from tasks.task_clock k) + :3) and not exists (select 1
  from tasks.task_dependency d
  join tasks.task k on k.topic = d.topic and k.sequence = d.sequence
  where d.parent_topic = t.topic and d.parent = t.sequence
  and k.state in (0, 1, 2, 4)) order by t.sequence

-- purge; so many rows are fetched as are wanted
--   text, number, number
select /*+ first_rows(100) */ t.sequence
from tasks.task t
where t.topic = :1 and t.sequence > :2 and t.sequence < :3 and 1 = 1 and 1 = 0 and not exists (select 1
  from tasks.task_dependency d
  join tasks.task k on k.topic = d.topic and k.sequence = d.sequence
  where d.parent_topic = t.topic and d.parent = t.sequence
  and k.state in (0, 1, 2, 4))
order by t.sequence
for update skip locked

-- purge
--   JSON, text
select t.sequence from
(select /*+ leading(w t) use_nl(t) index(t) */ t.*
  from json_table(:1, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w, tasks.task t
  where t.topic = :2 and t.sequence = w.wanted) t
where 1 = 1 and 1 = 1 and 1 = 0 and not exists (select 1
  from tasks.task_dependency d
  join tasks.task k on k.topic = d.topic and k.sequence = d.sequence
  where d.parent_topic = t.topic and d.parent = t.sequence
  and k.state in (0, 1, 2, 4)) order by t.sequence

-- purge; so many rows are fetched as are wanted
--   text, number, number, number
select /*+ first_rows(100) */ t.sequence
from tasks.task t
where t.topic = :1 and t.sequence > :2 and t.sequence < :3 and 1 = 1 and 1 = 0 and coalesce(t.completed, t.created) <= ((select k.ms from tasks.task_clock k) + :4) and not exists (select 1
  from tasks.task_dependency d
  join tasks.task k on k.topic = d.topic and k.sequence = d.sequence
  where d.parent_topic = t.topic and d.parent = t.sequence
  and k.state in (0, 1, 2, 4))
order by t.sequence
for update skip locked

-- purge
--   JSON, text, number
select t.sequence from
(select /*+ leading(w t) use_nl(t) index(t) */ t.*
  from json_table(:1, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w, tasks.task t
  where t.topic = :2 and t.sequence = w.wanted) t
where 1 = 1 and 1 = 1 and 1 = 0 and coalesce(t.completed, t.created) <= ((select k.ms from tasks.task_clock k) + :3) and not exists (select 1
  from tasks.task_dependency d
  join tasks.task k on k.topic = d.topic and k.sequence = d.sequence
  where d.parent_topic = t.topic and d.parent = t.sequence
  and k.state in (0, 1, 2, 4)) order by t.sequence

-- purge; so many rows are fetched as are wanted
--   text, number, number, text, text, number, number, number, number, number, number, number, number
select /*+ first_rows(100) */ t.sequence
from tasks.task t
where t.topic = :1 and t.sequence > :2 and t.sequence < :3 and 1 = 1 and case when t.state = 3 or t.state = 6 then 1 else 0 end > 0 and t.identifier = :4 and t.reference = :5 and t.reason = :6 and t.sequence >= :7 and t.sequence <= :8 and t.created >= :9 and t.created < :10 and t.completed >= :11 and t.completed < :12 and coalesce(t.completed, t.created) < :13 and not exists (select 1
  from tasks.task_dependency d
  join tasks.task k on k.topic = d.topic and k.sequence = d.sequence
  where d.parent_topic = t.topic and d.parent = t.sequence
  and k.state in (0, 1, 2, 4))
order by t.sequence
for update skip locked

-- purge
--   JSON, text, text, text, number, number, number, number, number, number, number, number
select t.sequence from
(select /*+ leading(w t) use_nl(t) index(t) */ t.*
  from json_table(:1, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w, tasks.task t
  where t.topic = :2 and t.sequence = w.wanted) t
where 1 = 1 and 1 = 1 and case when t.state = 3 or t.state = 6 then 1 else 0 end > 0 and t.identifier = :3 and t.reference = :4 and t.reason = :5 and t.sequence >= :6 and t.sequence <= :7 and t.created >= :8 and t.created < :9 and t.completed >= :10 and t.completed < :11 and coalesce(t.completed, t.created) < :12 and not exists (select 1
  from tasks.task_dependency d
  join tasks.task k on k.topic = d.topic and k.sequence = d.sequence
  where d.parent_topic = t.topic and d.parent = t.sequence
  and k.state in (0, 1, 2, 4)) order by t.sequence

-- purge; so many rows are fetched as are wanted
--   text, number, number, text, text, number, number, number, number, number, number, number, number, number
select /*+ first_rows(100) */ t.sequence
from tasks.task t
where t.topic = :1 and t.sequence > :2 and t.sequence < :3 and 1 = 1 and case when t.state = 3 or t.state = 6 then 1 else 0 end > 0 and t.identifier = :4 and t.reference = :5 and t.reason = :6 and t.sequence >= :7 and t.sequence <= :8 and t.created >= :9 and t.created < :10 and t.completed >= :11 and t.completed < :12 and coalesce(t.completed, t.created) < :13 and coalesce(t.completed, t.created) <= ((select k.ms from tasks.task_clock k) + :14) and not exists (select 1
  from tasks.task_dependency d
  join tasks.task k on k.topic = d.topic and k.sequence = d.sequence
  where d.parent_topic = t.topic and d.parent = t.sequence
  and k.state in (0, 1, 2, 4))
order by t.sequence
for update skip locked

-- purge
--   JSON, text, text, text, number, number, number, number, number, number, number, number, number
select t.sequence from
(select /*+ leading(w t) use_nl(t) index(t) */ t.*
  from json_table(:1, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w, tasks.task t
  where t.topic = :2 and t.sequence = w.wanted) t
where 1 = 1 and 1 = 1 and case when t.state = 3 or t.state = 6 then 1 else 0 end > 0 and t.identifier = :3 and t.reference = :4 and t.reason = :5 and t.sequence >= :6 and t.sequence <= :7 and t.created >= :8 and t.created < :9 and t.completed >= :10 and t.completed < :11 and coalesce(t.completed, t.created) < :12 and coalesce(t.completed, t.created) <= ((select k.ms from tasks.task_clock k) + :13) and not exists (select 1
  from tasks.task_dependency d
  join tasks.task k on k.topic = d.topic and k.sequence = d.sequence
  where d.parent_topic = t.topic and d.parent = t.sequence
  and k.state in (0, 1, 2, 4)) order by t.sequence

-- purge; so many rows are fetched as are wanted
--   text, number, number
select /*+ first_rows(100) */ t.sequence
from tasks.task t
where t.topic = :1 and t.sequence > :2 and t.sequence < :3 and 1 = 1 and case when t.state = 1 or t.state = 0 then 1 else 0 end > 0 and not exists (select 1
  from tasks.task_dependency d
  join tasks.task k on k.topic = d.topic and k.sequence = d.sequence
  where d.parent_topic = t.topic and d.parent = t.sequence
  and k.state in (0, 1, 2, 4))
order by t.sequence
for update skip locked

-- purge
--   JSON, text
select t.sequence from
(select /*+ leading(w t) use_nl(t) index(t) */ t.*
  from json_table(:1, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w, tasks.task t
  where t.topic = :2 and t.sequence = w.wanted) t
where 1 = 1 and 1 = 1 and case when t.state = 1 or t.state = 0 then 1 else 0 end > 0 and not exists (select 1
  from tasks.task_dependency d
  join tasks.task k on k.topic = d.topic and k.sequence = d.sequence
  where d.parent_topic = t.topic and d.parent = t.sequence
  and k.state in (0, 1, 2, 4)) order by t.sequence

-- purge
--   text, JSON
select /*+ leading(w@keys t) use_nl(t) index(t) */ t.sequence
from tasks.task t
where t.topic = :1 and t.sequence in (select /*+ unnest qb_name(keys) */ w.wanted from json_table(:2, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w) and 1 = 1 and case when t.state = 3 or (t.state = 4 and t.due is null) or t.state = 5 or t.state = 6 or t.state = 7 or t.state = 8 then 1 else 0 end > 0 and not exists (select 1
  from tasks.task_dependency d
  join tasks.task k on k.topic = d.topic and k.sequence = d.sequence
  where d.parent_topic = t.topic and d.parent = t.sequence
  and k.state in (0, 1, 2, 4))
order by t.sequence
for update skip locked

-- purgeActions
--   number, number
select t.made as made
from task_audit t
where t.made <= ((select k.ms from task_clock k) + :1)
order by t.made
fetch first :2 rows only

-- purgeActions
--   number
delete from task_audit where made < :1

-- purgeActions
--   number, number, number
select t.made as made
from task_audit t
where t.made <= (:1 + :2)
order by t.made
fetch first :3 rows only

-- purgeAll
--   text
select count(*) as count from task where topic = :1

-- purgeAttempts
--   number
select p.topic from task_topic p where
(select t.ended
  from task_attempt t
  where t.topic = p.topic
  order by t.ended
  fetch first 1 rows only) <= ((select k.ms from task_clock k) + :1) order by p.topic

-- purgeAttempts
--   text, number, text, number
select t.sequence, t.ended as ended
from task_attempt t
where t.topic = :1 and t.ended <= ((select k.ms from task_clock k) + :2)
and coalesce((select k.state from task k where k.topic = :3 and k.sequence = t.sequence), 6) not in (2, 3, 4)
order by t.ended
fetch first :4 rows only

-- purgeAttempts
--   text, JSON, number
delete /*+ leading(w@keys t) use_nl(t) index(t) */ from task_attempt t where t.topic = :1 and t.sequence in (select /*+ unnest qb_name(keys) */ w.wanted from json_table(:2, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w) and t.ended < :3

-- purgeAttempts
--   number, number
select p.topic from task_topic p where
(select t.ended
  from task_attempt t
  where t.topic = p.topic
  order by t.ended
  fetch first 1 rows only) <= (:1 + :2) order by p.topic

-- purgeAttempts
--   text, number, number, text, number
select t.sequence, t.ended as ended
from task_attempt t
where t.topic = :1 and t.ended <= (:2 + :3)
and coalesce((select k.state from task k where k.topic = :4 and k.sequence = t.sequence), 6) not in (2, 3, 4)
order by t.ended
fetch first :5 rows only

-- purgeOwners, register, unregister
--   text
delete from task_owner where owner = :1

-- purgeOwners
--   text, number, number
select o.owner
from task_node o
where o.owner <> :1 and o.seen < ((select k.ms from task_clock k) + :2)
fetch first :3 rows only

-- purgeOwners
--   text, number
select o.owner from task_node o where o.owner = :1 and o.seen < ((select k.ms from task_clock k) + :2) for update skip locked

-- purgeOwners
--   text
delete from task_node where owner = :1

-- purgeOwners
--   text, number, number
select o.owner
from task_owner o
where o.owner <> :1 and o.heartbeat < ((select k.ms from task_clock k) + :2)
fetch first :3 rows only

-- purgeOwners
--   text, number
select o.owner from task_owner o where o.owner = :1 and o.heartbeat < ((select k.ms from task_clock k) + :2) for update skip locked

-- purgeOwners
--   text, number, number, number
select o.owner
from task_node o
where o.owner <> :1 and o.seen < (:2 + :3)
fetch first :4 rows only

-- purgeOwners
--   text, number, number
select o.owner from task_node o where o.owner = :1 and o.seen < (:2 + :3) for update skip locked

-- purgeOwners
--   text, number, number, number
select o.owner
from task_owner o
where o.owner <> :1 and o.heartbeat < (:2 + :3)
fetch first :4 rows only

-- purgeOwners
--   text, number, number
select o.owner from task_owner o where o.owner = :1 and o.heartbeat < (:2 + :3) for update skip locked

-- push, verb
--   JSON, JSON, text
insert into task (sequence, topic, identifier, input, created, listed, ranked, stage)
with n as (select w.nth, w.wanted from json_table(:1, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w)
select n.wanted, p.topic, r.identifier, r.input, (select k.ms from task_clock k), p.listing, p.ranking, p.stage
from n, task_topic p, json_table(:2, '$[*]' error on error columns (nth for ordinality, identifier varchar2(4000 byte) path '$[0]' error on error, input varchar2(4000 byte) path '$[1]' error on error)) r
where p.topic = :3 and n.nth = r.nth

-- push, recreate
--   text, JSON, number
select /*+ first_rows(100) */ t.sequence
from task t
where t.topic = :1 and t.stage is not null and t.identifier in (select w.wanted from json_table(:2, '$[*]' error on error columns (wanted varchar2(4000 byte) path '$' error on error)) w) and t.sequence + 0 < :3 and (t.state = 1 or (t.state = 4 and t.due < 253402300799000) or (t.state = 4 and t.due = 253402300799000))
order by t.sequence
for update skip locked

-- push, recreate
--   JSON, text, JSON, number
select t.sequence from
(select /*+ leading(w t) use_nl(t) index(t) */ t.*
  from json_table(:1, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w, task t
  where t.topic = :2 and t.sequence = w.wanted) t
where 1 = 1 and t.stage is not null and t.identifier in (select w.wanted from json_table(:3, '$[*]' error on error columns (wanted varchar2(4000 byte) path '$' error on error)) w) and t.sequence + 0 < :4 and (t.state = 1 or (t.state = 4 and t.due < 253402300799000) or (t.state = 4 and t.due = 253402300799000)) order by t.sequence

-- push, recreate
--   text, JSON
update /*+ leading(w@keys t) use_nl(t) index(t) */ task t set
descent = case when t.state > t.descent then t.state else t.descent end,
state = 8,
listed = 0,
due = null,
stage = case when t.stage <= 4 then 4 when t.stage <= 7 then 7 else t.stage end where t.topic = :1 and t.sequence in (select /*+ unnest qb_name(keys) */ w.wanted from json_table(:2, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w)

-- push, recreate
--   text, JSON, number
select /*+ first_rows(100) */ t.sequence
from task t
where t.topic = :1 and t.stage is not null and t.identifier in (select w.wanted from json_table(:2, '$[*]' error on error columns (wanted varchar2(4000 byte) path '$' error on error)) w) and t.sequence + 0 < :3 and t.state between 1 and 6
order by t.sequence
for update skip locked

-- push, recreate
--   JSON, text, JSON, number
select t.sequence from
(select /*+ leading(w t) use_nl(t) index(t) */ t.*
  from json_table(:1, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w, task t
  where t.topic = :2 and t.sequence = w.wanted) t
where 1 = 1 and t.stage is not null and t.identifier in (select w.wanted from json_table(:3, '$[*]' error on error columns (wanted varchar2(4000 byte) path '$' error on error)) w) and t.sequence + 0 < :4 and t.state between 1 and 6 order by t.sequence

-- push
--   text, JSON, number
select /*+ first_rows(100) */ t.sequence
from task t
where t.topic = :1 and t.stage is not null and t.identifier in (select w.wanted from json_table(:2, '$[*]' error on error columns (wanted varchar2(4000 byte) path '$' error on error)) w) and t.sequence + 0 < :3 and t.state between 1 and 8
order by t.sequence
for update skip locked

-- push
--   JSON, text, JSON, number
select t.sequence from
(select /*+ leading(w t) use_nl(t) index(t) */ t.*
  from json_table(:1, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w, task t
  where t.topic = :2 and t.sequence = w.wanted) t
where 1 = 1 and t.stage is not null and t.identifier in (select w.wanted from json_table(:3, '$[*]' error on error columns (wanted varchar2(4000 byte) path '$' error on error)) w) and t.sequence + 0 < :4 and t.state between 1 and 8 order by t.sequence

-- push
--   JSON, JSON, text
insert into task (sequence, topic, identifier, input, created, listed, ranked, stage)
with n as (select w.nth, w.wanted from json_table(:1, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w)
select n.wanted, p.topic, r.identifier, r.input, (select k.ms from task_clock k), case when p.listing = 1 and (p.condition = 0 or r.head in (case when p.ordering = 1 then 2 else 1 end, 3)) then 1 else 0 end, p.ranking, p.stage
from n, task_topic p, json_table(:2, '$[*]' error on error columns (nth for ordinality, identifier varchar2(4000 byte) path '$[0]' error on error, input varchar2(4000 byte) path '$[1]' error on error, head number path '$[2]' error on error)) r
where p.topic = :3 and n.nth = r.nth

-- push
--   JSON, JSON, text
insert /*+ ignore_row_on_dupkey_index(task, task_external_id) */ into task (sequence, topic, identifier, input, created, reference, external_id, headers, priority, max_tries, state, descent,
  due, deadline, listed, ranked, stage)
with n as (select w.nth, w.wanted from json_table(:1, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w)
select n.wanted,
p.topic, r.identifier, r.input, (select k.ms from task_clock k), r.reference, r.external_id, r.headers,
r.priority, r.max_tries, r.state, r.descent, case when r.due is not null then r.due
when r.delay is not null then ((select k.ms from task_clock k) + r.delay) end, case when r.deadline is not null then r.deadline
when r.deadline_delay is not null then ((select k.ms from task_clock k) + r.deadline_delay) end,
case when r.state = 1 then case when p.listing = 1 and (p.condition = 0 or r.head in (case when p.ordering = 1 then 2 else 1 end, 3)) then 1 else 0 end else 0 end, p.ranking,
case when p.stage = 1 then r.stage
when p.stage = 5 then case when r.state = 1 then case when r.priority < 0 then 6 else 5 end else 7 end
else p.stage end
from n, task_topic p, json_table(:2, '$[*]' error on error columns (nth for ordinality, identifier varchar2(4000 byte) path '$[0]' error on error, input varchar2(4000 byte) path '$[1]' error on error, reference varchar2(4000 byte) path '$[2]' error on error, external_id varchar2(4000 byte) path '$[3]' error on error, headers varchar2(4000 byte) path '$[4]' error on error, priority number path '$[5]' error on error, max_tries number path '$[6]' error on error, state number path '$[7]' error on error, descent number path '$[8]' error on error, stage number path '$[9]' error on error, deadline number path '$[10]' error on error, deadline_delay number path '$[11]' error on error, due number path '$[12]' error on error, delay number path '$[13]' error on error, head number path '$[14]' error on error)) r
where p.topic = :3 and n.nth = r.nth

-- push
--   JSON, JSON in a CLOB, text
insert into task (sequence, topic, identifier, input, created, listed, ranked, stage)
with n as (select w.nth, w.wanted from json_table(:1, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w)
select n.wanted, p.topic, r.identifier, r.input, (select k.ms from task_clock k), p.listing, p.ranking, p.stage
from n, task_topic p, json_table(:2, '$[*]' error on error columns (nth for ordinality, identifier varchar2(4000 byte) path '$[0]' error on error, input clob path '$[1]' error on error)) r
where p.topic = :3 and n.nth = r.nth

-- push
--   JSON, JSON in a CLOB, text
insert /*+ ignore_row_on_dupkey_index(task, task_external_id) */ into task (sequence, topic, identifier, input, created, reference, external_id, headers, priority, max_tries, state, descent,
  due, deadline, listed, ranked, stage)
with n as (select w.nth, w.wanted from json_table(:1, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w)
select n.wanted,
p.topic, r.identifier, r.input, (select k.ms from task_clock k), r.reference, r.external_id, r.headers,
r.priority, r.max_tries, r.state, r.descent, case when r.due is not null then r.due
when r.delay is not null then ((select k.ms from task_clock k) + r.delay) end, case when r.deadline is not null then r.deadline
when r.deadline_delay is not null then ((select k.ms from task_clock k) + r.deadline_delay) end,
case when r.state = 1 then case when p.listing = 1 and (p.condition = 0 or r.head in (case when p.ordering = 1 then 2 else 1 end, 3)) then 1 else 0 end else 0 end, p.ranking,
case when p.stage = 1 then r.stage
when p.stage = 5 then case when r.state = 1 then case when r.priority < 0 then 6 else 5 end else 7 end
else p.stage end
from n, task_topic p, json_table(:2, '$[*]' error on error columns (nth for ordinality, identifier varchar2(4000 byte) path '$[0]' error on error, input clob path '$[1]' error on error, reference varchar2(4000 byte) path '$[2]' error on error, external_id varchar2(4000 byte) path '$[3]' error on error, headers clob path '$[4]' error on error, priority number path '$[5]' error on error, max_tries number path '$[6]' error on error, state number path '$[7]' error on error, descent number path '$[8]' error on error, stage number path '$[9]' error on error, deadline number path '$[10]' error on error, deadline_delay number path '$[11]' error on error, due number path '$[12]' error on error, delay number path '$[13]' error on error, head number path '$[14]' error on error)) r
where p.topic = :3 and n.nth = r.nth

-- push
--   JSON, JSON in a CLOB, text
insert /*+ ignore_row_on_dupkey_index(task, task_external_id) */ into task (sequence, topic, identifier, input, created, reference, external_id, headers, priority, max_tries, state, descent,
  due, deadline, listed, ranked, stage)
with n as (select w.nth, w.wanted from json_table(:1, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w)
select n.wanted,
p.topic, r.identifier, r.input, (select k.ms from task_clock k), r.reference, r.external_id, r.headers,
r.priority, r.max_tries, r.state, r.descent, case when r.due is not null then r.due
when r.delay is not null then ((select k.ms from task_clock k) + r.delay) end, case when r.deadline is not null then r.deadline
when r.deadline_delay is not null then ((select k.ms from task_clock k) + r.deadline_delay) end,
case when r.state = 1 then p.listing else 0 end, p.ranking,
case when p.stage = 1 then r.stage
when p.stage = 5 then case when r.state = 1 then case when r.priority < 0 then 6 else 5 end else 7 end
else p.stage end
from n, task_topic p, json_table(:2, '$[*]' error on error columns (nth for ordinality, identifier varchar2(4000 byte) path '$[0]' error on error, input clob path '$[1]' error on error, reference varchar2(4000 byte) path '$[2]' error on error, external_id varchar2(4000 byte) path '$[3]' error on error, headers clob path '$[4]' error on error, priority number path '$[5]' error on error, max_tries number path '$[6]' error on error, state number path '$[7]' error on error, descent number path '$[8]' error on error, stage number path '$[9]' error on error, deadline number path '$[10]' error on error, deadline_delay number path '$[11]' error on error, due number path '$[12]' error on error, delay number path '$[13]' error on error)) r
where p.topic = :3 and n.nth = r.nth

-- push
--   JSON, text
select t.sequence, t.external_id from
(select /*+ leading(w t) use_nl(t) index(t) */ t.*
  from json_table(:1, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w, task t
  where t.topic = :2 and t.sequence = w.wanted) t
where 1 = 1

-- push
--   JSON, text
select t.sequence, t.identifier, t.external_id
from
json_table(:1, '$[*]' error on error columns (nth for ordinality, external_id varchar2(4000 byte) path '$[0]' error on error)) r
join task t on t.external_id = r.external_id
where t.topic = :2 and t.external_id is not null

-- push, verb
--   JSON, number, JSON, text
insert into task (sequence, topic, identifier, input, created, listed, ranked, stage)
with n as (select w.nth, w.wanted from json_table(:1, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w)
select n.wanted, p.topic, r.identifier, r.input, :2, p.listing, p.ranking, p.stage
from n, task_topic p, json_table(:3, '$[*]' error on error columns (nth for ordinality, identifier varchar2(4000 byte) path '$[0]' error on error, input varchar2(4000 byte) path '$[1]' error on error)) r
where p.topic = :4 and n.nth = r.nth

-- push
--   JSON, number, JSON, text
insert into task (sequence, topic, identifier, input, created, listed, ranked, stage)
with n as (select w.nth, w.wanted from json_table(:1, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w)
select n.wanted, p.topic, r.identifier, r.input, :2, case when p.listing = 1 and (p.condition = 0 or r.head in (case when p.ordering = 1 then 2 else 1 end, 3)) then 1 else 0 end, p.ranking, p.stage
from n, task_topic p, json_table(:3, '$[*]' error on error columns (nth for ordinality, identifier varchar2(4000 byte) path '$[0]' error on error, input varchar2(4000 byte) path '$[1]' error on error, head number path '$[2]' error on error)) r
where p.topic = :4 and n.nth = r.nth

-- push
--   JSON, number, number, number, JSON, text
insert /*+ ignore_row_on_dupkey_index(task, task_external_id) */ into task (sequence, topic, identifier, input, created, reference, external_id, headers, priority, max_tries, state, descent,
  due, deadline, listed, ranked, stage)
with n as (select w.nth, w.wanted from json_table(:1, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w)
select n.wanted,
p.topic, r.identifier, r.input, :2, r.reference, r.external_id, r.headers,
r.priority, r.max_tries, r.state, r.descent, case when r.due is not null then r.due
when r.delay is not null then (:3 + r.delay) end, case when r.deadline is not null then r.deadline
when r.deadline_delay is not null then (:4 + r.deadline_delay) end,
case when r.state = 1 then case when p.listing = 1 and (p.condition = 0 or r.head in (case when p.ordering = 1 then 2 else 1 end, 3)) then 1 else 0 end else 0 end, p.ranking,
case when p.stage = 1 then r.stage
when p.stage = 5 then case when r.state = 1 then case when r.priority < 0 then 6 else 5 end else 7 end
else p.stage end
from n, task_topic p, json_table(:5, '$[*]' error on error columns (nth for ordinality, identifier varchar2(4000 byte) path '$[0]' error on error, input varchar2(4000 byte) path '$[1]' error on error, reference varchar2(4000 byte) path '$[2]' error on error, external_id varchar2(4000 byte) path '$[3]' error on error, headers varchar2(4000 byte) path '$[4]' error on error, priority number path '$[5]' error on error, max_tries number path '$[6]' error on error, state number path '$[7]' error on error, descent number path '$[8]' error on error, stage number path '$[9]' error on error, deadline number path '$[10]' error on error, deadline_delay number path '$[11]' error on error, due number path '$[12]' error on error, delay number path '$[13]' error on error, head number path '$[14]' error on error)) r
where p.topic = :6 and n.nth = r.nth

-- push
--   JSON, number, JSON in a CLOB, text
insert into task (sequence, topic, identifier, input, created, listed, ranked, stage)
with n as (select w.nth, w.wanted from json_table(:1, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w)
select n.wanted, p.topic, r.identifier, r.input, :2, p.listing, p.ranking, p.stage
from n, task_topic p, json_table(:3, '$[*]' error on error columns (nth for ordinality, identifier varchar2(4000 byte) path '$[0]' error on error, input clob path '$[1]' error on error)) r
where p.topic = :4 and n.nth = r.nth

-- push
--   JSON, number, number, number, JSON in a CLOB, text
insert /*+ ignore_row_on_dupkey_index(task, task_external_id) */ into task (sequence, topic, identifier, input, created, reference, external_id, headers, priority, max_tries, state, descent,
  due, deadline, listed, ranked, stage)
with n as (select w.nth, w.wanted from json_table(:1, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w)
select n.wanted,
p.topic, r.identifier, r.input, :2, r.reference, r.external_id, r.headers,
r.priority, r.max_tries, r.state, r.descent, case when r.due is not null then r.due
when r.delay is not null then (:3 + r.delay) end, case when r.deadline is not null then r.deadline
when r.deadline_delay is not null then (:4 + r.deadline_delay) end,
case when r.state = 1 then case when p.listing = 1 and (p.condition = 0 or r.head in (case when p.ordering = 1 then 2 else 1 end, 3)) then 1 else 0 end else 0 end, p.ranking,
case when p.stage = 1 then r.stage
when p.stage = 5 then case when r.state = 1 then case when r.priority < 0 then 6 else 5 end else 7 end
else p.stage end
from n, task_topic p, json_table(:5, '$[*]' error on error columns (nth for ordinality, identifier varchar2(4000 byte) path '$[0]' error on error, input clob path '$[1]' error on error, reference varchar2(4000 byte) path '$[2]' error on error, external_id varchar2(4000 byte) path '$[3]' error on error, headers clob path '$[4]' error on error, priority number path '$[5]' error on error, max_tries number path '$[6]' error on error, state number path '$[7]' error on error, descent number path '$[8]' error on error, stage number path '$[9]' error on error, deadline number path '$[10]' error on error, deadline_delay number path '$[11]' error on error, due number path '$[12]' error on error, delay number path '$[13]' error on error, head number path '$[14]' error on error)) r
where p.topic = :6 and n.nth = r.nth

-- push
--   JSON, number, number, number, JSON in a CLOB, text
insert /*+ ignore_row_on_dupkey_index(task, task_external_id) */ into task (sequence, topic, identifier, input, created, reference, external_id, headers, priority, max_tries, state, descent,
  due, deadline, listed, ranked, stage)
with n as (select w.nth, w.wanted from json_table(:1, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w)
select n.wanted,
p.topic, r.identifier, r.input, :2, r.reference, r.external_id, r.headers,
r.priority, r.max_tries, r.state, r.descent, case when r.due is not null then r.due
when r.delay is not null then (:3 + r.delay) end, case when r.deadline is not null then r.deadline
when r.deadline_delay is not null then (:4 + r.deadline_delay) end,
case when r.state = 1 then p.listing else 0 end, p.ranking,
case when p.stage = 1 then r.stage
when p.stage = 5 then case when r.state = 1 then case when r.priority < 0 then 6 else 5 end else 7 end
else p.stage end
from n, task_topic p, json_table(:5, '$[*]' error on error columns (nth for ordinality, identifier varchar2(4000 byte) path '$[0]' error on error, input clob path '$[1]' error on error, reference varchar2(4000 byte) path '$[2]' error on error, external_id varchar2(4000 byte) path '$[3]' error on error, headers clob path '$[4]' error on error, priority number path '$[5]' error on error, max_tries number path '$[6]' error on error, state number path '$[7]' error on error, descent number path '$[8]' error on error, stage number path '$[9]' error on error, deadline number path '$[10]' error on error, deadline_delay number path '$[11]' error on error, due number path '$[12]' error on error, delay number path '$[13]' error on error)) r
where p.topic = :6 and n.nth = r.nth

-- quiet
--   text
select 1 as known from task_node where owner = :1

-- quiet
--   number, text, number
update task_node set quiet = :1 where owner = :2 and quiet <> :3

-- reassign, recreate
--   text, JSON
select /*+ leading(w@keys t) use_nl(t) index(t) */ t.sequence
from task t
where t.topic = :1 and t.sequence in (select /*+ unnest qb_name(keys) */ w.wanted from json_table(:2, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w) and t.state between 2 and 6 and (t.state <> 4 or t.due is null or t.due <> 253402300799000)
order by t.sequence
for update

-- reassign, recreate
--   JSON, text
select t.sequence, t.identifier, t.state, t.external_id from
(select /*+ leading(w t) use_nl(t) index(t) */ t.*
  from json_table(:1, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w, task t
  where t.topic = :2 and t.sequence = w.wanted) t
where 1 = 1 and t.state between 2 and 6 and (t.state <> 4 or t.due is null or t.due <> 253402300799000) order by t.sequence

-- reassign, reassignAll
--   number, text, JSON
update /*+ leading(w@keys t) use_nl(t) index(t) */ task t set
descent = case when t.state > t.descent then t.state else t.descent end,
state = :1,
due = null,
reason = null,
stage = case when t.stage <= 4 then 4 when t.stage <= 7 then 7 else t.stage end where t.topic = :2 and t.sequence in (select /*+ unnest qb_name(keys) */ w.wanted from json_table(:3, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w)

-- reassignAll
--   text, number, number
select /*+ first_rows(100) */ t.sequence
from task t
where t.topic = :1 and t.state = 3 and t.sequence between :2 and :3
order by t.sequence
for update

-- reassignAll
--   JSON, text, number, number
select t.sequence from
(select /*+ leading(w t) use_nl(t) index(t) */ t.*
  from json_table(:1, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w, task t
  where t.topic = :2 and t.sequence = w.wanted) t
where 1 = 1 and t.state = 3 and t.sequence between :3 and :4 order by t.sequence

-- reclaim
--   text, JSON, text
select /*+ leading(w@keys t) use_nl(t) index(t) */ t.sequence
from task t
where t.topic = :1 and t.sequence in (select /*+ unnest qb_name(keys) */ w.wanted from json_table(:2, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w) and t.state = 0 and t.owner = :3
order by t.sequence
for update skip locked

-- reclaim
--   JSON, text, text
select t.sequence from
(select /*+ leading(w t) use_nl(t) index(t) */ t.*
  from json_table(:1, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w, task t
  where t.topic = :2 and t.sequence = w.wanted) t
where 1 = 1 and t.state = 0 and t.owner = :3 order by t.sequence

-- reclaim
--   text, JSON
update /*+ leading(w@keys t) use_nl(t) index(t) */ task t set state = 1, listed = 1, owner = null, started = null, tries = t.tries - 1, stage = case when t.stage <= 4 then 1 when t.stage <= 7 then case when t.priority < 0 then 6 else 5 end else t.stage end where t.topic = :1 and t.sequence in (select /*+ unnest qb_name(keys) */ w.wanted from json_table(:2, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w)

-- record
--   text, text, null, null, null, null, number, null, null, null, text
--   text, text, text, null, null, null, number, null, null, null, null
insert /*+ ignore_row_on_dupkey_index(task_audit (id)) */
into task_audit (id, made, action, topic, actor, via, note, amount, filter, sequences, former, undoes)
values (:1, (select k.ms from task_clock k), :2, :3, :4, :5, :6, :7, :8, :9, :10, :11)

-- record
--   text
delete from task_audit where id = :1

-- record
--   text, number, text, null, null, null, null, number, null, null, null, text
--   text, number, text, text, null, null, null, number, null, null, null, null
insert /*+ ignore_row_on_dupkey_index(task_audit (id)) */
into task_audit (id, made, action, topic, actor, via, note, amount, filter, sequences, former, undoes)
values (:1, :2, :3, :4, :5, :6, :7, :8, :9, :10, :11, :12)

-- recreate, redrive
--   text, JSON
update /*+ leading(w@keys t) use_nl(t) index(t) */ task t set
state = 1,
listed = 1,
tries = 0,
owner = null,
reason = null,
output = null,
started = null,
completed = null,
due = null,
deadline = null,
stage = case when t.stage <= 4 then 1 when t.stage <= 7 then case when t.priority < 0 then 6 else 5 end else t.stage end where t.topic = :1 and t.sequence in (select /*+ unnest qb_name(keys) */ w.wanted from json_table(:2, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w)

-- recreate, redrive
--   text, JSON
select distinct d.sequence
from task_dependency d
where d.topic = :1 and d.sequence in (select w.wanted from json_table(:2, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w)

-- recreate, redrive
--   text, JSON
update /*+ leading(w@keys t) use_nl(t) index(t) */ task t set state = 4, listed = 0, due = 253402300799000, stage = case when t.stage <= 4 then 1 when t.stage <= 7 then 7 else t.stage end where t.topic = :1 and t.sequence in (select /*+ unnest qb_name(keys) */ w.wanted from json_table(:2, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w)

-- recreate, redrive; so many rows are fetched as are wanted
--   text, number, number, text, text, number, number, number, number, number, number, number, number
select /*+ first_rows(100) */ t.sequence
from task t
where t.topic = :1 and t.sequence > :2 and t.sequence < :3 and 1 = 1 and case when t.state = 3 then 1 else 0 end > 0 and t.identifier = :4 and t.reference = :5 and t.reason = :6 and t.sequence >= :7 and t.sequence <= :8 and t.created >= :9 and t.created < :10 and t.completed >= :11 and t.completed < :12 and coalesce(t.completed, t.created) < :13
order by t.sequence
for update skip locked

-- recreate
--   JSON, text, text, text, number, number, number, number, number, number, number, number
select t.sequence, t.identifier, t.state, t.external_id from
(select /*+ leading(w t) use_nl(t) index(t) */ t.*
  from json_table(:1, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w, task t
  where t.topic = :2 and t.sequence = w.wanted) t
where 1 = 1 and 1 = 1 and case when t.state = 3 then 1 else 0 end > 0 and t.identifier = :3 and t.reference = :4 and t.reason = :5 and t.sequence >= :6 and t.sequence <= :7 and t.created >= :8 and t.created < :9 and t.completed >= :10 and t.completed < :11 and coalesce(t.completed, t.created) < :12 order by t.sequence

-- recreate
--   text, JSON
update /*+ leading(w@keys t) use_nl(t) index(t) */ task t set descent = t.state, state = 7, due = null, external_id = null, stage = case when t.stage <= 4 then 4 when t.stage <= 7 then 7 else t.stage end where t.topic = :1 and t.sequence in (select /*+ unnest qb_name(keys) */ w.wanted from json_table(:2, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w)

-- recreate
--   JSON, JSON, text, text, JSON
insert into task (sequence, topic, identifier, input, reference, headers, priority, max_tries, external_id, created, state, listed, ranked, stage)
with n as (select w.nth, w.wanted from json_table(:1, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w)
select n.wanted, p.topic, t.identifier, t.input, t.reference, t.headers, t.priority, t.max_tries, r.old_external_id,
(select k.ms from task_clock k), r.new_state, case when r.new_state = 1 then p.listing else 0 end, p.ranking,
case when p.stage = 1 then case when r.new_state = 8 then 4 else p.stage end
when p.stage = 5 then case when r.new_state = 8 then 7 else case when t.priority < 0 then 6 else 5 end end
else p.stage end
from n, task_topic p, json_table(:2, '$[*]' error on error columns (nth for ordinality, old_sequence number path '$[0]' error on error, old_external_id varchar2(4000 byte) path '$[1]' error on error, new_state number path '$[2]' error on error)) r, task t
where p.topic = :3 and n.nth = r.nth and t.topic = :4 and t.sequence = r.old_sequence and t.sequence in (select w.wanted from json_table(:5, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w)

-- recreate
--   text, JSON
select distinct d.sequence from task_dependency d where d.topic = :1 and d.sequence in (select w.wanted from json_table(:2, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w)

-- recreate
--   number, text, number
insert into task_dependency (topic, sequence, place, need, parent_topic, parent, tolerant)
select d.topic, :1, d.place, d.need, d.parent_topic, d.parent, d.tolerant
from task_dependency d
where d.topic = :2 and d.sequence = :3

-- recreate
--   number, text, number
update task_dependency set parent = :1 where parent_topic = :2 and parent = :3

-- recreate
--   JSON, number, JSON, text, text, JSON
insert into task (sequence, topic, identifier, input, reference, headers, priority, max_tries, external_id, created, state, listed, ranked, stage)
with n as (select w.nth, w.wanted from json_table(:1, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w)
select n.wanted, p.topic, t.identifier, t.input, t.reference, t.headers, t.priority, t.max_tries, r.old_external_id,
:2, r.new_state, case when r.new_state = 1 then p.listing else 0 end, p.ranking,
case when p.stage = 1 then case when r.new_state = 8 then 4 else p.stage end
when p.stage = 5 then case when r.new_state = 8 then 7 else case when t.priority < 0 then 6 else 5 end end
else p.stage end
from n, task_topic p, json_table(:3, '$[*]' error on error columns (nth for ordinality, old_sequence number path '$[0]' error on error, old_external_id varchar2(4000 byte) path '$[1]' error on error, new_state number path '$[2]' error on error)) r, task t
where p.topic = :4 and n.nth = r.nth and t.topic = :5 and t.sequence = r.old_sequence and t.sequence in (select w.wanted from json_table(:6, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w)

-- redrive
--   text, number, number, text, text, number, number, number, number, number, number, number, number, number
select t.sequence
from task t
where t.topic = :1 and t.sequence > :2 and t.sequence < :3 and case when t.state = 3 then 1 else 0 end > 0 and t.identifier = :4 and t.reference = :5 and t.reason = :6 and t.sequence >= :7 and t.sequence <= :8 and t.created >= :9 and t.created < :10 and t.completed >= :11 and t.completed < :12 and coalesce(t.completed, t.created) < :13
order by t.sequence
fetch first :14 rows only

-- redrive; so many rows are fetched as are wanted
--   text, number, number
select /*+ first_rows(100) */ t.sequence
from task t
where t.topic = :1 and t.sequence > :2 and t.sequence < :3 and 1 = 1 and case when t.state = 3 then 1 else 0 end > 0
order by t.sequence
for update skip locked

-- redrive
--   JSON, text
select t.sequence from
(select /*+ leading(w t) use_nl(t) index(t) */ t.*
  from json_table(:1, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w, task t
  where t.topic = :2 and t.sequence = w.wanted) t
where 1 = 1 and 1 = 1 and case when t.state = 3 then 1 else 0 end > 0 order by t.sequence

-- redrive
--   JSON, text, text, text, number, number, number, number, number, number, number, number
select t.sequence from
(select /*+ leading(w t) use_nl(t) index(t) */ t.*
  from json_table(:1, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w, task t
  where t.topic = :2 and t.sequence = w.wanted) t
where 1 = 1 and 1 = 1 and case when t.state = 3 then 1 else 0 end > 0 and t.identifier = :3 and t.reference = :4 and t.reason = :5 and t.sequence >= :6 and t.sequence <= :7 and t.created >= :8 and t.created < :9 and t.completed >= :10 and t.completed < :11 and coalesce(t.completed, t.created) < :12 order by t.sequence

-- redrive
--   text, text, text, number
select a.sequence
from task_attempt a
where a.topic = :1 and a.fingerprint = :2 and (select 1 from task t where t.topic = :3 and t.sequence = a.sequence and t.attempt = a.attempt and case when t.state = 3 then 1 else 0 end > 0) = 1
order by a.ended
fetch first :4 rows only

-- redrive
--   text, JSON
select /*+ leading(w@keys t) use_nl(t) index(t) */ t.sequence
from task t
where t.topic = :1 and t.sequence in (select /*+ unnest qb_name(keys) */ w.wanted from json_table(:2, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w) and 1 = 1 and case when t.state = 3 then 1 else 0 end > 0
order by t.sequence
for update skip locked

-- register
--   text, text
select o.owner from task_owner o where o.name = :1 and o.owner <> :2

-- register
--   text, text
insert /*+ ignore_row_on_dupkey_index(task_owner (owner)) */
into task_owner (owner, name, heartbeat)
values (:1, :2, (select k.ms from task_clock k))

-- register
--   text, text, number
insert /*+ ignore_row_on_dupkey_index(task_owner (owner)) */
into task_owner (owner, name, heartbeat)
values (:1, :2, :3)

-- repair
select p.topic, p.ordering, p.condition, p.stage
from task_topic p
order by p.topic

-- repair
--   text
select count(*) as count from task_lane l where l.topic = :1

-- repair
--   text, number, number, number
select t.sequence, case when t.state = 1 and t.listed = 0 and 1 = 0 then 1 else 0 end as unlisted
from task t
where t.topic = :1 and t.sequence > :2 and t.sequence < :3 and (
  t.stage is null or t.stage <> 9
  or t.ranked <> 0
  or t.state > 1 and t.listed = 1
  or t.state <> 4 and t.due is not null
  or t.state = 1 and t.listed = 0 and 1 = 0)
order by t.sequence
fetch first :4 rows only

-- repair
--   text, JSON
select /*+ leading(w@keys t) use_nl(t) index(t) */ t.sequence
from task t
where t.topic = :1 and t.sequence in (select /*+ unnest qb_name(keys) */ w.wanted from json_table(:2, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w) and (
  t.stage is null or t.stage <> 9
  or t.ranked <> 0
  or t.state > 1 and t.listed = 1
  or t.state <> 4 and t.due is not null
  or t.state = 1 and t.listed = 0 and 1 = 0)
order by t.sequence
for update skip locked

-- repair
--   JSON, text
select t.sequence from
(select /*+ leading(w t) use_nl(t) index(t) */ t.*
  from json_table(:1, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w, task t
  where t.topic = :2 and t.sequence = w.wanted) t
where 1 = 1 and (
  t.stage is null or t.stage <> 9
  or t.ranked <> 0
  or t.state > 1 and t.listed = 1
  or t.state <> 4 and t.due is not null
  or t.state = 1 and t.listed = 0 and 1 = 0) order by t.sequence

-- repair
--   text, JSON
update /*+ leading(w@keys t) use_nl(t) index(t) */ task t set
listed = case when t.state > 1 then 0 when t.state = 1 and t.listed = 0 and 1 = 0 then 1 else t.listed end,
ranked = 0,
stage = 9,
due = case when t.state = 4 then t.due end where t.topic = :1 and t.sequence in (select /*+ unnest qb_name(keys) */ w.wanted from json_table(:2, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w)

-- repair
select max(l.last) as last
from (select (select max(t.sequence) from task t where t.topic = p.topic) as last from task_topic p) l

-- repair
--   text, number, number, number
select t.sequence, case when t.state = 1 and t.listed = 0 and 1 = 0 then 1 else 0 end as unlisted
from task t
where t.topic = :1 and t.sequence > :2 and t.sequence < :3 and (
  t.stage is null or t.stage <> case when t.state = 4 and t.due is not null then 1 when t.state = 0 then 0 when t.state = 1 then 1 when t.state = 2 then 2 when t.state = 3 then 2 when t.state = 4 then 3 when t.state = 5 then 4 when t.state = 6 then 4 when t.state = 7 then 4 when t.state = 8 then 4 end
  or t.ranked <> 0
  or t.state > 1 and t.listed = 1
  or t.state <> 4 and t.due is not null
  or t.state = 1 and t.listed = 0 and 1 = 0)
order by t.sequence
fetch first :4 rows only

-- repair
--   text, JSON
select /*+ leading(w@keys t) use_nl(t) index(t) */ t.sequence
from task t
where t.topic = :1 and t.sequence in (select /*+ unnest qb_name(keys) */ w.wanted from json_table(:2, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w) and (
  t.stage is null or t.stage <> case when t.state = 4 and t.due is not null then 1 when t.state = 0 then 0 when t.state = 1 then 1 when t.state = 2 then 2 when t.state = 3 then 2 when t.state = 4 then 3 when t.state = 5 then 4 when t.state = 6 then 4 when t.state = 7 then 4 when t.state = 8 then 4 end
  or t.ranked <> 0
  or t.state > 1 and t.listed = 1
  or t.state <> 4 and t.due is not null
  or t.state = 1 and t.listed = 0 and 1 = 0)
order by t.sequence
for update skip locked

-- repair
--   JSON, text
select t.sequence from
(select /*+ leading(w t) use_nl(t) index(t) */ t.*
  from json_table(:1, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w, task t
  where t.topic = :2 and t.sequence = w.wanted) t
where 1 = 1 and (
  t.stage is null or t.stage <> case when t.state = 4 and t.due is not null then 1 when t.state = 0 then 0 when t.state = 1 then 1 when t.state = 2 then 2 when t.state = 3 then 2 when t.state = 4 then 3 when t.state = 5 then 4 when t.state = 6 then 4 when t.state = 7 then 4 when t.state = 8 then 4 end
  or t.ranked <> 0
  or t.state > 1 and t.listed = 1
  or t.state <> 4 and t.due is not null
  or t.state = 1 and t.listed = 0 and 1 = 0) order by t.sequence

-- repair
--   text, JSON
update /*+ leading(w@keys t) use_nl(t) index(t) */ task t set
listed = case when t.state > 1 then 0 when t.state = 1 and t.listed = 0 and 1 = 0 then 1 else t.listed end,
ranked = 0,
stage = case when t.state = 4 and t.due is not null then 1 when t.state = 0 then 0 when t.state = 1 then 1 when t.state = 2 then 2 when t.state = 3 then 2 when t.state = 4 then 3 when t.state = 5 then 4 when t.state = 6 then 4 when t.state = 7 then 4 when t.state = 8 then 4 end,
due = case when t.state = 4 then t.due end where t.topic = :1 and t.sequence in (select /*+ unnest qb_name(keys) */ w.wanted from json_table(:2, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w)

-- repair
--   text, number, number, text, text, text
select c.identifier, 0 as noted from (
  select c.identifier
  from (select t.sequence, t.identifier
    from task t
    where t.topic = :1 and t.sequence > :2 and t.sequence < :3 and t.state = 1 and t.listed = 0) c
  where coalesce((select 1 from task b where b.topic = :4 and b.identifier = c.identifier and b.stage = 0 fetch first 1 rows only), (select 1 from task b where b.topic = :5 and b.identifier = c.identifier and b.stage = 1 and b.sequence < c.sequence fetch first 1 rows only)) is null) c
union all
select n.identifier, 1 as noted from task_turn n where n.topic = :6

-- repair
--   text, number, number, text, text, text, text
select c.identifier, 0 as noted from (
  select c.identifier
  from (select t.sequence, t.identifier
    from task t
    where t.topic = :1 and t.sequence > :2 and t.sequence < :3 and t.state = 1 and t.listed = 0) c
  where coalesce((select 1 from task b where b.topic = :4 and b.identifier = c.identifier and b.stage = 0 fetch first 1 rows only), (select 1 from task b where b.topic = :5 and b.identifier = c.identifier and b.stage = 1 and b.sequence < c.sequence fetch first 1 rows only), (select 1 from task b where b.topic = :6 and b.identifier = c.identifier and b.stage = 2 and b.sequence < c.sequence fetch first 1 rows only)) is null) c
union all
select n.identifier, 1 as noted from task_turn n where n.topic = :7

-- repair
--   text, number, number, text, text, text, text, text
select c.identifier, 0 as noted from (
  select c.identifier
  from (select t.sequence, t.identifier
    from task t
    where t.topic = :1 and t.sequence > :2 and t.sequence < :3 and t.state = 1 and t.listed = 0) c
  where coalesce((select 1 from task b where b.topic = :4 and b.identifier = c.identifier and b.stage = 0 fetch first 1 rows only), (select 1 from task b where b.topic = :5 and b.identifier = c.identifier and b.stage = 1 and b.sequence < c.sequence fetch first 1 rows only), (select 1 from task b where b.topic = :6 and b.identifier = c.identifier and b.stage = 2 and b.sequence < c.sequence fetch first 1 rows only), (select 1 from task b where b.topic = :7 and b.identifier = c.identifier and b.stage = 3 and b.sequence < c.sequence fetch first 1 rows only)) is null) c
union all
select n.identifier, 1 as noted from task_turn n where n.topic = :8

-- repair
--   text, number, number, number
select t.sequence, case when t.state = 1 and t.listed = 0 and 1 = 1 then 1 else 0 end as unlisted
from task t
where t.topic = :1 and t.sequence > :2 and t.sequence < :3 and (
  t.stage is null or t.stage <> 9
  or t.ranked <> 0
  or t.state > 1 and t.listed = 1
  or t.state <> 4 and t.due is not null
  or t.state = 1 and t.listed = 0 and 1 = 1)
order by t.sequence
fetch first :4 rows only

-- repair
--   text, JSON
select /*+ leading(w@keys t) use_nl(t) index(t) */ t.sequence
from task t
where t.topic = :1 and t.sequence in (select /*+ unnest qb_name(keys) */ w.wanted from json_table(:2, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w) and (
  t.stage is null or t.stage <> 9
  or t.ranked <> 0
  or t.state > 1 and t.listed = 1
  or t.state <> 4 and t.due is not null
  or t.state = 1 and t.listed = 0 and 1 = 1)
order by t.sequence
for update skip locked

-- repair
--   JSON, text
select t.sequence from
(select /*+ leading(w t) use_nl(t) index(t) */ t.*
  from json_table(:1, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w, task t
  where t.topic = :2 and t.sequence = w.wanted) t
where 1 = 1 and (
  t.stage is null or t.stage <> 9
  or t.ranked <> 0
  or t.state > 1 and t.listed = 1
  or t.state <> 4 and t.due is not null
  or t.state = 1 and t.listed = 0 and 1 = 1) order by t.sequence

-- repair
--   text, JSON
update /*+ leading(w@keys t) use_nl(t) index(t) */ task t set
listed = case when t.state > 1 then 0 when t.state = 1 and t.listed = 0 and 1 = 1 then 1 else t.listed end,
ranked = 0,
stage = 9,
due = case when t.state = 4 then t.due end where t.topic = :1 and t.sequence in (select /*+ unnest qb_name(keys) */ w.wanted from json_table(:2, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w)

-- repair
--   text, number, number, text, text, text
select c.identifier, 0 as noted from (
  select c.identifier
  from (select t.sequence, t.identifier
    from task t
    where t.topic = :1 and t.sequence > :2 and t.sequence < :3 and t.state = 1 and t.listed = 0) c
  where coalesce((select 1 from task b where b.topic = :4 and b.identifier = c.identifier and b.stage = 0 fetch first 1 rows only), (select 1 from task b where b.topic = :5 and b.identifier = c.identifier and b.stage = 1 and b.sequence > c.sequence fetch first 1 rows only)) is null) c
union all
select n.identifier, 1 as noted from task_turn n where n.topic = :6

-- repair
--   text, number, number, text, text, text, text
select c.identifier, 0 as noted from (
  select c.identifier
  from (select t.sequence, t.identifier
    from task t
    where t.topic = :1 and t.sequence > :2 and t.sequence < :3 and t.state = 1 and t.listed = 0) c
  where coalesce((select 1 from task b where b.topic = :4 and b.identifier = c.identifier and b.stage = 0 fetch first 1 rows only), (select 1 from task b where b.topic = :5 and b.identifier = c.identifier and b.stage = 1 and b.sequence > c.sequence fetch first 1 rows only), (select 1 from task b where b.topic = :6 and b.identifier = c.identifier and b.stage = 2 and b.sequence > c.sequence fetch first 1 rows only)) is null) c
union all
select n.identifier, 1 as noted from task_turn n where n.topic = :7

-- repair
--   text, number, number, text, text, text, text, text
select c.identifier, 0 as noted from (
  select c.identifier
  from (select t.sequence, t.identifier
    from task t
    where t.topic = :1 and t.sequence > :2 and t.sequence < :3 and t.state = 1 and t.listed = 0) c
  where coalesce((select 1 from task b where b.topic = :4 and b.identifier = c.identifier and b.stage = 0 fetch first 1 rows only), (select 1 from task b where b.topic = :5 and b.identifier = c.identifier and b.stage = 1 and b.sequence > c.sequence fetch first 1 rows only), (select 1 from task b where b.topic = :6 and b.identifier = c.identifier and b.stage = 2 and b.sequence > c.sequence fetch first 1 rows only), (select 1 from task b where b.topic = :7 and b.identifier = c.identifier and b.stage = 3 and b.sequence > c.sequence fetch first 1 rows only)) is null) c
union all
select n.identifier, 1 as noted from task_turn n where n.topic = :8

-- repair
--   text, number, number, number
select t.sequence, case when t.state = 1 and t.listed = 0 and 1 = 1 then 1 else 0 end as unlisted
from task t
where t.topic = :1 and t.sequence > :2 and t.sequence < :3 and (
  t.stage is null or t.stage <> 9
  or t.ranked <> 1
  or t.state > 1 and t.listed = 1
  or t.state <> 4 and t.due is not null
  or t.state = 1 and t.listed = 0 and 1 = 1)
order by t.sequence
fetch first :4 rows only

-- repair
--   text, JSON
select /*+ leading(w@keys t) use_nl(t) index(t) */ t.sequence
from task t
where t.topic = :1 and t.sequence in (select /*+ unnest qb_name(keys) */ w.wanted from json_table(:2, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w) and (
  t.stage is null or t.stage <> 9
  or t.ranked <> 1
  or t.state > 1 and t.listed = 1
  or t.state <> 4 and t.due is not null
  or t.state = 1 and t.listed = 0 and 1 = 1)
order by t.sequence
for update skip locked

-- repair
--   JSON, text
select t.sequence from
(select /*+ leading(w t) use_nl(t) index(t) */ t.*
  from json_table(:1, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w, task t
  where t.topic = :2 and t.sequence = w.wanted) t
where 1 = 1 and (
  t.stage is null or t.stage <> 9
  or t.ranked <> 1
  or t.state > 1 and t.listed = 1
  or t.state <> 4 and t.due is not null
  or t.state = 1 and t.listed = 0 and 1 = 1) order by t.sequence

-- repair
--   text, JSON
update /*+ leading(w@keys t) use_nl(t) index(t) */ task t set
listed = case when t.state > 1 then 0 when t.state = 1 and t.listed = 0 and 1 = 1 then 1 else t.listed end,
ranked = 1,
stage = 9,
due = case when t.state = 4 then t.due end where t.topic = :1 and t.sequence in (select /*+ unnest qb_name(keys) */ w.wanted from json_table(:2, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w)

-- repair
--   text, number, number, number
select t.sequence, case when t.state = 1 and t.listed = 0 and 1 = 0 then 1 else 0 end as unlisted
from task t
where t.topic = :1 and t.sequence > :2 and t.sequence < :3 and (
  t.stage is null or t.stage <> case when t.state = 4 and t.due is not null then 1 when t.state = 0 then 0 when t.state = 1 then 1 when t.state = 2 then 2 when t.state = 3 then 2 when t.state = 4 then 3 when t.state = 5 then 4 when t.state = 6 then 4 when t.state = 7 then 4 when t.state = 8 then 4 end
  or t.ranked <> 1
  or t.state > 1 and t.listed = 1
  or t.state <> 4 and t.due is not null
  or t.state = 1 and t.listed = 0 and 1 = 0)
order by t.sequence
fetch first :4 rows only

-- repair
--   text, JSON
select /*+ leading(w@keys t) use_nl(t) index(t) */ t.sequence
from task t
where t.topic = :1 and t.sequence in (select /*+ unnest qb_name(keys) */ w.wanted from json_table(:2, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w) and (
  t.stage is null or t.stage <> case when t.state = 4 and t.due is not null then 1 when t.state = 0 then 0 when t.state = 1 then 1 when t.state = 2 then 2 when t.state = 3 then 2 when t.state = 4 then 3 when t.state = 5 then 4 when t.state = 6 then 4 when t.state = 7 then 4 when t.state = 8 then 4 end
  or t.ranked <> 1
  or t.state > 1 and t.listed = 1
  or t.state <> 4 and t.due is not null
  or t.state = 1 and t.listed = 0 and 1 = 0)
order by t.sequence
for update skip locked

-- repair
--   JSON, text
select t.sequence from
(select /*+ leading(w t) use_nl(t) index(t) */ t.*
  from json_table(:1, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w, task t
  where t.topic = :2 and t.sequence = w.wanted) t
where 1 = 1 and (
  t.stage is null or t.stage <> case when t.state = 4 and t.due is not null then 1 when t.state = 0 then 0 when t.state = 1 then 1 when t.state = 2 then 2 when t.state = 3 then 2 when t.state = 4 then 3 when t.state = 5 then 4 when t.state = 6 then 4 when t.state = 7 then 4 when t.state = 8 then 4 end
  or t.ranked <> 1
  or t.state > 1 and t.listed = 1
  or t.state <> 4 and t.due is not null
  or t.state = 1 and t.listed = 0 and 1 = 0) order by t.sequence

-- repair
--   text, JSON
update /*+ leading(w@keys t) use_nl(t) index(t) */ task t set
listed = case when t.state > 1 then 0 when t.state = 1 and t.listed = 0 and 1 = 0 then 1 else t.listed end,
ranked = 1,
stage = case when t.state = 4 and t.due is not null then 1 when t.state = 0 then 0 when t.state = 1 then 1 when t.state = 2 then 2 when t.state = 3 then 2 when t.state = 4 then 3 when t.state = 5 then 4 when t.state = 6 then 4 when t.state = 7 then 4 when t.state = 8 then 4 end,
due = case when t.state = 4 then t.due end where t.topic = :1 and t.sequence in (select /*+ unnest qb_name(keys) */ w.wanted from json_table(:2, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w)

-- repair
--   text, number, number, number
select t.sequence, case when t.state = 1 and t.listed = 0 and 1 = 1 then 1 else 0 end as unlisted
from task t
where t.topic = :1 and t.sequence > :2 and t.sequence < :3 and (
  t.stage is null or t.stage <> case when t.state = 1 then case when t.priority < 0 then 6 else 5 end else 7 end
  or t.ranked <> 0
  or t.state > 1 and t.listed = 1
  or t.state <> 4 and t.due is not null
  or t.state = 1 and t.listed = 0 and 1 = 1)
order by t.sequence
fetch first :4 rows only

-- repair
--   text, JSON
select /*+ leading(w@keys t) use_nl(t) index(t) */ t.sequence
from task t
where t.topic = :1 and t.sequence in (select /*+ unnest qb_name(keys) */ w.wanted from json_table(:2, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w) and (
  t.stage is null or t.stage <> case when t.state = 1 then case when t.priority < 0 then 6 else 5 end else 7 end
  or t.ranked <> 0
  or t.state > 1 and t.listed = 1
  or t.state <> 4 and t.due is not null
  or t.state = 1 and t.listed = 0 and 1 = 1)
order by t.sequence
for update skip locked

-- repair
--   JSON, text
select t.sequence from
(select /*+ leading(w t) use_nl(t) index(t) */ t.*
  from json_table(:1, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w, task t
  where t.topic = :2 and t.sequence = w.wanted) t
where 1 = 1 and (
  t.stage is null or t.stage <> case when t.state = 1 then case when t.priority < 0 then 6 else 5 end else 7 end
  or t.ranked <> 0
  or t.state > 1 and t.listed = 1
  or t.state <> 4 and t.due is not null
  or t.state = 1 and t.listed = 0 and 1 = 1) order by t.sequence

-- repair
--   text, JSON
update /*+ leading(w@keys t) use_nl(t) index(t) */ task t set
listed = case when t.state > 1 then 0 when t.state = 1 and t.listed = 0 and 1 = 1 then 1 else t.listed end,
ranked = 0,
stage = case when t.state = 1 then case when t.priority < 0 then 6 else 5 end else 7 end,
due = case when t.state = 4 then t.due end where t.topic = :1 and t.sequence in (select /*+ unnest qb_name(keys) */ w.wanted from json_table(:2, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w)

-- repair
--   text
select p.topic, p.ordering, p.condition, p.stage
from task_topic p
where p.topic = :1
order by p.topic

-- repair
--   text, number, number, number
select t.sequence, case when t.state = 1 and t.listed = 0 and 1 = 0 then 1 else 0 end as unlisted
from task t
where t.topic = :1 and t.sequence > :2 and t.sequence < :3 and (
  t.stage is not null
  or t.ranked <> 0
  or t.state > 1 and t.listed = 1
  or t.state <> 4 and t.due is not null
  or t.state = 1 and t.listed = 0 and 1 = 0)
order by t.sequence
fetch first :4 rows only

-- repair
--   text, JSON
select /*+ leading(w@keys t) use_nl(t) index(t) */ t.sequence
from task t
where t.topic = :1 and t.sequence in (select /*+ unnest qb_name(keys) */ w.wanted from json_table(:2, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w) and (
  t.stage is not null
  or t.ranked <> 0
  or t.state > 1 and t.listed = 1
  or t.state <> 4 and t.due is not null
  or t.state = 1 and t.listed = 0 and 1 = 0)
order by t.sequence
for update skip locked

-- repair
--   JSON, text
select t.sequence from
(select /*+ leading(w t) use_nl(t) index(t) */ t.*
  from json_table(:1, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w, task t
  where t.topic = :2 and t.sequence = w.wanted) t
where 1 = 1 and (
  t.stage is not null
  or t.ranked <> 0
  or t.state > 1 and t.listed = 1
  or t.state <> 4 and t.due is not null
  or t.state = 1 and t.listed = 0 and 1 = 0) order by t.sequence

-- repair
--   text, JSON
update /*+ leading(w@keys t) use_nl(t) index(t) */ task t set
listed = case when t.state > 1 then 0 when t.state = 1 and t.listed = 0 and 1 = 0 then 1 else t.listed end,
ranked = 0,
stage = null,
due = case when t.state = 4 then t.due end where t.topic = :1 and t.sequence in (select /*+ unnest qb_name(keys) */ w.wanted from json_table(:2, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w)

-- repair
--   JSON, text
select count(*) as count from
(select /*+ leading(w t) use_nl(t) index(t) */ t.*
  from json_table(:1, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w, task t
  where t.topic = :2 and t.sequence = w.wanted) t
where 1 = 1 and (
  t.stage is null or t.stage <> 9
  or t.ranked <> 0
  or t.state > 1 and t.listed = 1
  or t.state <> 4 and t.due is not null
  or t.state = 1 and t.listed = 0 and 1 = 0)

-- report
--   number, JSON, text, text
update task_node set seen = (select k.ms from task_clock k), lease_ms = :1, topics = :2, report = :3 where owner = :4

-- report
--   text
select quiet from task_node where owner = :1

-- report
--   text, text, text, text, number, null, number, number, JSON, text
insert /*+ ignore_row_on_dupkey_index(task_node (owner)) */
into task_node (owner, name, kind, host, pid, release_name, started, seen, lease_ms, quiet, topics, report)
values (:1, :2, :3, :4, :5, :6, (select k.ms from task_clock k), (select k.ms from task_clock k), :7, :8, :9, :10)

-- report
--   number, number, JSON, text, text
update task_node set seen = :1, lease_ms = :2, topics = :3, report = :4 where owner = :5

-- report
--   text, text, text, text, number, null, number, number, number, number, JSON, text
insert /*+ ignore_row_on_dupkey_index(task_node (owner)) */
into task_node (owner, name, kind, host, pid, release_name, started, seen, lease_ms, quiet, topics, report)
values (:1, :2, :3, :4, :5, :6, :7, :8, :9, :10, :11, :12)

-- reschedule
--   text, JSON
select /*+ leading(w@keys t) use_nl(t) index(t) */ t.sequence
from task t
where t.topic = :1 and t.sequence in (select /*+ unnest qb_name(keys) */ w.wanted from json_table(:2, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w) and case when t.state = 1 or (t.state = 4 and t.due < 253402300799000) then 1 else 0 end > 0
order by t.sequence
for update

-- reschedule
--   JSON, text
select t.sequence, t.identifier from
(select /*+ leading(w t) use_nl(t) index(t) */ t.*
  from json_table(:1, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w, task t
  where t.topic = :2 and t.sequence = w.wanted) t
where 1 = 1 and case when t.state = 1 or (t.state = 4 and t.due < 253402300799000) then 1 else 0 end > 0 order by t.sequence

-- reschedule
--   number, number, number, number, number, number, text, JSON
update /*+ leading(w@keys t) use_nl(t) index(t) */ task t set stage = case when t.stage <= 4 then t.stage when t.stage <= 7 then case when ((select k.ms from task_clock k) + :1) > (select k.ms from task_clock k) then 7 else case when t.priority < 0 then 6 else 5 end end else t.stage end, state = case when ((select k.ms from task_clock k) + :2) > (select k.ms from task_clock k) then 4 else 1 end, listed = case when ((select k.ms from task_clock k) + :3) > (select k.ms from task_clock k) then 0 else 1 end, completed = case when ((select k.ms from task_clock k) + :4) > (select k.ms from task_clock k) then t.completed end, due = case when ((select k.ms from task_clock k) + :5) > (select k.ms from task_clock k) then ((select k.ms from task_clock k) + :6) end where t.topic = :7 and t.sequence in (select /*+ unnest qb_name(keys) */ w.wanted from json_table(:8, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w)

-- reschedule
--   number, number, number, number, number, number, number, number, number, text, JSON
update /*+ leading(w@keys t) use_nl(t) index(t) */ task t set stage = case when t.stage <= 4 then t.stage when t.stage <= 7 then case when :1 > (select k.ms from task_clock k) then 7 else case when :2 < 0 then 6 else 5 end end else t.stage end, state = case when :3 > (select k.ms from task_clock k) then 4 else 1 end, listed = case when :4 > (select k.ms from task_clock k) then 0 else 1 end, completed = case when :5 > (select k.ms from task_clock k) then t.completed end, due = case when :6 > (select k.ms from task_clock k) then :7 end, deadline = ((select k.ms from task_clock k) + :8), priority = :9 where t.topic = :10 and t.sequence in (select /*+ unnest qb_name(keys) */ w.wanted from json_table(:11, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w)

-- reschedule
--   text, JSON
update /*+ leading(w@keys t) use_nl(t) index(t) */ task t set deadline = null where t.topic = :1 and t.sequence in (select /*+ unnest qb_name(keys) */ w.wanted from json_table(:2, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w)

-- reschedule
--   text, JSON
select t.sequence from task t where t.topic = :1 and t.stage is not null and t.identifier in (select w.wanted from json_table(:2, '$[*]' error on error columns (wanted varchar2(4000 byte) path '$' error on error)) w) and t.stage in (0, 1, 2, 3, 5, 6, 7, 9) and case when t.state = 1 or (t.state = 4 and t.due < 253402300799000) then 1 else 0 end > 0

-- reschedule
--   number, number, number, number, number, number, number, number, number, number, number, number, number, number, number, number, number, text, JSON
update /*+ leading(w@keys t) use_nl(t) index(t) */ task t set stage = case when t.stage <= 4 then t.stage when t.stage <= 7 then case when (:1 + :2) > :3 then 7 else case when t.priority < 0 then 6 else 5 end end else t.stage end, state = case when (:4 + :5) > :6 then 4 else 1 end, listed = case when (:7 + :8) > :9 then 0 else 1 end, completed = case when (:10 + :11) > :12 then t.completed end, due = case when (:13 + :14) > :15 then (:16 + :17) end where t.topic = :18 and t.sequence in (select /*+ unnest qb_name(keys) */ w.wanted from json_table(:19, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w)

-- reschedule
--   number, number, number, number, number, number, number, number, number, number, number, number, number, number, number, text, JSON
update /*+ leading(w@keys t) use_nl(t) index(t) */ task t set stage = case when t.stage <= 4 then t.stage when t.stage <= 7 then case when :1 > :2 then 7 else case when :3 < 0 then 6 else 5 end end else t.stage end, state = case when :4 > :5 then 4 else 1 end, listed = case when :6 > :7 then 0 else 1 end, completed = case when :8 > :9 then t.completed end, due = case when :10 > :11 then :12 end, deadline = (:13 + :14), priority = :15 where t.topic = :16 and t.sequence in (select /*+ unnest qb_name(keys) */ w.wanted from json_table(:17, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w)

-- resolve
--   number
select max(t.sequence) as sequence
from task t
where t.created < :1

-- resolve
--   number
select min(t.sequence) as sequence
from task t
where t.created >= :1

-- restore
--   text, JSON
select /*+ leading(w@keys t) use_nl(t) index(t) */ t.sequence
from task t
where t.topic = :1 and t.sequence in (select /*+ unnest qb_name(keys) */ w.wanted from json_table(:2, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w)
order by t.sequence
for update skip locked

-- restore
--   JSON, text
select t.sequence, t.identifier, t.attempt, t.tries, t.priority, t.reason, t.stage, case when (t.state = 4 and t.due < 253402300799000) then 9
when (t.state = 4 and t.due = 253402300799000) then 10 else t.state end as state,
case when t.output is null then 0 else 1 end as told, t.due as due, t.deadline as deadline from
(select /*+ leading(w t) use_nl(t) index(t) */ t.*
  from json_table(:1, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w, task t
  where t.topic = :2 and t.sequence = w.wanted) t
where 1 = 1 order by t.sequence

-- restore
--   number, number, text, JSON
update /*+ leading(w@keys t) use_nl(t) index(t) */ task t set stage = case when t.stage <= 4 then 2 when t.stage <= 7 then 7 else t.stage end, state = 3, listed = 0, reason = 1, tries = :1, priority = :2, deadline = null, due = null, completed = coalesce((select a.ended from task_attempt a where a.topic = t.topic and a.sequence = t.sequence and a.attempt = t.attempt), (select k.ms from task_clock k)), output = (select a.message from task_attempt a where a.topic = t.topic and a.sequence = t.sequence and a.attempt = t.attempt) where t.topic = :3 and t.sequence in (select /*+ unnest qb_name(keys) */ w.wanted from json_table(:4, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w)

-- restore
--   number, number, number, text, JSON
update /*+ leading(w@keys t) use_nl(t) index(t) */ task t set stage = case when t.stage <= 4 then 3 when t.stage <= 7 then 7 else t.stage end, state = 4, listed = 0, reason = null, tries = :1, priority = :2, deadline = :3, due = null, completed = (select a.ended from task_attempt a where a.topic = t.topic and a.sequence = t.sequence and a.attempt = t.attempt), output = (select a.message from task_attempt a where a.topic = t.topic and a.sequence = t.sequence and a.attempt = t.attempt) where t.topic = :4 and t.sequence in (select /*+ unnest qb_name(keys) */ w.wanted from json_table(:5, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w)

-- restore
--   number, number, number, text, JSON
update /*+ leading(w@keys t) use_nl(t) index(t) */ task t set stage = case when t.stage <= 4 then 1 when t.stage <= 7 then 7 else t.stage end, state = 4, listed = 0, reason = null, tries = :1, priority = :2, deadline = null, due = :3, completed = (select a.ended from task_attempt a where a.topic = t.topic and a.sequence = t.sequence and a.attempt = t.attempt), output = (select a.message from task_attempt a where a.topic = t.topic and a.sequence = t.sequence and a.attempt = t.attempt) where t.topic = :4 and t.sequence in (select /*+ unnest qb_name(keys) */ w.wanted from json_table(:5, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w)

-- restore
--   number, number, text, JSON
update /*+ leading(w@keys t) use_nl(t) index(t) */ task t set stage = case when t.stage <= 4 then 1 when t.stage <= 7 then 7 else t.stage end, state = 4, listed = 0, reason = null, tries = :1, priority = :2, deadline = null, due = 253402300799000, completed = null where t.topic = :3 and t.sequence in (select /*+ unnest qb_name(keys) */ w.wanted from json_table(:4, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w)

-- restore
--   number, number, text, JSON
update /*+ leading(w@keys t) use_nl(t) index(t) */ task t set stage = case when t.stage <= 4 then 1 when t.stage <= 7 then case when t.priority < 0 then 6 else 5 end else t.stage end, state = 1, listed = 1, reason = null, tries = :1, priority = :2, deadline = null, due = null, completed = null, owner = null, started = null where t.topic = :3 and t.sequence in (select /*+ unnest qb_name(keys) */ w.wanted from json_table(:4, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w)

-- restore
--   number, number, text, JSON
update /*+ leading(w@keys t) use_nl(t) index(t) */ task t set stage = case when t.stage <= 4 then 4 when t.stage <= 7 then 7 else t.stage end, state = 5, listed = 0, reason = null, tries = :1, priority = :2, deadline = null, due = null, output = (select a.message from task_attempt a where a.topic = t.topic and a.sequence = t.sequence and a.attempt = t.attempt) where t.topic = :3 and t.sequence in (select /*+ unnest qb_name(keys) */ w.wanted from json_table(:4, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w)

-- restore
--   JSON, text, number
select r.freed as sequence
from json_table(:1, '$[*]' error on error columns (nth for ordinality, freed number path '$[0]' error on error, identifier varchar2(4000 byte) path '$[1]' error on error)) r
where (
  select 1
  from task t
  where t.topic = :2 and t.identifier = r.identifier and t.sequence > r.freed
  and t.stage in (0, 1, 2, 3, 4)
  and (t.stage = 0 or t.started >= :3)
  fetch first 1 rows only) is not null

-- restore
--   JSON, text
select t.sequence from
(select /*+ leading(w t) use_nl(t) index(t) */ t.*
  from json_table(:1, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w, task t
  where t.topic = :2 and t.sequence = w.wanted) t
where 1 = 1

-- restore
--   number, number, number, text, JSON
update /*+ leading(w@keys t) use_nl(t) index(t) */ task t set stage = case when t.stage <= 4 then 2 when t.stage <= 7 then 7 else t.stage end, state = 3, listed = 0, reason = 1, tries = :1, priority = :2, deadline = null, due = null, completed = coalesce((select a.ended from task_attempt a where a.topic = t.topic and a.sequence = t.sequence and a.attempt = t.attempt), :3), output = (select a.message from task_attempt a where a.topic = t.topic and a.sequence = t.sequence and a.attempt = t.attempt) where t.topic = :4 and t.sequence in (select /*+ unnest qb_name(keys) */ w.wanted from json_table(:5, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w)

-- results
select p.topic, c.state, c.count
from task_topic p
left join (select t.topic, t.state, count(*) as count
  from task t
  where t.state between 3 and 6 and t.due is null
  and (t.completed is not null or t.state <> 4)
  group by t.topic, t.state) c on c.topic = p.topic
order by p.topic, c.state

-- results
--   number, number
select p.topic, c.state, c.count
from task_topic p
left join (select t.topic, t.state, count(*) as count
  from task t
  where t.state between 3 and 6 and t.due is null
  and (t.completed is not null or t.state <> 4) and t.completed >= :1 and t.completed < :2
  group by t.topic, t.state) c on c.topic = p.topic
order by p.topic, c.state

-- settle
--   text, number
select f.sequence, f.moved, f.unended, f.missed
from (select c.sequence,
  sum(case when c.moved is not null then 1 else 0 end) as moved,
  sum(case when c.moved is null and c.state in (0, 1, 2, 4) then 1 else 0 end) as unended,
  sum(case when coalesce(c.state, 8) in (3, 5, 7, 8) then 1 - c.tolerant else 0 end) as missed
  from (select b.sequence, d.tolerant, (select t.state from task t where t.topic = d.parent_topic and t.sequence = d.parent) as state,
    (select 1
      from task_result e
      where e.topic = d.parent_topic and e.sequence = d.parent and e.next_topic is not null) as moved
    from task b
    left join task_dependency d on d.topic = b.topic and d.sequence = b.sequence
    where b.topic = :1 and b.due = 253402300799000 and b.state = 4) c
  group by c.sequence) f
where f.moved > 0 or f.unended = 0 or f.missed > 0
order by f.sequence
fetch first :2 rows only

-- settle
--   text, JSON
select /*+ leading(w@keys t) use_nl(t) index(t) */ t.sequence
from task t
where t.topic = :1 and t.sequence in (select /*+ unnest qb_name(keys) */ w.wanted from json_table(:2, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w) and (t.state = 4 and t.due = 253402300799000)
order by t.sequence
for update skip locked

-- settle
--   JSON, text
select t.sequence from
(select /*+ leading(w t) use_nl(t) index(t) */ t.*
  from json_table(:1, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w, task t
  where t.topic = :2 and t.sequence = w.wanted) t
where 1 = 1 and (t.state = 4 and t.due = 253402300799000) order by t.sequence

-- takeSlots
--   text
update task_limit set used = used where topic = :1 and kind = 'total'

-- takeSlots
--   text
select t.kind, t.amount, t.per_ms, t.used from task_limit t where t.topic = :1 and kind = 'total'

-- takeSlots
--   text
select owner, slots, wanted from task_slot where topic = :1

-- takeSlots
--   text, text, number, number
insert /*+ ignore_row_on_dupkey_index(task_slot (topic, owner)) */
into task_slot (topic, owner, slots, wanted)
values (:1, :2, :3, :4)

-- takeSlots
--   text, text
delete from task_slot where topic = :1 and owner = :2

-- takeTokens
--   text
update task_limit set used = used where topic = :1 and kind = 'rate'

-- takeTokens
--   text
select t.kind, t.amount, t.per_ms, t.used from task_limit t where t.topic = :1 and kind = 'rate'

-- takeTokens
--   text
select (select k.ms from task_clock k) as now
from task_limit
where topic = :1 and kind = 'rate'

-- takeTokens
--   number, text
update task_limit set used = :1 where topic = :2 and kind = 'rate'

-- takeTokens
--   number, text
select :1 as now
from task_limit
where topic = :2 and kind = 'rate'

-- task, why
--   text, number
select sequence, identifier, max_tries, priority, reference, external_id, headers as headers, input,
descent, reason, output, t.attempt as attempt, t.tries as tries, t.state as state, t.owner as owner, t.started as started,
created as created, completed as completed, due as due, deadline as deadline from task t where t.topic = :1 and t.sequence = :2

-- task, why
--   text, text
select sequence, identifier, max_tries, priority, reference, external_id, headers as headers, input,
descent, reason, output, t.attempt as attempt, t.tries as tries, t.state as state, t.owner as owner, t.started as started,
created as created, completed as completed, due as due, deadline as deadline from task t where t.topic = :1 and t.external_id = :2

-- timers
--   text
select (select k.ms from task_clock k) as now from task_topic where topic = :1

-- timers
--   text, text
select t.id from task_periodic t where t.scope = :1 and t.id = :2 order by t.scope, t.id for update

-- timers
--   text, text, null, null, text, null, text, text, text, text, number, null, number, null, number, number, null, number, null, number, null, number, number, number, number
insert /*+ ignore_row_on_dupkey_index(task_periodic (scope, id)) */
into task_periodic (scope, id, application, name, timer, summary, topic, identifier, input, headers, priority, max_tries, misfire, late_ms, overlap, jitter_ms, starts, ends, max_count, status, note, occurrence, due, created, changed)
values (:1, :2, :3, :4, :5, :6, :7, :8, :9, :10, :11, :12, :13, :14, :15, :16, :17, :18, :19, :20, :21, :22, :23, :24, :25)

-- timers
--   text, text
select t.scope, t.id, t.name, t.application, t.note, t.timer, t.summary, t.topic, t.identifier, t.input, t.last_topic, t.status, t.priority, t.max_tries, t.misfire, t.late_ms, t.overlap, t.jitter_ms, t.max_count, t.fired, t.skipped, t.last_sequence, t.headers as headers, t.starts as starts, t.ends as ends, t.occurrence as occurrence, t.due as due, t.last_occurrence as last_occurrence, t.created as created, t.changed as changed, (select k.ms from task_clock k) as now from task_periodic t where t.scope = :1 and t.id = :2 order by t.scope, t.id

-- timers, verb
select (select k.ms from task_clock k) as now from dual

-- timers
--   null, text, null, text, text, text, text, number, null, number, null, number, number, null, number, null, null, number, number, null, number, number, text, text
--   null, text, null, text, text, text, text, number, null, number, null, number, number, null, number, null, text, number, number, null, number, number, text, text
update task_periodic
set name = :1, timer = :2, summary = :3, topic = :4, identifier = :5, input = :6, headers = :7, priority = :8, max_tries = :9, misfire = :10, late_ms = :11, overlap = :12, jitter_ms = :13, starts = :14, ends = :15, max_count = :16, application = :17, changed = :18, status = :19, note = :20, occurrence = :21, due = :22
where scope = :23 and id = :24

-- timers
--   text, text, text, number, text, number
select o.sequence
from (select t.sequence, t.state, t.reference
  from task t
  where t.topic = :1 and t.external_id > :2 and t.external_id < :3
  order by t.external_id desc
  fetch first :4 rows only) o
where o.reference = :5 and o.state in (0, 1, 2, 4)
fetch first :6 rows only

-- timers
--   number, null, number, number, number, text, text
update task_periodic
set status = :1, note = :2, occurrence = :3, due = :4, skipped = :5
where scope = :6 and id = :7

-- timers
--   text, text
select t.scope, t.id, t.name, t.application, t.note, t.timer, t.summary, t.topic, t.identifier, t.input, t.last_topic, t.status, t.priority, t.max_tries, t.misfire, t.late_ms, t.overlap, t.jitter_ms, t.max_count, t.fired, t.skipped, t.last_sequence, t.headers as headers, t.starts as starts, t.ends as ends, t.occurrence as occurrence, t.due as due, t.last_occurrence as last_occurrence, t.created as created, t.changed as changed, (select k.ms from task_clock k) as now from task_periodic t where t.scope = :1 and t.id = :2

-- timers
--   text
select t.scope, t.id, t.name, t.application, t.note, t.timer, t.summary, t.topic, t.identifier, t.input, t.last_topic, t.status, t.priority, t.max_tries, t.misfire, t.late_ms, t.overlap, t.jitter_ms, t.max_count, t.fired, t.skipped, t.last_sequence, t.headers as headers, t.starts as starts, t.ends as ends, t.occurrence as occurrence, t.due as due, t.last_occurrence as last_occurrence, t.created as created, t.changed as changed, (select k.ms from task_clock k) as now from task_periodic t where 1 = 1 and t.scope = :1
order by t.scope, t.id

-- timers
select t.scope, t.id, t.name, t.application, t.note, t.timer, t.summary, t.topic, t.identifier, t.input, t.last_topic, t.status, t.priority, t.max_tries, t.misfire, t.late_ms, t.overlap, t.jitter_ms, t.max_count, t.fired, t.skipped, t.last_sequence, t.headers as headers, t.starts as starts, t.ends as ends, t.occurrence as occurrence, t.due as due, t.last_occurrence as last_occurrence, t.created as created, t.changed as changed, (select k.ms from task_clock k) as now from task_periodic t where 1 = 1
order by t.scope, t.id

-- timers
--   text, text, text
select t.scope, t.id, t.name, t.application, t.note, t.timer, t.summary, t.topic, t.identifier, t.input, t.last_topic, t.status, t.priority, t.max_tries, t.misfire, t.late_ms, t.overlap, t.jitter_ms, t.max_count, t.fired, t.skipped, t.last_sequence, t.headers as headers, t.starts as starts, t.ends as ends, t.occurrence as occurrence, t.due as due, t.last_occurrence as last_occurrence, t.created as created, t.changed as changed, (select k.ms from task_clock k) as now from task_periodic t where 1 = 1 and t.scope = :1 and t.name = :2 and t.application = :3
order by t.scope, t.id

-- timers
--   text, text
select t.scope, t.id, t.name, t.application, t.note, t.timer, t.summary, t.topic, t.identifier, t.input, t.last_topic, t.status, t.priority, t.max_tries, t.misfire, t.late_ms, t.overlap, t.jitter_ms, t.max_count, t.fired, t.skipped, t.last_sequence, t.headers as headers, t.starts as starts, t.ends as ends, t.occurrence as occurrence, t.due as due, t.last_occurrence as last_occurrence, t.created as created, t.changed as changed, (select k.ms from task_clock k) as now from task_periodic t where 1 = 1 and t.name = :1 and t.application = :2
order by t.scope, t.id

-- timers
--   number, null, null, null, number, text, text
--   number, null, number, number, number, text, text
update task_periodic
set status = :1, note = :2, occurrence = :3, due = :4, changed = :5
where scope = :6 and id = :7

-- timers
--   text, number
select t.id from task_periodic t where t.scope = :1 and t.status = :2 order by t.scope, t.id for update

-- timers
--   text, number
select t.scope, t.id, t.name, t.application, t.note, t.timer, t.summary, t.topic, t.identifier, t.input, t.last_topic, t.status, t.priority, t.max_tries, t.misfire, t.late_ms, t.overlap, t.jitter_ms, t.max_count, t.fired, t.skipped, t.last_sequence, t.headers as headers, t.starts as starts, t.ends as ends, t.occurrence as occurrence, t.due as due, t.last_occurrence as last_occurrence, t.created as created, t.changed as changed, (select k.ms from task_clock k) as now from task_periodic t where t.scope = :1 and t.status = :2 order by t.scope, t.id

-- timers
--   text, text
delete from task_periodic where scope = :1 and id = :2

-- timers
--   text, text
select t.scope, t.id, t.name, t.application, t.note, t.timer, t.summary, t.topic, t.identifier, t.input, t.last_topic, t.status, t.priority, t.max_tries, t.misfire, t.late_ms, t.overlap, t.jitter_ms, t.max_count, t.fired, t.skipped, t.last_sequence, t.headers as headers, t.starts as starts, t.ends as ends, t.occurrence as occurrence, t.due as due, t.last_occurrence as last_occurrence, t.created as created, t.changed as changed, (select k.ms from task_clock k) as now from task_periodic t where 1 = 1 and t.scope = :1 and t.application = :2
order by t.scope, t.id

-- timers
--   number
select t.scope, t.id, t.due as due, (select k.ms from task_clock k) as now
from task_periodic t
where t.due is not null
order by t.due
fetch first :1 rows only

-- timers
--   text, text
select t.id from task_periodic t where t.scope = :1 and t.id = :2 and t.due is not null and t.due <= (select k.ms from task_clock k) order by t.scope, t.id for update skip locked

-- timers
--   text, text
select t.scope, t.id, t.name, t.application, t.note, t.timer, t.summary, t.topic, t.identifier, t.input, t.last_topic, t.status, t.priority, t.max_tries, t.misfire, t.late_ms, t.overlap, t.jitter_ms, t.max_count, t.fired, t.skipped, t.last_sequence, t.headers as headers, t.starts as starts, t.ends as ends, t.occurrence as occurrence, t.due as due, t.last_occurrence as last_occurrence, t.created as created, t.changed as changed, (select k.ms from task_clock k) as now from task_periodic t where t.scope = :1 and t.id = :2 and t.due is not null and t.due <= (select k.ms from task_clock k) order by t.scope, t.id

-- timers
--   number, text
select :1 as now from task_topic where topic = :2

-- timers
--   number, text, text
select t.scope, t.id, t.name, t.application, t.note, t.timer, t.summary, t.topic, t.identifier, t.input, t.last_topic, t.status, t.priority, t.max_tries, t.misfire, t.late_ms, t.overlap, t.jitter_ms, t.max_count, t.fired, t.skipped, t.last_sequence, t.headers as headers, t.starts as starts, t.ends as ends, t.occurrence as occurrence, t.due as due, t.last_occurrence as last_occurrence, t.created as created, t.changed as changed, :1 as now from task_periodic t where t.scope = :2 and t.id = :3 order by t.scope, t.id

-- timers, verb
--   number
select :1 as now from dual

-- timers
--   number, text, text
select t.scope, t.id, t.name, t.application, t.note, t.timer, t.summary, t.topic, t.identifier, t.input, t.last_topic, t.status, t.priority, t.max_tries, t.misfire, t.late_ms, t.overlap, t.jitter_ms, t.max_count, t.fired, t.skipped, t.last_sequence, t.headers as headers, t.starts as starts, t.ends as ends, t.occurrence as occurrence, t.due as due, t.last_occurrence as last_occurrence, t.created as created, t.changed as changed, :1 as now from task_periodic t where t.scope = :2 and t.id = :3

-- timers
--   number, text
select t.scope, t.id, t.name, t.application, t.note, t.timer, t.summary, t.topic, t.identifier, t.input, t.last_topic, t.status, t.priority, t.max_tries, t.misfire, t.late_ms, t.overlap, t.jitter_ms, t.max_count, t.fired, t.skipped, t.last_sequence, t.headers as headers, t.starts as starts, t.ends as ends, t.occurrence as occurrence, t.due as due, t.last_occurrence as last_occurrence, t.created as created, t.changed as changed, :1 as now from task_periodic t where 1 = 1 and t.scope = :2
order by t.scope, t.id

-- timers
--   number
select t.scope, t.id, t.name, t.application, t.note, t.timer, t.summary, t.topic, t.identifier, t.input, t.last_topic, t.status, t.priority, t.max_tries, t.misfire, t.late_ms, t.overlap, t.jitter_ms, t.max_count, t.fired, t.skipped, t.last_sequence, t.headers as headers, t.starts as starts, t.ends as ends, t.occurrence as occurrence, t.due as due, t.last_occurrence as last_occurrence, t.created as created, t.changed as changed, :1 as now from task_periodic t where 1 = 1
order by t.scope, t.id

-- timers
--   number, text, text, text
select t.scope, t.id, t.name, t.application, t.note, t.timer, t.summary, t.topic, t.identifier, t.input, t.last_topic, t.status, t.priority, t.max_tries, t.misfire, t.late_ms, t.overlap, t.jitter_ms, t.max_count, t.fired, t.skipped, t.last_sequence, t.headers as headers, t.starts as starts, t.ends as ends, t.occurrence as occurrence, t.due as due, t.last_occurrence as last_occurrence, t.created as created, t.changed as changed, :1 as now from task_periodic t where 1 = 1 and t.scope = :2 and t.name = :3 and t.application = :4
order by t.scope, t.id

-- timers
--   number, text, text
select t.scope, t.id, t.name, t.application, t.note, t.timer, t.summary, t.topic, t.identifier, t.input, t.last_topic, t.status, t.priority, t.max_tries, t.misfire, t.late_ms, t.overlap, t.jitter_ms, t.max_count, t.fired, t.skipped, t.last_sequence, t.headers as headers, t.starts as starts, t.ends as ends, t.occurrence as occurrence, t.due as due, t.last_occurrence as last_occurrence, t.created as created, t.changed as changed, :1 as now from task_periodic t where 1 = 1 and t.name = :2 and t.application = :3
order by t.scope, t.id

-- timers
--   number, text, number
select t.scope, t.id, t.name, t.application, t.note, t.timer, t.summary, t.topic, t.identifier, t.input, t.last_topic, t.status, t.priority, t.max_tries, t.misfire, t.late_ms, t.overlap, t.jitter_ms, t.max_count, t.fired, t.skipped, t.last_sequence, t.headers as headers, t.starts as starts, t.ends as ends, t.occurrence as occurrence, t.due as due, t.last_occurrence as last_occurrence, t.created as created, t.changed as changed, :1 as now from task_periodic t where t.scope = :2 and t.status = :3 order by t.scope, t.id

-- timers
--   number, text, text
select t.scope, t.id, t.name, t.application, t.note, t.timer, t.summary, t.topic, t.identifier, t.input, t.last_topic, t.status, t.priority, t.max_tries, t.misfire, t.late_ms, t.overlap, t.jitter_ms, t.max_count, t.fired, t.skipped, t.last_sequence, t.headers as headers, t.starts as starts, t.ends as ends, t.occurrence as occurrence, t.due as due, t.last_occurrence as last_occurrence, t.created as created, t.changed as changed, :1 as now from task_periodic t where 1 = 1 and t.scope = :2 and t.application = :3
order by t.scope, t.id

-- timers
--   number, number
select t.scope, t.id, t.due as due, :1 as now
from task_periodic t
where t.due is not null
order by t.due
fetch first :2 rows only

-- timers
--   text, text, number
select t.id from task_periodic t where t.scope = :1 and t.id = :2 and t.due is not null and t.due <= :3 order by t.scope, t.id for update skip locked

-- timers
--   number, text, text, number
select t.scope, t.id, t.name, t.application, t.note, t.timer, t.summary, t.topic, t.identifier, t.input, t.last_topic, t.status, t.priority, t.max_tries, t.misfire, t.late_ms, t.overlap, t.jitter_ms, t.max_count, t.fired, t.skipped, t.last_sequence, t.headers as headers, t.starts as starts, t.ends as ends, t.occurrence as occurrence, t.due as due, t.last_occurrence as last_occurrence, t.created as created, t.changed as changed, :1 as now from task_periodic t where t.scope = :2 and t.id = :3 and t.due is not null and t.due <= :4 order by t.scope, t.id

-- topics
select topic from task_topic order by topic

-- upcoming, why
--   text
select p.ordering, p.condition, p.stage, (select k.ms from task_clock k) as now,
case when a.active = 0 then 1 else 0 end as paused,
a.changed as changed, a.actor, a.note
from task_topic p
left join task_activation a on a.topic = p.topic
where p.topic = :1

-- upcoming
--   JSON, text
select t.sequence, t.identifier, t.priority, t.created as created
from
(select /*+ leading(w t) use_nl(t) index(t) */ t.*
  from json_table(:1, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w, task t
  where t.topic = :2 and t.sequence = w.wanted) t
where 1 = 1 and t.state = 1

-- upcoming
--   text, number
select t.sequence, t.identifier, t.tries, t.due as due
from task t
where t.topic = :1 and t.due is not null and t.due < 253402300799000 and t.state = 4
order by t.topic, t.due
fetch first :2 rows only

-- upcoming, why
--   number, text
select p.ordering, p.condition, p.stage, :1 as now,
case when a.active = 0 then 1 else 0 end as paused,
a.changed as changed, a.actor, a.note
from task_topic p
left join task_activation a on a.topic = p.topic
where p.topic = :2

-- verb
set transaction read only

-- verb
select x.topic, x.value
from (select p.topic, (select k.ms from task_clock k) - a.changed as value,
  (select t.created
    from task t
    where t.topic = p.topic and t.state = 1
    order by t.sequence
    fetch first 1 rows only) as oldest
  from task_topic p
  join task_activation a on a.topic = p.topic
  where a.active = 0) x
where x.oldest is not null
order by x.value desc
fetch first 100 rows only

-- verb
select p.topic
from task_topic p
where not exists (select 1 from task_activation a where a.topic = p.topic and a.active = 0)
order by p.topic
fetch first 1000 rows only

-- verb
--   text
select x.place, (select k.ms from task_clock k) - x.due as value
from (
  select 0 as place,
  (select t.due
    from task t
    where t.topic = :1 and t.due is not null
    order by t.due
    fetch first 1 rows only) as due from dual) x
where x.due <= (select k.ms from task_clock k)

-- verb
--   number, number
select /*+ leading(p t) use_nl(t) index(t task_open) */ t.topic, t.sequence, t.owner
from task_topic p
join task t on t.topic = p.topic and t.state = 0
where not exists (select 1 from task_owner o where o.owner = t.owner and o.heartbeat >= ((select k.ms from task_clock k) + :1))
fetch first :2 rows only

-- verb
--   text, number, text
select (select k.ms from task_clock k) - coalesce(o.heartbeat, t.held_since) as silent
from (select t.owner as holder, t.started as held_since
  from task t
  where t.topic = :1 and t.sequence = :2) t
left join task_owner o on o.owner = t.holder
where t.holder = :3

-- verb
select t.scope, t.id, (select k.ms from task_clock k) - t.due as value
from task_periodic t
where t.due is not null and t.due <= (select k.ms from task_clock k)
order by t.due
fetch first 100 rows only

-- verb
select x.topic
from (select p.topic,
  (select t.ended
    from task_attempt t
    where t.topic = p.topic
    order by t.ended desc
    fetch first 1 rows only) as ended
  from task_topic p) x
where x.ended is not null
order by x.ended desc
fetch first 100 rows only

-- verb
--   text, text
select t.sequence, t.tries as value
from (select a.sequence
  from task_attempt a
  where a.topic = :1
  order by a.ended desc
  fetch first 100 rows only) r
cross join task t
where t.topic = :2 and t.sequence = r.sequence
and (t.state in (0, 1) or t.state = 4 and t.due is not null)
order by t.tries desc
fetch first 1 rows only

-- verb
select p.topic, p.ordering, p.condition as polled_if
from task_topic p
where p.condition >= 2
order by p.topic
fetch first 100 rows only

-- verb
select x.topic, (select k.ms from task_clock k) - x.oldest as value
from (select p.topic,
  (select t.created
    from task t
    where t.topic = p.topic and t.state = 1
    order by t.sequence
    fetch first 1 rows only) as oldest
  from task_topic p
  where not exists (select 1 from task_activation a where a.topic = p.topic and a.active = 0)) x
where x.oldest is not null
order by x.oldest
fetch first 1000 rows only

-- verb
--   text, JSON, text
select x.blocker, count(*) as waiting
from (select
  (select min(b.sequence)
    from task b
    where b.topic = :1 and b.identifier = t.identifier and b.stage = 2 and b.sequence < t.sequence) as blocker from
  (select /*+ leading(w t) use_nl(t) index(t) */ t.*
    from json_table(:2, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w, task t
    where t.topic = :3 and t.sequence = w.wanted) t
  where 1 = 1) x
where x.blocker is not null
group by x.blocker

-- verb
--   text, number
select t.sequence, t.identifier, (select k.ms from task_clock k) - coalesce(t.completed, t.created) as value
from task t
where t.topic = :1 and t.sequence = :2

-- verb
--   text, JSON, text
select x.blocker, count(*) as waiting
from (select
  (select min(b.sequence)
    from task b
    where b.topic = :1 and b.identifier = t.identifier and b.stage = 3 and b.sequence < t.sequence) as blocker from
  (select /*+ leading(w t) use_nl(t) index(t) */ t.*
    from json_table(:2, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w, task t
    where t.topic = :3 and t.sequence = w.wanted) t
  where 1 = 1) x
where x.blocker is not null
group by x.blocker

-- verb
--   number
select x.topic, x.value
from (select p.topic, :1 - a.changed as value,
  (select t.created
    from task t
    where t.topic = p.topic and t.state = 1
    order by t.sequence
    fetch first 1 rows only) as oldest
  from task_topic p
  join task_activation a on a.topic = p.topic
  where a.active = 0) x
where x.oldest is not null
order by x.value desc
fetch first 100 rows only

-- verb
--   number, text, number
select x.place, :1 - x.due as value
from (
  select 0 as place,
  (select t.due
    from task t
    where t.topic = :2 and t.due is not null
    order by t.due
    fetch first 1 rows only) as due from dual) x
where x.due <= :3

-- verb
--   number, number, number
select /*+ leading(p t) use_nl(t) index(t task_open) */ t.topic, t.sequence, t.owner
from task_topic p
join task t on t.topic = p.topic and t.state = 0
where not exists (select 1 from task_owner o where o.owner = t.owner and o.heartbeat >= (:1 + :2))
fetch first :3 rows only

-- verb
--   number, text, number, text
select :1 - coalesce(o.heartbeat, t.held_since) as silent
from (select t.owner as holder, t.started as held_since
  from task t
  where t.topic = :2 and t.sequence = :3) t
left join task_owner o on o.owner = t.holder
where t.holder = :4

-- verb
--   number, number
select t.scope, t.id, :1 - t.due as value
from task_periodic t
where t.due is not null and t.due <= :2
order by t.due
fetch first 100 rows only

-- verb
--   number
select x.topic, :1 - x.oldest as value
from (select p.topic,
  (select t.created
    from task t
    where t.topic = p.topic and t.state = 1
    order by t.sequence
    fetch first 1 rows only) as oldest
  from task_topic p
  where not exists (select 1 from task_activation a where a.topic = p.topic and a.active = 0)) x
where x.oldest is not null
order by x.oldest
fetch first 1000 rows only

-- verb
--   number, text, number
select t.sequence, t.identifier, :1 - coalesce(t.completed, t.created) as value
from task t
where t.topic = :2 and t.sequence = :3

-- why
--   text
select o.heartbeat as heartbeat from task_owner o where o.owner = :1

-- why
--   text
select n.lease_ms, n.release_name, n.topics, n.seen as seen from task_node n where n.owner = :1

-- why
--   text, number
select t.attempt, t.ended as ended, t.error, t.release_name, t.trace
from task_attempt t
where t.topic = :1 and t.sequence = :2
order by t.attempt desc
fetch first 1 rows only

-- why
--   text
select t.kind, t.amount, t.per_ms, t.used from task_limit t where t.topic = :1 and t.kind in ('total', 'rate')

-- why
--   text, number, number
select count(*) as ahead from (
  select t.sequence
  from task t
  where t.topic = :1 and t.state = 1
  order by t.sequence
  fetch first :2 rows only) f where f.sequence < :3

-- why
--   text, number
select e.next_topic, e.next_sequence
from task_result e
where e.topic = :1 and e.sequence = :2 and e.next_topic is not null
fetch first 1 rows only

-- why
--   text, text, number
select t.sequence
from task t
where t.topic = :1 and t.identifier = :2 and t.stage = 0 and t.sequence <> :3
order by t.sequence
fetch first 1 rows only

