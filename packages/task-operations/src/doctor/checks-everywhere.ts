import type { Check } from './check.ts'

const operations = 'operations.md'
const nodes = 'guides/nodes.md'
const where = 'every engine'

type ChecksEverywhere =
  | 'reachable'
  | 'round-trip'
  | 'clock'
  | 'schema'
  | 'rights'
  | 'wake-up'
  | 'nobody-processes'
  | 'node-failing'
  | 'failing'
  | 'release-skew'
  | 'options-unlike'
  | 'event-loop'
  | 'paused'
  | 'overdue'
  | 'owner-silent'
  | 'timer-overdue'
  | 'retry-endless'
  | 'identifier-blocked'
  | 'history'
  | 'attempts'

/** Checks of the connection, the tables and the tasks. */
export const checksEverywhere: Readonly<Record<ChecksEverywhere, Check>> = {
  reachable: {
    where,
    measures: 'whether the database answers',
    remedy: 'see whether the server runs, and whether the address, the user and the password are right',
    page: operations,
  },
  'round-trip': {
    where,
    measures: 'the fastest of three round trips',
    remedy: 'run nodes near the database: each poll and each completion is a round trip at least',
    page: 'performance.md',
  },
  clock: {
    where,
    measures: 'how far the clock of this process is from the clock of the database',
    says: '{value} {side}',
    remedy:
      'see which machine is wrong (timedatectl), and synchronise it: timedatectl set-ntp true. Tasks go by the clock of the database',
    page: 'guides/clocks.md',
  },
  schema: {
    where,
    measures: 'whether this release works on the tables',
    says: '{state}: version {found}, and this release makes version {known}',
    remedy: '{remedy}',
    page: operations,
  },
  rights: {
    where: 'servers',
    measures: 'rights of a working user that this user lacks',
    says: '{needed}',
    remedy: 'unless this user only looks: {remedy}',
    page: 'guides/grants.md',
  },
  'wake-up': {
    where: 'PostgreSQL',
    measures: 'whether a notification is heard within a second',
    says: 'no notification was heard within {value}: nodes find tasks only by polling',
    remedy: "give the listener the server's own address: a pooler without sessions delivers no notifications",
    page: 'guides/postgres-in-production.md',
  },
  'nobody-processes': {
    where,
    measures: 'the age of the oldest ready task of a topic that no living node tells of, among topics that are not paused',
    says: '{topic} has had ready tasks for {value}, and nobody processes it; {last}',
    remedy: 'start a node for {topic}',
    page: nodes,
  },
  'node-failing': {
    where,
    measures: 'living nodes that report an error beside those of handlers, of all nodes of the topic',
    says: '{node} {topic}: {activity} fails: {message}',
    remedy: 'taskstream nodes, which tells what',
    page: nodes,
  },
  failing: {
    where,
    measures: 'attempts that failed in the last minute, of those that ended, as nodes tell',
    says: '{failed} of {size} attempts of {topic}',
    remedy: 'taskstream errors {topic}',
    page: 'guides/operators.md',
  },
  'release-skew': {
    where,
    measures: 'for how long living nodes of several releases have run side by side',
    says: 'releases {releases} have run side by side for {value}',
    remedy: 'end the deploy: taskstream nodes tells which node has which release',
    page: nodes,
  },
  'options-unlike': {
    where,
    measures: 'topics that living nodes process with another mode, batch size or concurrency',
    says: 'nodes of {topic} differ in their {options}',
    remedy: 'taskstream nodes, and give all nodes of {topic} the same options',
    page: nodes,
  },
  'event-loop': {
    where,
    measures: 'for how long the event loop of a living node stood still in the last minute',
    says: '{node} stood still for {value}',
    remedy: 'move work that computes for long to a worker thread, or give the process more of the machine',
    page: nodes,
  },
  paused: {
    where,
    measures: 'how long a topic with ready tasks has been paused',
    says: '{topic} has been paused for {value}, and has ready tasks',
    remedy: 'taskstream resume {topic}',
    page: operations,
  },
  overdue: {
    where,
    measures: 'for how long a delayed task has been due, among the first 1,000 topics that are not paused',
    says: 'a task of {topic} has been due for {value}, and no node makes it ready',
    remedy: 'start a node for {topic}, or see why its nodes do not poll',
    page: operations,
  },
  'owner-silent': {
    where,
    measures: 'the silence of an owner that holds tasks',
    says: '{owner} holds tasks of {topic} and has been silent for {value}',
    remedy: 'start a node: any node takes over tasks of silent owners',
    page: operations,
  },
  'timer-overdue': {
    where,
    measures: 'for how long a timer has been due',
    says: 'timer {id} of scope {scope} has been due for {value}, and nobody fires it',
    remedy: 'start a process with a scheduler of scope {scope}',
    page: 'guides/periodic-tasks.md',
  },
  'retry-endless': {
    where,
    measures: 'tries of an open task, among the newest 100 attempts of a topic',
    says: '@{sequence} of {topic} has been tried {value} times',
    remedy: 'taskstream cancel {topic} @{sequence}, and give the handler a maximum of tries',
    page: 'guides/retries.md',
  },
  'identifier-blocked': {
    where,
    measures:
      'for how long a failed or suspended task has kept later tasks of its identifier waiting, among the first 100 ready tasks',
    says: '@{sequence} of {topic} has kept {waiting} tasks of {identifier} waiting for {value}',
    remedy: 'taskstream redrive {topic} @{sequence}, or taskstream cancel {topic} @{sequence}',
    page: 'guides/topics.md',
  },
  history: {
    where,
    measures: 'rows of tasks, by estimate',
    remedy: 'give topics `retainMs`, so that nodes purge ended tasks',
    page: operations,
  },
  attempts: {
    where,
    measures: 'rows of attempts, by estimate',
    remedy: 'purge old attempts: nodes do, after `keepAttemptsMs`',
    page: operations,
  },
}

type ChecksOfServers = 'read-only' | 'transaction-open' | 'lock-waits' | 'connections'

/** Checks of servers of any kind. */
export const checksOfServers: Readonly<Record<ChecksOfServers, Check>> = {
  'read-only': {
    where: 'servers',
    measures: 'whether the server refuses writes',
    says: 'the server is {state}',
    remedy: 'give nodes the address of the server that takes writes',
    page: 'guides/postgres-in-production.md',
  },
  'transaction-open': {
    where: 'servers',
    measures: 'the age of the oldest transaction, because of which dead rows are kept',
    says: '{value}: session {pid} of {username} {application}, {state}',
    remedy: 'end it, once you know what it does: {remedy}',
    page: operations,
  },
  'lock-waits': {
    where: 'servers',
    measures: 'how long a session has waited for a lock on our tables',
    says: 'session {pid} has waited for {value} {whom}',
    remedy: 'end the one in the way, once you know what it does: {remedy}',
    page: 'guides/timeouts.md',
  },
  connections: {
    where: 'servers',
    measures: 'connections in use, of those that the server allows',
    says: '{value}: {used} of {most}',
    remedy: 'give pools fewer connections, or put a pooler before the server',
    page: 'guides/drivers.md',
  },
}
