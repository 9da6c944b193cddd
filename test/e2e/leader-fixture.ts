/** Nodes of a group on the engine under test, with short intervals, and a table for what leaders write. */
import { randomUUID } from 'node:crypto'
import type { CoordinationRepository, Execution, TransactionSource } from '@taskstream/task-api'
import { Leader } from '@taskstream/task-coordination'
import type { CoordinatedRepository, LeaderOptions } from '@taskstream/task-coordination'
import { raw, sql } from '@taskstream/task-sql'
import { whileTested } from '@taskstream/task-testing/suite'
import { isMysql, openSubject, textColumn } from '../subject.ts'
import type { AnyTransaction, Subject } from '../subject.ts'

export type TestedLeader = Leader<AnyTransaction>
export type TestedLeaderOptions = Partial<LeaderOptions<AnyTransaction>>

export interface LeaderFixture extends AsyncDisposable {
  readonly subject: Subject
  /** A group for the running test. */
  readonly groupId: string
  readonly repository: CoordinatedRepository<AnyTransaction>
  readonly coordination: CoordinationRepository<AnyTransaction, Execution>
  readonly transactions: TransactionSource<AnyTransaction>
  /** A node of the group, which is stopped when the test ends. */
  node(options?: TestedLeaderOptions): TestedLeader
  /** Writes a line in a transaction of the leader. */
  write(transaction: AnyTransaction, line: string): Promise<unknown>
  /** What leaders of the group have committed, in the order of their writing. */
  written(): Promise<string[]>
  /** Runs a statement as the owner of the tables. */
  execute(statement: ReturnType<typeof sql>): Promise<readonly Readonly<Record<string, unknown>>[]>
  begin(): void
}

/** A fixture whose tables were made by hand, as other programs need them. */
export function useLeaderFixture(): LeaderFixture {
  return whileTested(openLeaderFixture, (fixture) => Promise.resolve(fixture.begin()))
}

const definitions = [
  raw('create table token_holder (group_id varchar(255) primary key, task_id varchar(255), term integer)'),
  raw(
    `create table health_check (task_id varchar(255), group_id varchar(255), last_heartbeat timestamp${isMysql ? '(6)' : ''}, primary key (task_id, group_id))`,
  ),
  sql`create table leader_line (group_id ${textColumn}, line ${textColumn})`,
]

async function openLeaderFixture(): Promise<LeaderFixture> {
  const subject = await openSubject()
  const repository = subject.tasks() as unknown as CoordinatedRepository<AnyTransaction>
  const { transactions } = subject
  const nodes: TestedLeader[] = []
  let groupId = ''
  await transactions(async (transaction) => {
    for (const definition of definitions) await subject.execute(transaction, definition)
  })
  const execute: LeaderFixture['execute'] = (statement) =>
    transactions(async (transaction) => (await subject.execute(transaction, statement)) as never)
  return {
    subject,
    get groupId() {
      return groupId
    },
    repository,
    coordination: repository.coordination,
    transactions,
    node: (options = {}) => {
      const leader = new Leader<AnyTransaction>({
        repository,
        transactions,
        groupId,
        taskId: `node ${nodes.length + 1}`,
        // Long, so that a busy machine changes no leader.
        livenessCheckIntervalMs: 60_000,
        heartbeatIntervalMs: 100,
        ...options,
      })
      nodes.push(leader)
      return leader
    },
    write: async (transaction, line) =>
      subject.execute(transaction, sql`insert into leader_line (group_id, line) values (${groupId}, ${line})`),
    written: async () =>
      (await execute(sql`select line from leader_line where group_id = ${groupId} order by ${raw('line')}`)).map(({ line }) =>
        String(line),
      ),
    execute,
    begin: () => {
      groupId = randomUUID()
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all(nodes.map((node) => node.stop({ graceMs: 0 })))
      await subject[Symbol.asyncDispose]()
    },
  }
}
