/** Which engines run which test files. All engines run a file that is not listed. */
import { engineNames, factsOf } from './registry.ts'
import type { EngineFacts } from './registry.ts'

type Asked = (engine: EngineFacts, name: string) => boolean

const onPostgres: Asked = ({ family }) => family === 'postgres'
/** These tests need other connections, which write at the same time or end a connection. */
const onPostgresServer: Asked = ({ family, connections }) => family === 'postgres' && connections > 1
const onMysql: Asked = ({ family }) => family === 'mysql'
/** Engines whose connections do not go through a pooler. */
const direct: Asked = ({ pooled }) => !pooled
const oneOf =
  (...names: readonly string[]): Asked =>
  (_, name) =>
    names.includes(name)
/** Engines whose plain topics keep states. */
const keepsStates: Asked = ({ outcomes }) => !outcomes
const all =
  (...each: readonly Asked[]): Asked =>
  (engine, name) =>
    each.every((asked) => asked(engine, name))

const asked: Readonly<Record<string, Asked>> = {
  // These tests use several processes or connections, and a database in memory has only one of each.
  'faults/!(restored)': ({ faults }) => faults === true,
  'e2e/thread': all(({ connections }) => connections > 1, direct),
  // Its connections are refused writes outside of a transaction, after which one of libSQL commits nothing.
  'properties/hammer': all(
    ({ connections }) => connections > 1,
    (_, name) => name !== 'libsql',
  ),

  // The example is written for these two.
  // A commit that hangs is given up where its connection can be closed: by pg and mysql2.
  'e2e/jobs-hanging': ({ writers }) => writers > 1,
  'e2e/app': oneOf('sqlite-file', 'postgres-18'),
  // `busy` needs a file to which another connection writes.
  'conformance/busy': oneOf('sqlite-file', 'node-sqlite'),
  // Other libraries have connections of their own, which are not asked for their file.
  'e2e/file-gone': oneOf('sqlite-file', 'node-sqlite'),
  'conformance/own-transaction': oneOf('sqlite-memory', 'sqlite-file'),

  // A prepared begin of libSQL that was refused stays unfinished.
  'conformance/refused-begin': oneOf('libsql'),

  // Only PostgreSQL remembers what polls have passed, and finds names by a search path.
  'conformance/{aborted,search-path}': onPostgres,
  // Topics that keep outcomes have no low watermark.
  'conformance/{claim-ledger,claim-statement,fast-path-claim,poll-history,quiet,sequence}': all(onPostgres, keepsStates),
  'conformance/outcomes{,-kept}': onPostgresServer,
  'conformance/{autocommit,lost-transaction,maintenance,singular-function}': onPostgresServer,
  'conformance/{claim-history,claim-long-transaction,claim-passed,fast-path-assumptions,isolation,overtaken,prepared}': all(
    onPostgresServer,
    keepsStates,
  ),
  // A listener needs a connection of its own, which a pooler does not give.
  'conformance/{tasks,timers}-told': all(onPostgresServer, direct),
  'conformance/partition': ({ partitioned }) => partitioned === true,
  // These wait until the low watermark has moved.
  'properties/late-commit': all(onPostgresServer, keepsStates),
  // Its histories go through whole streams, as the tests of e2e do.
  'properties/facade-ends': ({ like }) => like === undefined,
  // Their schedules poll beside a poll whose transaction is open, or for a transaction.
  'properties/interleavings': keepsStates,
  // Blocks of numbers are drawn at once, so that none of another push are between.
  'conformance/{notes,push-between,repair-sequence}': keepsStates,
  'faults/{passing,slots-stopped}': keepsStates,
  // These are about the ends of processes and of leaders, and not about how tasks are held.
  'faults/{jobs-submitted,leaders,lost-at-begin}': keepsStates,
  'properties/stop-report': keepsStates,
  'faults/{connection-loss,retries}': oneOf('postgres-18', 'postgres-given'),

  // Rows can be locked by another transaction only where several transactions write.
  // Where ranges hold tasks, a poll looks at no lock of a row.
  'conformance/locked-rows': all(({ writers }) => writers > 1, keepsStates),
  'conformance/passed-over': all(({ family, writers }) => writers > 1 && family !== 'oracle', keepsStates),

  // The tests ask the server who waits for whom, in the SQL of PostgreSQL or of MariaDB.
  'conformance/{many-alike-rivals,waiting,timers-waiting}': ({ family, writers }) => writers > 1 && family !== 'oracle',

  // These are about settings and locks of MariaDB and MySQL.
  'conformance/{server,locks}': onMysql,
  // The variables that they set are MariaDB's.
  'conformance/{session-limit,locks-beside}': oneOf('mariadb'),
  'faults/{mysql,ignored-deadlock}': onMysql,

  // These kill servers, expect the plans of one release, or use connections from 127.0.0.1. A user's own server allows none of
  // this.
  'faults/{failover,server-crash}': oneOf('postgres-18'),
  'faults/galera': all(oneOf('mariadb'), ({ ownServer }) => !ownServer),

  // The tests query the server in the SQL of PostgreSQL or MariaDB.
  'faults/{given-up-unanswered,library-errors,encoding,own-statements,silence}': oneOf(
    'postgres-18',
    'postgres-given',
    'mariadb',
    'mysql',
  ),
  // Other servers have other dump commands.
  'faults/restored': oneOf('sqlite-file', 'node-sqlite', 'postgres-18', 'postgres-given', 'postgres-15', 'mariadb'),
  // The laboratory starts the servers that it crashes.
  // It starts a standby, or three nodes of Galera.
  'faults/availability': all(oneOf('postgres-18', 'mariadb'), ({ ownServer }) => !ownServer),
  'faults/laboratory': oneOf('sqlite-file', 'postgres-18', 'mariadb'),
  // This is about its checker, for which one engine is enough.
  'faults/laboratory-fence': oneOf('postgres-18'),

  'conformance/{doctor-drivers,driver-ends,drivers,unawaited}': all(
    ({ sealed, partitioned, family }) => !sealed && !partitioned && family !== 'oracle',
    keepsStates,
  ),
  'conformance/lost-connection': all(
    ({ sealed, partitioned, family, connections }) =>
      !sealed && !partitioned && connections > 1 && ['postgres', 'mariadb', 'mysql'].includes(family),
    keepsStates,
  ),
  // The test moves rows from topic to topic by hand, which other engines do in the same way or not at all.
  'conformance/left-tasks': oneOf('sqlite-memory', 'sqlite-file', 'postgres-18', 'mariadb'),
  // These need an engine on which the suite works with the least rights.
  'conformance/doctor-rights': ({ leastPrivilege }) => leastPrivilege === true,
  'conformance/doctor-pooled': ({ pooled }) => pooled === true,
  'conformance/grants': ({ leastPrivilege }) => leastPrivilege === true,
  // These tests start processes, which need a second connection.
  'e2e/reporting-killed': ({ connections }) => connections > 1,
  // One of its tests runs in a process of its own, which needs a second connection.
  'e2e/without-notifier': ({ connections }) => connections > 1,
  'e2e/pooled': ({ pooled }) => pooled === true,
  // A notification needs a connection of its own, and MariaDB has no notifications.
  'e2e/wake': all(direct, ({ family, connections }) => connections > 1 && (family === 'postgres' || family === 'sqlite')),
  // Its table has the entries of one engine of each family.
  'e2e/entries': oneOf('sqlite-file', 'postgres-18', 'mariadb'),
  // Processes take their time to start, so one engine of each family is enough.
  'e2e/cli': oneOf('sqlite-file', 'postgres-18', 'postgres-given', 'mariadb'),
  'e2e/cli-options': oneOf('sqlite-file', 'postgres-18', 'postgres-given', 'mariadb'),
  'e2e/cli-tasks': oneOf('sqlite-file', 'postgres-18', 'postgres-given', 'mariadb'),
  'e2e/cli-undo': oneOf('sqlite-file', 'postgres-18', 'postgres-given', 'mariadb'),
  'e2e/cli-operators': oneOf('sqlite-file', 'postgres-18', 'postgres-given', 'mariadb'),
  'e2e/cli-lists': oneOf('sqlite-file', 'postgres-18', 'postgres-given', 'mariadb'),
  // Nodes of some incidents work with the least rights, as users of the suite's own servers.
  'e2e/cli-incidents': all(oneOf('sqlite-file', 'postgres-18', 'mariadb'), ({ ownServer }) => !ownServer),
  'e2e/incident-script': oneOf('sqlite-file'),
  'e2e/cli-bulk': oneOf('sqlite-file', 'postgres-18', 'postgres-given', 'mariadb'),
  'e2e/cli-console': oneOf('sqlite-file', 'postgres-18', 'postgres-given', 'mariadb'),
  // Which database is meant, and what a terminal shows, are the same for every engine.
  'e2e/cli-source': oneOf('sqlite-file'),
  'e2e/cli-terminal': oneOf('sqlite-file'),
  'e2e/cli-completion': oneOf('sqlite-file'),
  // Pages are made of answers that every engine gives, so one engine is enough for the browser; the incidents are looked at in it on each.
  'e2e/console-browser': oneOf('sqlite-file'),
  // Each of these mends an incident, which takes seconds.
  'e2e/console-incidents': oneOf('sqlite-file'),
  'e2e/work-programs': oneOf('sqlite-file', 'postgres-18', 'postgres-given', 'mariadb'),
  'e2e/work-ends': oneOf('sqlite-file', 'postgres-18', 'postgres-given', 'mariadb'),
  'e2e/work-services': oneOf('sqlite-file', 'postgres-18', 'postgres-given', 'mariadb'),
  'e2e/cli-database': all(oneOf('sqlite-file', 'postgres-18', 'mariadb'), ({ ownServer }) => !ownServer),
  'e2e/cli-doctor': all(oneOf('sqlite-file', 'postgres-18', 'mariadb'), ({ ownServer }) => !ownServer),
  'e2e/cli-foreign': all(oneOf('sqlite-file', 'postgres-18', 'mariadb'), ({ ownServer }) => !ownServer),
  // The jobs of these are on the same PostgreSQL; they move to files of SQLite too.
  'e2e/import-{pg-boss,graphile-worker}': all(oneOf('postgres-18'), ({ ownServer }) => !ownServer),
  'e2e/import-taskstream': all(oneOf('sqlite-file', 'postgres-18', 'mariadb'), ({ ownServer }) => !ownServer),
  'e2e/import-bullmq': all(oneOf('sqlite-file', 'postgres-18', 'mariadb'), ({ ownServer }) => !ownServer),
  'e2e/coming-from{,-tables}': all(oneOf('postgres-18'), ({ ownServer }) => !ownServer),
  // Others keep no low watermark.
  'e2e/limits-history': oneOf('postgres-18'),
  // These start servers and files of their own, and put them into bad states.
  'e2e/{doctor-{postgres,partitions,replica},notify-queue}': oneOf('postgres-18'),
  'e2e/doctor-{mariadb,galera}': all(oneOf('mariadb'), ({ ownServer }) => !ownServer),
  'e2e/doctor-sqlite': oneOf('sqlite-file'),
  'plans/*': ({ plans }) => plans === true,
}

/**
 * The files of test/e2e in which a driver, a connection or a process counts, and one for each kind of handler. An engine that is
 * like another runs only these.
 */
const ofDrivers = [
  'jobs-handled',
  'jobs-limited',
  'jobs-needs',
  'node',
  'periodic',
  'persisted-jobs',
  'pipeline',
  'pooled',
  'reclaim',
  'stream',
  'thread',
  'transactional',
  'undecided',
  'wake',
  'without-notifier',
]

/** Returns the patterns of files that an engine does not run. */
export function excludedFrom(name: string): string[] {
  const facts: EngineFacts = factsOf(name)
  const unasked = Object.entries(asked)
    .filter(([, isAsked]) => !isAsked(facts, name))
    .map(([files]) => `test/${files}.test.ts`)
  return facts.like === undefined ? unasked : [...unasked, `test/e2e/!(${ofDrivers.join('|')}).test.ts`]
}

/** Returns the engine to which another one leaves a file, such as `e2e/late`. */
export function leftTo(name: string, file: string): string | undefined {
  const [folder, base = ''] = file.split('/')
  const facts: EngineFacts = factsOf(name)
  const wouldRun = folder === 'e2e' && (asked[file]?.(facts, name) ?? true)
  return wouldRun && !ofDrivers.includes(base) ? facts.like : undefined
}

/** Returns the engines that vitest can run here. Servers that nothing installs count only if a URL is given. */
export function runnable(environment: NodeJS.ProcessEnv): string[] {
  const urls: Readonly<Record<string, string>> = {
    'postgres-given': 'TASKSTREAM_POSTGRES_URL',
    mysql: 'TASKSTREAM_MYSQL_URL',
    oracle: 'TASKSTREAM_ORACLE_URL',
  }
  return engineNames.filter((name) => {
    // A server of the user's own, of any release, replaces the installed one.
    if (name === 'postgres-18') return !environment['TASKSTREAM_POSTGRES_URL']
    const url = urls[name]
    return url === undefined || Boolean(environment[url])
  })
}
