import { checkText, invalid } from '@taskstream/task-api'
import type { Tables } from '../../core/dialect.ts'
import { raw } from '../../core/statement.ts'
import type { Statement } from '../../core/statement.ts'

/** The tables of PostgreSQL. Some of them only its claims need. */
export interface PostgresTables extends Tables {
  readonly sequence: Statement
  readonly holding: Statement
  readonly lane: Statement
  /** The ranges in which tasks of topics that keep outcomes are held. */
  readonly range: Statement
  /** The function that makes a topic's partition, if the table is partitioned. */
  readonly attach: Statement
  /** Whether each topic has a partition of its own. */
  readonly partitioned: boolean
  /** The schema's name, quoted. */
  readonly schema: string
  readonly pretty: Statement
  readonly turnSequence: Statement
  /** The task table's name as a text, for queries of the catalogue. */
  readonly taskName: string
  /** The name of the sequence of tasks, as a text. */
  readonly sequenceName: string
  /** The task table as a constant for the catalogue's functions. It is looked up once in each plan; a parameter would be at each use. */
  readonly taskClass: Statement
  /** The sequence of tasks as a constant. */
  readonly sequenceClass: Statement
}

/** The tables in a schema. @throws TaskError ARGUMENT_INVALID unless its name is 1 to 40 letters, digits and underscores */
export function tablesOf(schema: string, partitioned = false): PostgresTables {
  checkedName('schema', schema)
  const table = (name: string): Statement => raw(`${quote(schema)}.${name}`)
  return {
    task: table('task'),
    topic: table('task_topic'),
    owner: table('task_owner'),
    migration: table('task_migration'),
    sequence: table('task_sequence'),
    holding: table('task_holding'),
    lane: table('task_lane'),
    range: table('task_range'),
    attach: table('task_attach'),
    partitioned,
    schema: quote(schema),
    pretty: table('task_pretty'),
    turn: table('task_turn'),
    activation: table('task_activation'),
    periodic: table('task_periodic'),
    result: table('task_result'),
    attempt: table('task_attempt'),
    dependency: table('task_dependency'),
    limit: table('task_limit'),
    slot: table('task_slot'),
    node: table('task_node'),
    audit: table('task_audit'),
    turnSequence: table('task_turn_sequence'),
    taskName: `${quote(schema)}.task`,
    sequenceName: `${quote(schema)}.task_sequence`,
    taskClass: raw(`'${quote(schema)}.task'::regclass`),
    sequenceClass: raw(`'${quote(schema)}.task_sequence'::regclass`),
  }
}

/** @throws TaskError ARGUMENT_INVALID unless a name is 1 to 40 letters, digits and underscores */
export function checkedName(argument: string, name: string): string {
  checkText(argument, name, 40)
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) throw invalid(argument, name, 'must be letters, digits and underscores')
  return name
}

/** Quotes a name. It must have been checked: it has only letters, digits and underscores. */
export function quote(name: string): string {
  return `"${name}"`
}
