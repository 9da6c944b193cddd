/** Which engines run which test files. A file that is not listed runs on all of them. */
import { engineNames, factsOf } from './registry.ts'
import type { EngineFacts } from './registry.ts'

type Asked = (engine: EngineFacts, name: string) => boolean

const onPostgres: Asked = ({ family }) => family === 'postgres'
/** Others write at the same time, or end a connection. */
const onPostgresServer: Asked = ({ family, connections }) => family === 'postgres' && connections > 1
const onMysql: Asked = ({ family }) => family === 'mysql'
/** Connections that do not go through a pooler. */
const direct: Asked = ({ pooled }) => !pooled
const oneOf =
  (...names: readonly string[]): Asked =>
  (_, name) =>
    names.includes(name)
const all =
  (...each: readonly Asked[]): Asked =>
  (engine, name) =>
    each.every((asked) => asked(engine, name))

const asked: Readonly<Record<string, Asked>> = {
  // One connection is one process.
  'faults/!(restored)': ({ faults }) => faults === true,
  'e2e/thread': all(({ connections }) => connections > 1, direct),
  // Its connections are refused writes outside of a transaction, after which one of libSQL commits nothing.
  'properties/hammer': all(
    ({ connections }) => connections > 1,
    (_, name) => name !== 'libsql',
  ),

  // A file that another connection writes to.
  'conformance/busy': oneOf('sqlite-file', 'node-sqlite'),
  'conformance/own-transaction': oneOf('sqlite-memory', 'sqlite-file'),

  // A begin that libSQL has prepared, and that was refused, stays unfinished.
  'conformance/refused-begin': oneOf('libsql'),

  // PostgreSQL remembers what polls have passed, and finds names by a path.
  'conformance/{aborted,poll-history,quiet,search-path,sequence}': onPostgres,
  'conformance/{autocommit,isolation,lost-transaction,maintenance,prepared}': onPostgresServer,
  // A listener has a connection of its own.
  'conformance/timers-told': all(onPostgresServer, direct),
  'conformance/partition': ({ partitioned }) => partitioned === true,
  'properties/late-commit': onPostgresServer,
  'faults/{connection-loss,retries}': oneOf('postgres-18', 'postgres-given'),

  // What another transaction has locked: where several write.
  'conformance/locked-rows': ({ writers }) => writers > 1,

  // The server is asked who waits for whom, in the words of PostgreSQL and of MariaDB.
  'conformance/{passed-over,waiting,timers-waiting}': ({ family, writers }) => writers > 1 && family !== 'oracle',

  // What MariaDB and MySQL ask for.
  'conformance/{server,locks}': onMysql,
  'faults/{mysql,ignored-deadlock}': onMysql,

  // Servers to kill, the plans of one release, users who come from 127.0.0.1: not on a server of the user's own.
  'faults/{failover,server-crash}': oneOf('postgres-18'),
  'faults/galera': all(oneOf('mariadb'), ({ ownServer }) => !ownServer),

  // What a server is asked, in the words of PostgreSQL and MariaDB.
  'faults/{library-errors,encoding,own-statements,silence}': oneOf('postgres-18', 'postgres-given', 'mariadb', 'mysql'),
  // Other servers are dumped with commands of their own.
  'faults/restored': oneOf('sqlite-file', 'node-sqlite', 'postgres-18', 'postgres-given', 'postgres-15', 'mariadb'),
  // The waiting of a node, and of a scheduler, is the same on the other driver.
  'faults/{scheduler,stress}': oneOf('sqlite-file', 'postgres-18', 'postgres-given', 'mariadb', 'mysql'),

  'conformance/drivers': ({ sealed, partitioned, family }) => !sealed && !partitioned && family !== 'oracle',
  // Where the suite works with the least rights.
  'conformance/grants': ({ leastPrivilege }) => leastPrivilege === true,
  // One of its tests is a process of its own.
  'e2e/without-notifier': ({ connections }) => connections > 1,
  'e2e/pooled': ({ pooled }) => pooled === true,
  // A node is woken over a connection of its own; MariaDB tells nobody.
  'e2e/wake': all(direct, ({ family, connections }) => connections > 1 && (family === 'postgres' || family === 'sqlite')),
  // Processes take their time to start: one engine of each family.
  'e2e/cli': oneOf('sqlite-file', 'postgres-18', 'postgres-given', 'mariadb'),
  'e2e/cli-options': oneOf('sqlite-file', 'postgres-18', 'postgres-given', 'mariadb'),
  'e2e/cli-database': all(oneOf('sqlite-file', 'postgres-18', 'mariadb'), ({ ownServer }) => !ownServer),
  'plans/*': ({ plans }) => plans === true,
}

/** The patterns of files that an engine does not run. */
export function excludedFrom(name: string): string[] {
  const facts = factsOf(name)
  return Object.entries(asked)
    .filter(([, isAsked]) => !isAsked(facts, name))
    .map(([files]) => `test/${files}.test.ts`)
}

/** The engines that vitest can be told to run: nothing installs the servers of others. */
export function runnable(environment: NodeJS.ProcessEnv): string[] {
  const urls: Readonly<Record<string, string>> = {
    'postgres-given': 'TASKSTREAM_POSTGRES_URL',
    mysql: 'TASKSTREAM_MYSQL_URL',
    oracle: 'TASKSTREAM_ORACLE_URL',
  }
  return engineNames.filter((name) => {
    // A server of the user's own takes its place: of whatever release.
    if (name === 'postgres-18') return !environment['TASKSTREAM_POSTGRES_URL']
    const url = urls[name]
    return url === undefined || Boolean(environment[url])
  })
}
