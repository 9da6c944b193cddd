import { defineConfig } from 'vitest/config'

/** Every engine runs the same suite; the name is what `--project` takes, and what a suite is told. */
const subjects = ['sqlite-memory', 'sqlite-file', 'node-sqlite', 'testing', 'postgres-18']

/** What an engine cannot be asked: SQLite has one writer and no server; in memory it has one connection, and so one process. */
const oneWriter = [
  'test/conformance/waiting.test.ts',
  'test/properties/late-commit.test.ts',
  'test/faults/connection-loss.test.ts',
  'test/faults/server-crash.test.ts',
]
const manyWriters = ['test/conformance/busy.test.ts']
const oneConnection = [...oneWriter, ...manyWriters, 'test/faults/*.test.ts', 'test/e2e/wake.test.ts']
const excluded: Readonly<Record<string, readonly string[]>> = {
  'sqlite-memory': oneConnection,
  'sqlite-file': oneWriter,
  'node-sqlite': oneWriter,
  testing: oneConnection,
  'postgres-18': manyWriters,
}

/** The packages' sources, without a build. */
const ssr = { resolve: { conditions: ['@taskstream/source'] } }

export default defineConfig({
  ssr,
  test: {
    globalSetup: ['test/databases/global-setup.ts'],
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
          env: { TASKSTREAM_SUBJECT: subject },
          include: ['test/{conformance,properties,faults,e2e}/*.test.ts'],
          exclude: [...(excluded[subject] ?? [])],
          // A fact may be long in coming on a busy machine; nothing here is about how long.
          expect: { poll: { timeout: 30_000 } },
          testTimeout: 120_000,
          hookTimeout: 60_000,
        },
      })),
    ],
  },
})
