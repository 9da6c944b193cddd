/**
 * The test files of each tier. `npm run test:quick` is for a change at hand, `npm test` for every promise, `npm run test:all` for
 * every engine and every draw.
 */
import { excludedFrom, runnable } from './engines/files.ts'

export type Tier = 'quick' | 'default' | 'all'

/** How many draws a property makes, and how many seconds a run in the laboratory lasts. */
export interface Amounts {
  /** Histories of interleaved verbs. */
  readonly histories: number
  /** Histories on a server, where each statement is a round trip. */
  readonly serverHistories: number
  /** Histories where each is slow: each makes a partition, or a statement costs more. */
  readonly slowHistories: number
  /** Nodes that are stopped at a random moment. */
  readonly stops: number
  /** Orders of each kind of interleaved statements. PostgreSQL uses the greater number. */
  readonly interleavings: number
  readonly manyInterleavings: number
  /** The same where another engine runs the same statements more often, by the same dialect. */
  readonly fewInterleavings: number
  /** Processes that are killed. */
  readonly kills: number
  /** The same where only the driver is another. */
  readonly fewKills: number
  /** Invoices that are handled while processes are killed. */
  readonly jobs: number
  /** Jobs that each of several processes submits. */
  readonly submits: number
  /** Connections that are cut. */
  readonly losses: number
  /** Leaders of a group that are broken. */
  readonly takeOvers: number
  /** Seconds in which faults are inflicted in the laboratory. */
  readonly laboratory: number
  /** Random schedules of events for nodes, in memory and elsewhere. */
  readonly nodeSchedules: number
  readonly slowNodeSchedules: number
  /** Cases of each entry that is called with wrong values. */
  readonly fuzz: number
}

const amounts: Readonly<Record<Tier, Amounts>> = {
  quick: {
    histories: 60,
    serverHistories: 20,
    slowHistories: 10,
    stops: 60,
    interleavings: 5,
    manyInterleavings: 5,
    fewInterleavings: 5,
    kills: 10,
    fewKills: 10,
    jobs: 200,
    submits: 100,
    losses: 10,
    takeOvers: 5,
    laboratory: 5,
    nodeSchedules: 40,
    slowNodeSchedules: 5,
    fuzz: 1_000,
  },
  default: {
    histories: 150,
    serverHistories: 40,
    slowHistories: 20,
    stops: 100,
    interleavings: 10,
    manyInterleavings: 10,
    fewInterleavings: 10,
    kills: 10,
    fewKills: 10,
    jobs: 200,
    submits: 100,
    losses: 20,
    takeOvers: 5,
    laboratory: 5,
    nodeSchedules: 100,
    slowNodeSchedules: 10,
    fuzz: 2_500,
  },
  all: {
    histories: 600,
    serverHistories: 200,
    slowHistories: 60,
    stops: 500,
    interleavings: 100,
    manyInterleavings: 200,
    fewInterleavings: 30,
    kills: 200,
    fewKills: 90,
    jobs: 1_800,
    submits: 400,
    losses: 120,
    takeOvers: 20,
    laboratory: 60,
    nodeSchedules: 1_000,
    slowNodeSchedules: 20,
    fuzz: 8_000,
  },
}

/** Tests that start programs, compile a project or draw for long. They take minutes and are rarely about one line of code. */
const slow = [
  'adapter-example',
  'console-mounts',
  'drivers-guide',
  'examples',
  'frameworks',
  'fresh-projects',
  'mutants',
  'oracle',
  'prisma-types',
  'recipes',
  'shop',
  'site',
  'sqlite-beside-worker',
  'start-guide',
  'thread-bundle',
  'timer-command',
  'work-command',
]
const unit = 'test/unit/*.test.ts'
const all = 'test/{conformance,properties,faults,e2e,plans}/*.test.ts'

interface Files {
  readonly include: string[]
  readonly exclude: string[]
}

const whole = (name: string): Files => ({
  include: [all],
  exclude: excludedFrom(name),
})

/** The test files of each tier, by project. */
const files: Readonly<Record<Tier, (environment: NodeJS.ProcessEnv) => Readonly<Record<string, Files>>>> = {
  quick: () => ({
    unit: {
      include: [unit],
      exclude: [...slow, 'jobs-property', 'calendar-property', 'document-code'].map((name) => `test/unit/${name}.test.ts`),
    },
    'sqlite-memory': { include: ['test/{conformance,properties,e2e}/*.test.ts'], exclude: excludedFrom('sqlite-memory') },
  }),
  default: () => ({
    // Only the last tier tests programs, guides, Oracle's grammar, the console in a browser, and most of the command line: each of its tests starts a process.
    // The last tier alone has servers fail in turn (`faults/availability`), too.
    unit: {
      include: [unit],
      exclude: slow.map((name) => `test/unit/${name}.test.ts`),
    },
    'sqlite-memory': whole('sqlite-memory'),
    // One connection in memory cannot run these, so they run on a file.
    'sqlite-file': {
      include: ['test/{faults,conformance,properties,e2e}/*.test.ts'],
      exclude: [
        ...excludedFrom('sqlite-file'),
        // It starts thirteen processes, and has its kinds of faults only if it lasts.
        'test/faults/laboratory.test.ts',
        `test/{conformance,properties}/!(busy|hammer).test.ts`,
        'test/e2e/!(cli-tasks|cli-operators|cli-bulk|entries|thread|wake|without-notifier|work-services).test.ts',
      ],
    },
    'postgres-18': {
      include: [all],
      exclude: [
        ...excludedFrom('postgres-18'),
        'test/e2e/cli{,-*}.test.ts',
        'test/e2e/{work-*,import-*,coming-from,coming-from-*}.test.ts',
        'test/faults/{availability,laboratory}.test.ts',
      ],
    },
    // Rights and partitions, which the other PostgreSQL project does not have.
    'postgres-partitioned': {
      include: ['test/conformance/{grants,partition}.test.ts'],
      exclude: excludedFrom('postgres-partitioned'),
    },
  }),
  all: (environment) => ({
    unit: { include: [unit], exclude: [] },
    ...Object.fromEntries(runnable(environment).map((name) => [name, whole(name)])),
    // In other files of e2e the topics cannot keep outcomes: they hold for a transaction, or need tasks of others.
    'postgres-outcomes': {
      include: [
        'test/{conformance,properties,faults}/*.test.ts',
        'test/e2e/{jobs-limited,node,nodes-at-rest,persisted-jobs,pipeline,reclaim,stream,thread}.test.ts',
      ],
      exclude: excludedFrom('postgres-outcomes'),
    },
  }),
}

export function filesOf(tier: Tier, environment: NodeJS.ProcessEnv): Readonly<Record<string, Files>> {
  return files[tier](environment)
}

/** @throws Error if there is no such tier */
export function tierOf(name: string): Tier {
  // vitest and other readers of its configuration set these modes by themselves.
  if (name === 'test' || name === 'development' || name === 'production') return 'default'
  if (!Object.hasOwn(amounts, name)) throw new Error(`--mode must be quick, default or all, and is ${name}`)
  return name as Tier
}

/** How much of something this run's tier takes. Outside vitest it is the amount of the last tier. */
export function amountOf(what: keyof Amounts): number {
  return amounts[tierOf(process.env['TASKSTREAM_TIER'] ?? 'all')][what]
}
