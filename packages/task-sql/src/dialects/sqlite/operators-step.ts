import type { MigrationStep } from '../../core/dialect.ts'
import { raw } from '../../core/statement.ts'

/** The step of migrations that adds what operators look at. */
export const operatorsStep: MigrationStep = {
  version: 8,
  name: 'operators',
  // Older releases tell nothing of themselves, and may keep running.
  worksFrom: 2,
  statements: [
    raw('alter table task_attempt add column fingerprint text'),
    raw('alter table task_attempt add column release_name text'),
    raw('create index task_attempt_fingerprint on task_attempt (topic, fingerprint, ended) where fingerprint is not null'),
    raw('alter table task_activation add column actor text'),
    raw('alter table task_activation add column note text'),
    raw(`
      create table task_node (
        owner text primary key,
        name text not null,
        kind text not null,
        host text not null,
        pid integer not null,
        release_name text,
        started integer not null,
        seen integer not null,
        lease_ms integer not null,
        quiet integer not null default 0,
        topics text not null,
        report text not null
      ) strict, without rowid`),
    raw(`
      create table task_audit (
        id text primary key,
        made integer not null,
        action text not null,
        topic text,
        actor text,
        via text,
        undoes text,
        note text,
        amount integer not null,
        filter text,
        sequences text,
        former text
      ) strict, without rowid`),
    raw('create index task_audit_made on task_audit (made)'),
  ],
}
