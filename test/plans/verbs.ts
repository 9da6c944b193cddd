/** The verbs whose plans are looked at, and how many rows each may read. */
import { TaskDecision } from '@taskstream/task-api'
import type { HeldTask, LockedTasks } from '@taskstream/task-api'
import type { AnyTransaction, Tasks } from '../subject.ts'
import { makeLooks } from './looks.ts'
import type { topicsOfMillion } from './million.ts'

export type Topic = keyof typeof topicsOfMillion
export type Verb = (tasks: Tasks, transaction: AnyTransaction) => unknown

const poll =
  (topic: Topic, size: number): Verb =>
  (tasks, transaction) =>
    tasks.poll(transaction, topic, { size })
const names = (count: number, prefix = 'i'): string[] => Array.from({ length: count }, (_, index) => `${prefix}${index + 1}`)
export const held = async (tasks: Tasks, transaction: AnyTransaction, topic: Topic): Promise<HeldTask[]> =>
  (await tasks.poll(transaction, topic, { size: 100 })) as HeldTask[]

/** Restores a portion of tasks of one error, right after they were redriven, or then cancelled. */
const restoreAfter =
  (action: 'redrive' | 'cancel'): Verb =>
  async (tasks, transaction) => {
    const topic: Topic = 'singular'
    const locked = (await tasks.lock(transaction, topic, { fingerprint: 'error7', limit: 100 })) as LockedTasks
    const sequences = locked.tasks.map(({ sequence }) => sequence)
    await tasks.redrive(transaction, topic, { fingerprint: 'error7', limit: 100 })
    if (action === 'cancel') await tasks.cancel(transaction, topic, sequences)
    const left = { states: [action === 'cancel' ? 'filtered' : 'ready'] } as const
    await tasks.restore(transaction, topic, { tasks: locked.tasks, left, made: new Date() })
  }

/** How many rows all statements of a verb may read together: of the task table on PostgreSQL; of any table, including lists of values, on MariaDB. */
export interface Most {
  readonly postgres: number
  readonly mariadb: number
}

export const verbs: readonly (readonly [name: string, most: Most, verb: Verb])[] = [
  ['poll, plain', { postgres: 25_000, mariadb: 850 }, poll('plain', 100)],
  ['poll, last in first out', { postgres: 500, mariadb: 2_500 }, poll('lifo', 100)],
  [
    'poll, last in first out, while thousands are held',
    { postgres: 100_000, mariadb: 60_000 },
    async (tasks, transaction) => {
      await tasks.poll(transaction, 'lifo', { size: 5_000 })
      for (let polls = 0; polls < 10; polls++) await tasks.poll(transaction, 'lifo', { size: 1 })
    },
  ],
  ['poll, by priority', { postgres: 500, mariadb: 2_500 }, poll('priority', 100)],
  ['poll, shared', { postgres: 5_000, mariadb: 5_000 }, poll('shared', 100)],
  ['poll, shared, one task', { postgres: 1_500, mariadb: 1_500 }, poll('shared', 1)],
  ['poll, keyed', { postgres: 1_000, mariadb: 850 }, poll('keyed', 100)],
  ['poll, singular', { postgres: 10_000, mariadb: 10_000 }, poll('singular', 100)],
  ['poll, singular, one identifier that is blocked', { postgres: 100, mariadb: 20 }, poll('one', 100)],
  [
    'poll, singular, when others were completed',
    { postgres: 20_000, mariadb: 22_000 },
    async (tasks, transaction) => {
      const batch = await held(tasks, transaction, 'singular')
      await tasks.complete(transaction, 'singular', new Map(batch.map((task) => [task, TaskDecision.success()])))
      await tasks.poll(transaction, 'singular', { size: 100 })
    },
  ],
  ['look, at everything', { postgres: 40_000, mariadb: 6_000 }, makeLooks],
  ['cancel, by sequence', { postgres: 20, mariadb: 20 }, (tasks, transaction) => tasks.cancel(transaction, 'plain', [1, 2, 3])],
  [
    'cancel, by external id',
    { postgres: 20, mariadb: 20 },
    (tasks, transaction) => tasks.cancel(transaction, 'plain', { externalId: 'nobody' }),
  ],
  [
    'cancel, by identifier',
    { postgres: 100, mariadb: 100 },
    (tasks, transaction) => tasks.cancel(transaction, 'keyed', { identifier: 'i1' }),
  ],
  [
    'reschedule, by identifier under a condition',
    { postgres: 100, mariadb: 100 },
    (tasks, transaction) => tasks.reschedule(transaction, 'singular', { identifier: 'i5' }, { priority: 5 }),
  ],
  ['push', { postgres: 0, mariadb: 110 }, (tasks, transaction) => tasks.push(transaction, 'plain', names(100))],
  [
    'push, supersede',
    { postgres: 1_000, mariadb: 1_800 },
    (tasks, transaction) => tasks.push(transaction, 'keyed', names(100), { insertion: 'supersede' }),
  ],
  [
    'push, supersede, of what waits for its time',
    { postgres: 1_000, mariadb: 1_800 },
    (tasks, transaction) => tasks.push(transaction, 'keyed', names(100, 'd'), { insertion: 'supersede' }),
  ],
  [
    'push, replace',
    { postgres: 1_000, mariadb: 2_800 },
    (tasks, transaction) => tasks.push(transaction, 'keyed', names(100), { insertion: 'replace' }),
  ],
  [
    'push, delete',
    { postgres: 1_000, mariadb: 3_400 },
    (tasks, transaction) => tasks.push(transaction, 'keyed', names(100), { insertion: 'delete' }),
  ],
  [
    'push, external ids that are there',
    { postgres: 1_000, mariadb: 450 },
    (tasks, transaction) =>
      tasks.push(
        transaction,
        'keyed',
        names(100).map((identifier, index) => ({ identifier, externalId: `10000-${index + 1}` })),
      ),
  ],
  ['task, by sequence', { postgres: 1, mariadb: 1 }, (tasks, transaction) => tasks.task(transaction, 'plain', 400_000)],
  [
    'task, by external id',
    { postgres: 1, mariadb: 1 },
    (tasks, transaction) => tasks.task(transaction, 'keyed', { externalId: '10000-7' }),
  ],
  [
    'page, forward',
    { postgres: 150, mariadb: 110 },
    (tasks, transaction) => tasks.page(transaction, 'plain', { after: 400_000, size: 100 }),
  ],
  [
    'page, backward',
    { postgres: 150, mariadb: 110 },
    (tasks, transaction) => tasks.page(transaction, 'plain', { before: 400_000, size: 100 }),
  ],
  // What a look at watched jobs reads: what is new, the newest ones, and those that are known.
  [
    'page, from the end',
    { postgres: 150, mariadb: 110 },
    (tasks, transaction) => tasks.page(transaction, 'plain', { before: Number.MAX_SAFE_INTEGER, size: 100 }),
  ],
  [
    'page, of one',
    { postgres: 10, mariadb: 2 },
    (tasks, transaction) => tasks.page(transaction, 'plain', { after: 399_999, size: 1 }),
  ],
  // What a page of the console looks through for tasks that meet a filter.
  [
    'page, of one state, among some sequences',
    { postgres: 1_100, mariadb: 1_100 },
    (tasks, transaction) => tasks.page(transaction, 'plain', { states: ['failed'], before: 400_000, from: 399_000, size: 50 }),
  ],
  [
    'page, of one state, among some sequences, forward',
    { postgres: 1_100, mariadb: 1_100 },
    (tasks, transaction) => tasks.page(transaction, 'plain', { states: ['failed'], after: 399_000, to: 400_000, size: 50 }),
  ],
  [
    'endings',
    { postgres: 400, mariadb: 400 },
    (tasks, transaction) =>
      tasks.endings(
        transaction,
        Array.from({ length: 100 }, (_, index) => ({ topic: 'plain', sequence: 1_000 + 3_000 * index })),
      ),
  ],
  ['attempts', { postgres: 1, mariadb: 2 }, (tasks, transaction) => tasks.attempts(transaction, 'plain', 5_000)],
  ['promoteDue', { postgres: 10, mariadb: 5 }, (tasks, transaction) => tasks.promoteDue(transaction, 'plain')],
  // The chunks of 8192 sequences in which the dead owner was noted.
  [
    'expire',
    { postgres: 40_000, mariadb: 1_500 },
    (tasks, transaction) => tasks.expire(transaction, { olderThanMs: 60_000, limit: 100 }),
  ],
  [
    'junction',
    { postgres: 1_000, mariadb: 1_100 },
    (tasks, transaction) => tasks.junction(transaction, 'keyed', 'eternal', [names(50)]),
  ],
  [
    'purge, a portion',
    { postgres: 1_000, mariadb: 2_100 },
    (tasks, transaction) => tasks.purge(transaction, 'plain', { limit: 100 }),
  ],
  [
    'recreate, a range',
    { postgres: 1_000, mariadb: 1_700 },
    (tasks, transaction) => tasks.recreate(transaction, 'plain', 'append', { state: 'succeeded', from: 1_000, size: 100 }),
  ],
  [
    'reset, a range',
    { postgres: 25_000, mariadb: 25_000 },
    (tasks, transaction) => tasks.recreate(transaction, 'singular', 'reset', { state: 'failed', from: 1, size: 1 }),
  ],
  [
    'purgeAttempts, a portion',
    { postgres: 400, mariadb: 800 },
    (tasks, transaction) => tasks.purgeAttempts(transaction, { olderThanMs: 86_400_000, limit: 100 }),
  ],
  ['settle, nothing is blocked', { postgres: 100, mariadb: 100 }, (tasks, transaction) => tasks.settle(transaction, 'plain')],
  // Of the ready tasks before one, ten thousand are counted.
  ['why, behind others', { postgres: 45_000, mariadb: 25_000 }, (tasks, transaction) => tasks.why(transaction, 'plain', 771_500)],
  ['why, ended', { postgres: 10, mariadb: 10 }, (tasks, transaction) => tasks.why(transaction, 'plain', 400_000)],
  [
    'why, out of turn',
    { postgres: 50, mariadb: 20 },
    (tasks, transaction) => tasks.why(transaction, 'singular', { identifier: 'i5000' }),
  ],
  [
    'why, blocked with thousands of others of one identifier',
    { postgres: 50, mariadb: 20 },
    (tasks, transaction) => tasks.why(transaction, 'one', { identifier: 'same' }),
  ],
  [
    'why, by priority',
    { postgres: 12_000, mariadb: 12_000 },
    (tasks, transaction) => tasks.why(transaction, 'priority', 850_000),
  ],
  [
    'why, shared',
    { postgres: 3_000, mariadb: 3_000 },
    (tasks, transaction) => tasks.why(transaction, 'shared', { identifier: 'i7' }),
  ],
  [
    'why, keyed',
    { postgres: 12_500, mariadb: 25_000 },
    (tasks, transaction) => tasks.why(transaction, 'keyed', { identifier: 'i7' }),
  ],
  // The tasks that are active are counted, up to the limit.
  [
    'why, limited',
    { postgres: 70_000, mariadb: 26_000 },
    async (tasks, transaction) => {
      await tasks.limit(transaction, 'plain', { total: 500 })
      await tasks.why(transaction, 'plain', 771_500)
    },
  ],
  // Of the same identifier and kind five hundred are ready. Whether another transaction has locked the row is asked of this row alone.
  [
    'why, next',
    { postgres: 1_000, mariadb: 1_500 },
    (tasks, transaction) => tasks.why(transaction, 'shared', { identifier: 'i0' }),
  ],
  [
    'why, held by an owner that is dead',
    { postgres: 30, mariadb: 20 },
    (tasks, transaction) => tasks.why(transaction, 'plain', 752_500),
  ],
  [
    'task, by identifier',
    { postgres: 20, mariadb: 10 },
    (tasks, transaction) => tasks.task(transaction, 'keyed', { identifier: 'i39000' }),
  ],
  ['errors', { postgres: 17_000, mariadb: 27_000 }, (tasks, transaction) => tasks.errors(transaction, { topic: 'plain' })],
  ['errors of every topic', { postgres: 40_000, mariadb: 52_000 }, (tasks, transaction) => tasks.errors(transaction)],
  [
    'redrive by error, a portion',
    { postgres: 2_000, mariadb: 4_000 },
    (tasks, transaction) => tasks.redrive(transaction, 'singular', { fingerprint: 'error7', limit: 100 }),
  ],
  [
    'lock, by error',
    { postgres: 2_000, mariadb: 4_000 },
    (tasks, transaction) => tasks.lock(transaction, 'singular', { fingerprint: 'error7', limit: 100 }),
  ],
  [
    'lock, by sequence',
    { postgres: 20, mariadb: 20 },
    (tasks, transaction) => tasks.lock(transaction, 'plain', { tasks: [1, 2, 3] }),
  ],
  ['restore, what was redriven', { postgres: 10_000, mariadb: 10_000 }, restoreAfter('redrive')],
  ['restore, what was cancelled under a condition', { postgres: 10_000, mariadb: 10_000 }, restoreAfter('cancel')],
  [
    'purgeActions',
    { postgres: 20, mariadb: 50 },
    (tasks, transaction) => tasks.purgeActions(transaction, { olderThanMs: 86_400_000 }),
  ],
  ['upcoming, plain', { postgres: 4_000, mariadb: 1_500 }, (tasks, transaction) => tasks.upcoming(transaction, 'plain')],
  ['upcoming, by priority', { postgres: 500, mariadb: 500 }, (tasks, transaction) => tasks.upcoming(transaction, 'priority')],
  [
    'peek',
    { postgres: 30, mariadb: 60 },
    (tasks, transaction) => tasks.peek(transaction, ['plain', 'keyed', 'lifo', 'priority', 'shared', 'singular', 'one']),
  ],
  ['held', { postgres: 40_000, mariadb: 4_000 }, (tasks, transaction) => tasks.held(transaction)],
  ['nodes', { postgres: 10, mariadb: 10 }, (tasks, transaction) => tasks.nodes(transaction)],
  ['actions', { postgres: 20, mariadb: 50 }, (tasks, transaction) => tasks.actions(transaction, { topic: 'plain' })],
  // `overview` counts up to its limit in each of six topics, and reads the chunks of dead owners.
  ['overview', { postgres: 60_000, mariadb: 12_000 }, (tasks, transaction) => tasks.overview(transaction)],
]
