-- Least rights for the API, the workers and the console on PostgreSQL. Run it as the owner of the tables, after src/migrate.ts.
grant usage on schema taskstream to shop_worker;
grant select on taskstream.task_migration to shop_worker;
grant select, insert, update, delete on taskstream.task, taskstream.task_topic, taskstream.task_owner, taskstream.task_holding,
  taskstream.task_lane, taskstream.task_range, taskstream.task_activation, taskstream.task_periodic, taskstream.task_dependency,
  taskstream.task_limit, taskstream.task_slot, taskstream.task_node to shop_worker;
grant select, insert, delete on taskstream.task_turn, taskstream.task_result, taskstream.task_attempt to shop_worker;
grant select, insert, delete on taskstream.task_audit to shop_worker;
grant usage, select on sequence taskstream.task_sequence, taskstream.task_turn_sequence to shop_worker;
grant execute on function taskstream.task_attach(text), taskstream.task_blocks_open(text, bigint), taskstream.task_blocks_close(text),
  taskstream.task_blocks_draw(text, integer) to shop_worker;
grant select, insert, update, delete on orders, invoices, mails, carts to shop_worker;
