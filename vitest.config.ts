import { defineConfig } from 'vitest/config'
import { filesOf, tierOf } from './test/tiers.ts'

/** The packages' sources, without a build. */
const ssr = { resolve: { conditions: ['@taskstream/source'] } }

export default defineConfig(({ mode }) => {
  const tier = tierOf(mode)
  process.env['TASKSTREAM_TIER'] = tier
  return {
    ssr,
    test: {
      globalSetup: ['test/databases/global-setup.ts'],
      reporters: ['default', './test/timings.ts', './test/guarantees/reporter.ts'],
      // Tests of faults wait more than they work, so two cores take more workers than two.
      maxWorkers: tier === 'default' ? 4 : tier === 'all' ? 3 : 2,
      // Every engine runs the same tests; the name is what `--project` takes, and what they are told.
      projects: Object.entries(filesOf(tier, process.env)).map(([name, { include, exclude }]) => ({
        ssr,
        test: {
          name,
          env: name === 'unit' ? {} : { TASKSTREAM_SUBJECT: name },
          include,
          exclude,
          // To load the packages anew for each file takes three times as long as all tests.
          isolate: false,
          // A fact may be long in coming on a busy machine; nothing here is about how long.
          expect: { poll: { timeout: 30_000 } },
          testTimeout: 120_000,
          hookTimeout: 60_000,
        },
      })),
    },
  }
})
