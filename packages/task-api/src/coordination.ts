import type { Execution, Outcome } from './execution.ts'

/** A node of a group, of which one leads at a time. */
export interface GroupMember {
  readonly groupId: string
  /** The node's own name in the group. */
  readonly taskId: string
}

/** Who leads a group, as the database has it. */
export interface GroupLeader {
  /** Empty if the row names nobody. */
  readonly taskId: string
  /** How often the leader has changed. It never decreases. */
  readonly term: number
  /** The leader's last heartbeat, which differs from the one before it. Null if the leader has left the group. */
  readonly heartbeat: string | null
}

/** A leader that another one follows. */
export interface FollowedLeader extends Pick<GroupLeader, 'taskId' | 'term'> {
  /** The heartbeat that must still be its last: null if it must have none. Undefined: whatever it is. */
  readonly heartbeat?: string | null
}

/** What the tables of coordination are like. */
export interface CoordinationTables {
  /** Whether both tables are there. */
  readonly found: boolean
  /** Whether keys keep a group from having two rows, and a node two heartbeats. */
  readonly isKeyed: boolean
  /** How many characters an id may have. */
  readonly idLength: number
  /** How far apart two heartbeats must be to be told apart, in milliseconds. */
  readonly resolutionMs: number
}

/**
 * Keeps who leads a group, with these verbs in the caller's own transaction. Its tables are those of Ballerina's task library: `token_holder` has the leader
 * and its term, `health_check` the heartbeats.
 */
export interface CoordinationRepository<Transaction, E extends Execution = 'async'> {
  /** @throws TaskError RUNTIME_UNSUPPORTED on Oracle */
  tables(transaction: Transaction): Outcome<E, CoordinationTables>
  /** Makes those tables that are not there. On MariaDB and MySQL this commits the transaction. */
  createTables(transaction: Transaction): Outcome<E, void>
  /** Notes that a node is alive, by the database's clock. */
  beat(transaction: Transaction, member: GroupMember): Outcome<E, void>
  /** Removes the heartbeat of a node. If the node leads, others may take over at once. */
  leave(transaction: Transaction, member: GroupMember): Outcome<E, void>
  /**
   * Reads who leads the group of a node, without a lock. Undefined if nobody has ever led it. If the database takes the leader's id for that of the node, as
   * its columns may not tell small letters from capital ones, the leader has the node's.
   *
   * @throws TaskError ARGUMENT_INVALID if the database takes the group for another one
   */
  leader(transaction: Transaction, member: GroupMember): Outcome<E, GroupLeader | undefined>
  /**
   * Makes a node the leader, by one conditional statement: only if the leader is still the one that was seen, and has sent no heartbeat since.
   *
   * @param term the new term, greater than all that the node knows of
   * @param seen the leader to follow; undefined if there was none
   * @returns `'changed'` if something has changed since; `'busy'` if a transaction of the leader is under way, which is not waited for
   */
  takeOver(
    transaction: Transaction,
    member: GroupMember,
    term: number,
    seen: FollowedLeader | undefined,
  ): Outcome<E, 'taken' | 'busy' | 'changed'>
  /**
   * Tells whether a node leads in this term, and lets nobody take over until the transaction ends. Several transactions of the leader may be under way.
   */
  holds(transaction: Transaction, member: GroupMember, term: number): Outcome<E, boolean>
  /**
   * Has the server end the connection if the transaction idles for so long, so that a process that stands still lets go of its locks. On PostgreSQL this is
   * for the transaction alone. MariaDB and MySQL count whole seconds, and go on with it on this connection. SQLite has nothing like it.
   */
  limitIdle(transaction: Transaction, idleMs: number): Outcome<E, void>
}
