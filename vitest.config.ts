import { defineConfig } from 'vitest/config'

/** Every engine runs the same suite; the name is what `--project` takes, and what a suite is told. */
const subjects = [
  'sqlite-memory',
  'sqlite-file',
  'node-sqlite',
  'testing',
  'postgres-18',
  'postgres-partitioned',
  'postgres-15',
  'pgbouncer',
  'mariadb',
  // A server of the user's own: nothing installs one.
  ...(process.env['TASKSTREAM_MYSQL_URL'] ? ['mysql'] : []),
  ...(process.env['TASKSTREAM_ORACLE_URL'] || process.env['TASKSTREAM_ORACLE_DOCKER'] ? ['oracle'] : []),
]

/** What an engine cannot be asked: SQLite has one writer and no server; in memory it has one connection, and so one process. */
const oneWriter = [
  'test/conformance/isolation.test.ts',
  'test/conformance/waiting.test.ts',
  'test/conformance/lost-transaction.test.ts',
  'test/conformance/prepared.test.ts',
  'test/conformance/quiet.test.ts',
  'test/conformance/autocommit.test.ts',
  'test/conformance/periodic-rivals.test.ts',
  'test/properties/late-commit.test.ts',
  'test/faults/connection-loss.test.ts',
  'test/faults/failover.test.ts',
  'test/faults/retries.test.ts',
  'test/faults/server-crash.test.ts',
]
const manyWriters = ['test/conformance/busy.test.ts']
/** What a server is asked, in the words of PostgreSQL and MariaDB. */
const server = [
  'test/faults/library-errors.test.ts',
  'test/faults/encoding.test.ts',
  'test/faults/own-statements.test.ts',
  'test/faults/silence.test.ts',
]
const pooled = ['test/e2e/pooled.test.ts']
/** Other servers are dumped with commands of their own. */
const restored = ['test/faults/restored.test.ts']
/** Processes take their time to start: one engine of each family. */
const commandLine = ['test/e2e/cli.test.ts', 'test/e2e/cli-database.test.ts']
/** What only MariaDB and MySQL are asked. */
const mysqlOnly = [
  'test/conformance/server.test.ts',
  'test/conformance/locks.test.ts',
  'test/faults/mysql.test.ts',
  'test/faults/ignored-deadlock.test.ts',
]
/** MySQL has another kind of cluster. */
const mariadbOnly = ['test/faults/galera.test.ts']
const partitioned = ['test/conformance/partition.test.ts']
/** What only PostgreSQL is asked: it alone remembers what polls have passed, and finds names by a path. */
const postgresOnly = ['test/conformance/sequence.test.ts', 'test/conformance/search-path.test.ts']
/** What is asked where the suite works with the least rights (test/subject.ts). */
const granted = ['test/conformance/grants.test.ts']
const leastPrivilege = new Set(['postgres-15', 'mariadb', process.env['TASKSTREAM_POSTGRES_URL'] ?? 'postgres-partitioned'])
const oneConnection = [
  ...oneWriter,
  ...manyWriters,
  'test/faults/*.test.ts',
  'test/e2e/wake.test.ts',
  'test/e2e/thread.test.ts',
  'test/properties/hammer.test.ts',
]
/** Its own server's processes die, which says nothing about a pooler; and a node is woken on a connection that is not pooled. */
const direct = ['test/faults/*.test.ts', 'test/e2e/wake.test.ts', 'test/e2e/thread.test.ts']
const withoutNotices = [...oneWriter, ...manyWriters, ...pooled, 'test/e2e/wake.test.ts']
const excluded: Readonly<Record<string, readonly string[]>> = {
  'sqlite-memory': [...oneConnection, ...pooled],
  'sqlite-file': [...oneWriter, ...server, ...pooled],
  // One engine of each family is put under stress: a node's waiting is no other on the other driver.
  'node-sqlite': [...oneWriter, ...server, ...pooled, 'test/faults/stress.test.ts'],
  testing: [...oneConnection, ...pooled, 'test/conformance/drivers.test.ts'],
  'postgres-18': [...manyWriters, ...pooled],
  // The oldest release: what it does, and what statements it takes. How a server dies is tested on the newest.
  'postgres-partitioned': [...manyWriters, ...pooled, 'test/faults/*.test.ts', 'test/conformance/drivers.test.ts'],
  'postgres-15': [...manyWriters, ...pooled, 'test/faults/!(restored).test.ts'],
  pgbouncer: [...manyWriters, ...direct],
  mariadb: withoutNotices,
  mysql: [...withoutNotices, ...restored],
  // One driver, which is the one that everything else is run on.
  oracle: [...withoutNotices, 'test/faults/passing.test.ts', ...server, ...restored, 'test/conformance/drivers.test.ts'],
}

/** The packages' sources, without a build. */
const ssr = { resolve: { conditions: ['@taskstream/source'] } }

export default defineConfig({
  ssr,
  test: {
    globalSetup: ['test/databases/global-setup.ts'],
    reporters: ['default', './test/guarantees/reporter.ts'],
    // Two cores: more workers only wait for each other.
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    projects: [
      { ssr, test: { name: 'unit', include: ['test/unit/*.test.ts'], testTimeout: 60_000 } },
      ...subjects.map((subject) => ({
        ssr,
        test: {
          name: subject,
          // Each history is a topic of its own, and a partition: fewer of them say as much.
          env: { TASKSTREAM_SUBJECT: subject, ...(subject === 'postgres-partitioned' ? { TASKSTREAM_RUNS: '60' } : {}) },
          include: [
            'test/{conformance,properties,faults,e2e}/*.test.ts',
            // A million rows, on one of each kind: where plans can differ.
            ...(['sqlite-memory', 'postgres-18', 'postgres-15', 'mariadb'].includes(subject) ? ['test/plans/*.test.ts'] : []),
          ],
          exclude: [
            ...(excluded[subject] ?? []),
            ...(subject === 'postgres-partitioned' ? [] : partitioned),
            ...(subject === 'mariadb' || subject === 'mysql' ? [] : mysqlOnly),
            ...(subject === 'mariadb' ? [] : mariadbOnly),
            ...(leastPrivilege.has(subject) ? [] : granted),
            ...(subject.startsWith('postgres') || subject === 'pgbouncer' ? [] : postgresOnly),
            ...(['sqlite-file', 'postgres-18', 'mariadb'].includes(subject) ? [] : commandLine),
          ],
          // A fact may be long in coming on a busy machine; nothing here is about how long.
          expect: { poll: { timeout: 30_000 } },
          testTimeout: 120_000,
          hookTimeout: 60_000,
        },
      })),
    ],
  },
})
