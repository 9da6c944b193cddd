import type { Check } from './check.ts'

const production = 'guides/postgres-in-production.md'
const operations = 'operations.md'
const engines = 'guides/engines.md'
const onPostgres = 'PostgreSQL'
const onMysql = 'MariaDB and MySQL'
const onSqlite = 'SQLite'

type ChecksOfPostgres =
  | 'postgres-version'
  | 'transaction-prepared'
  | 'replication-slot'
  | 'hot-updates'
  | 'dead-rows'
  | 'never-analysed'
  | 'index-invalid'
  | 'partition-detaching'
  | 'autovacuum'
  | 'wraparound'
  | 'partition-locks'
  | 'fsync'
  | 'full-page-writes'
  | 'synchronous-commit'

export const checksOfPostgres: Readonly<Record<ChecksOfPostgres, Check>> = {
  'postgres-version': {
    where: onPostgres,
    measures: 'the release of the server',
    says: '{version}',
    remedy: 'upgrade the server: our tests run on 15 and later',
    page: engines,
  },
  'transaction-prepared': {
    where: onPostgres,
    measures: 'the age of the oldest prepared transaction, because of which dead rows are kept',
    says: '{value}: {gid} of {username}',
    remedy: 'commit it or undo it, as its coordinator says: {remedy}',
    page: operations,
  },
  'replication-slot': {
    where: onPostgres,
    measures: 'for how long a replication slot that keeps dead rows has been inactive',
    says: 'the {kind} slot {name} has been inactive for {value}, and keeps what is dead since {transactions} transactions',
    remedy: 'start its replica, or drop the slot: {remedy}',
    page: operations,
  },
  'hot-updates': {
    where: onPostgres,
    measures: 'updates of a table that wrote no index (HOT)',
    says: '{value} of {size} updates of {name}',
    remedy: 'leave more room in its pages: {remedy}. Topics with an order or a condition write indexes anyway',
    page: 'performance.md',
  },
  'dead-rows': {
    where: onPostgres,
    measures: 'dead rows of a table, of all its rows',
    says: '{value} of {name}: {size} rows',
    remedy: 'see first what holds them, then: {remedy}',
    page: operations,
  },
  'never-analysed': {
    where: onPostgres,
    measures: 'tables of which the planner has no statistics',
    says: '{name} has {size} rows',
    remedy: '{remedy}',
    page: operations,
  },
  'index-invalid': {
    where: onPostgres,
    measures: 'indexes on our tables that are not valid: they cost writes and serve no read',
    says: '{name}',
    remedy: '{remedy}, and make it again if it is one of ours',
    page: operations,
  },
  'partition-detaching': {
    where: onPostgres,
    measures: 'partitions whose detachment was interrupted',
    says: '{name}',
    remedy: '{remedy}',
    page: production,
  },
  autovacuum: {
    where: onPostgres,
    measures: 'whether autovacuum is off, for the server or for a table of ours',
    says: '{name}',
    remedy: '{remedy}',
    page: operations,
  },
  wraparound: {
    where: onPostgres,
    measures: 'the age of the oldest row of the database that is not frozen',
    remedy: '{remedy}, once nothing holds old rows: at two thousand million the server takes no more writes',
    page: operations,
  },
  'partition-locks': {
    where: onPostgres,
    measures: 'locks of a statement that reads every partition, of those that the server has room for',
    says: '{value}: {locks} locks for {partitions} partitions, of {most}',
    remedy: 'raise max_locks_per_transaction, or keep fewer topics',
    page: production,
  },
  fsync: {
    where: onPostgres,
    measures: 'whether fsync is off: a crash of the machine may destroy the database',
    says: '{setting}',
    remedy: '{remedy}',
    page: production,
  },
  'full-page-writes': {
    where: onPostgres,
    measures: 'whether full_page_writes is off: a crash of the machine may destroy pages',
    says: '{setting}',
    remedy: '{remedy}',
    page: production,
  },
  'synchronous-commit': {
    where: onPostgres,
    measures: 'whether synchronous_commit is off: a crash may undo the last commits, and their tasks are done again',
    says: '{setting}',
    remedy: '{remedy}',
    page: production,
  },
}

type ChecksOfMysql =
  | 'mariadb-version'
  | 'mysql-version'
  | 'storage-engine'
  | 'collation'
  | 'history-list'
  | 'flush-log'
  | 'cluster-state'
  | 'cluster-writers'
  | 'cluster-flow'

export const checksOfMysql: Readonly<Record<ChecksOfMysql, Check>> = {
  'mariadb-version': {
    where: 'MariaDB',
    measures: 'the release of the server',
    says: '{version}',
    remedy: 'upgrade the server: older ones cannot skip locked rows',
    page: engines,
  },
  'mysql-version': {
    where: 'MySQL',
    measures: 'the release of the server',
    says: '{version}',
    remedy: 'upgrade the server: older ones cannot skip locked rows',
    page: engines,
  },
  'storage-engine': {
    where: onMysql,
    measures: 'tables of another engine than InnoDB, which has no transactions',
    says: '{name} is of {setting}',
    remedy: '{remedy}',
    page: engines,
  },
  collation: {
    where: onMysql,
    measures: 'columns of another collation than they were made with: identifiers that differ would be equal',
    says: '{name}.{part} has {setting}',
    remedy: '{remedy}',
    page: engines,
  },
  'history-list': {
    where: onMysql,
    measures: 'transactions whose old rows are not purged yet',
    remedy: 'end the oldest transaction, and see whether the purge keeps up',
    page: engines,
  },
  'flush-log': {
    where: onMysql,
    measures: 'whether commits are not flushed to the disk: a crash may undo the last ones, and their tasks are done again',
    says: 'innodb_flush_log_at_trx_commit is {setting}',
    remedy: '{remedy}',
    page: engines,
  },
  'cluster-state': {
    where: 'MariaDB',
    measures: 'whether this node of a Galera cluster is not synced',
    says: '{state}',
    remedy: 'give our nodes the address of a node that is synced',
    page: engines,
  },
  'cluster-writers': {
    where: 'MariaDB',
    measures: 'nodes in mode transactional, where several servers of a Galera cluster take writes',
    says: '{node} processes topics in mode transactional, and several servers of the cluster have taken {size} transactions each',
    remedy: 'give all our nodes the address of one server of the cluster, or process in mode leased',
    page: engines,
  },
  'cluster-flow': {
    where: 'MariaDB',
    measures: 'the time for which the cluster was paused by flow control',
    remedy: 'see which node of the cluster applies writes too slowly',
    page: engines,
  },
}

type ChecksOfSqlite =
  | 'journal'
  | 'synchronous'
  | 'busy-timeout'
  | 'wal-size'
  | 'network-files'
  | 'free-space'
  | 'free-pages'
  | 'statistics'
  | 'integrity'

export const checksOfSqlite: Readonly<Record<ChecksOfSqlite, Check>> = {
  journal: {
    where: onSqlite,
    measures: 'whether the file has another journal than a write-ahead log: readers wait for writers then',
    says: '{setting}',
    remedy: 'pragma journal_mode = wal',
    page: engines,
  },
  synchronous: {
    where: onSqlite,
    measures: 'whether this connection does not wait for the disk: a power cut may destroy the file',
    says: 'synchronous is {setting}',
    remedy: 'pragma synchronous = full, on every connection',
    page: engines,
  },
  'busy-timeout': {
    where: onSqlite,
    measures: 'how long this connection waits for another that writes',
    remedy: 'pragma busy_timeout = 5000, on every connection',
    page: engines,
  },
  'wal-size': {
    where: onSqlite,
    measures: 'the size of the write-ahead log',
    remedy: 'end the reader that never ends, one of the processes that fuser {path} lists; then: pragma wal_checkpoint(truncate)',
    page: engines,
  },
  'network-files': {
    where: onSqlite,
    measures: 'whether the file lies on a network, where locks do not keep writers apart',
    says: '{kind}',
    remedy: 'keep the file on a disk of the machine that runs the nodes',
    page: engines,
  },
  'free-space': {
    where: onSqlite,
    measures: 'free space of the file system',
    remedy: 'make room, or purge tasks and run vacuum',
    page: 'guides/backup.md',
  },
  'free-pages': {
    where: onSqlite,
    measures: 'pages of the file that hold nothing',
    says: '{value} of the file, {size} bytes',
    remedy: 'vacuum, while nothing writes',
    page: engines,
  },
  statistics: {
    where: onSqlite,
    measures: 'whether the planner has no statistics of a large file',
    says: 'none, of about {size} rows',
    remedy: 'analyze, or the verb `refresh`',
    page: engines,
  },
  integrity: {
    where: 'every engine',
    measures: 'damage that a check runs into, on any engine; with --deep also what quick_check finds in the whole file of SQLite',
    says: '{problem}',
    remedy: 'stop the nodes, copy the database as it is, and restore a backup',
    page: 'guides/backup.md',
  },
}
