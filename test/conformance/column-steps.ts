/** The steps of a task through the verbs: each step has a name, and says how its verb changes each column. */
import { TaskDecision } from '@taskstream/task-api'
import { engine } from '../subject.ts'
import type { HeldTask, Insertion, PollHold, Revivification, Task, TaskInfo, TaskResult, TaskState } from '@taskstream/task-api'
import { testClock } from '@taskstream/task-testing'
import type { AnyTransaction, Tasks } from '../subject.ts'
import { openFixture } from '@taskstream/task-testing/suite'
import type { Fixture } from '@taskstream/task-testing/suite'

const hour = 3_600_000
/** Every property of a creation except a deadline, which is read back as an instant. */
export const whole = {
  identifier: 'a',
  input: 'in',
  reference: 'ref',
  externalId: 'ext',
  headers: { tags: ['x', 1] },
  priority: 3,
  maxTries: 2,
}

/** Columns and their values; `undefined` stands for an empty column. */
export type Columns = Partial<{ [Column in keyof TaskInfo]: TaskInfo[Column] | undefined }>

/** One verb, applied to the task as another step has left it. */
export interface Step {
  readonly after?: string
  readonly does: () => Promise<unknown>
  /** The columns that differ afterwards. Absent if the row is gone. */
  readonly leaves?: () => Columns
}

export interface Walked {
  readonly before: Columns
  readonly row: TaskInfo | undefined
  /** The tasks that the last poll on the way returned. */
  readonly held: readonly HeldTask[]
  /** When the last step was done. */
  readonly now: Date
}

export interface ColumnSteps {
  /** Opens the fixture. Call this before any walk. */
  open(): Promise<Fixture>
  readonly steps: Readonly<Record<string, Step>>
  /** Runs the steps that lead to a step, then the step itself, a second apart. `afterFirst` runs after the first. @returns the row before and after the step */
  walk(name: string, afterFirst?: () => Promise<unknown>): Promise<Walked>
}

/** The states from which a task can be recreated, by the steps that lead there. */
const ends: Readonly<Record<string, TaskState>> = {
  expire: 'expired',
  fail: 'failed',
  suspend: 'suspended',
  retry: 'suspended',
  filter: 'filtered',
  succeed: 'succeeded',
  'expire after the last try': 'failed',
  'push with a delay': 'suspended',
}

export function columnSteps(): ColumnSteps {
  const clock = testClock(new Date('2026-01-01T00:00:00.000Z'))
  let fixture: Fixture
  let rival: Tasks
  let sequence = 0
  let held: HeldTask[] = []

  const run = (verb: (tasks: Tasks, transaction: AnyTransaction, topic: string) => unknown): Promise<unknown> =>
    fixture.commit<unknown>((transaction) => verb(fixture.tasks, transaction, fixture.topic))
  const later = (ms: number): Date => new Date(clock.now().getTime() + ms)
  const find = (): Promise<TaskInfo | undefined> =>
    fixture.commit<TaskInfo | undefined>((transaction) => fixture.tasks.task(transaction, fixture.topic, sequence))

  const push = async (more: object = {}): Promise<void> => {
    const [task] = await fixture.push({ ...whole, deadlineMs: hour, ...more })
    sequence = task!.sequence
  }
  const poll = async (by?: Tasks): Promise<void> => void (held = await fixture.poll(1, by))
  const give = (verb: 'hold' | 'handBack' | 'reclaim', batch: readonly HeldTask[]): Promise<unknown> =>
    run((tasks, transaction, topic) => tasks[verb](transaction, topic, batch))
  const complete = (decision: TaskDecision): Promise<unknown> => fixture.complete(held, decision)
  const itself = (): Task => ({ topic: fixture.topic, sequence, identifier: whole.identifier })
  const recreate = (how: Revivification): Promise<unknown> =>
    run((tasks, transaction, topic) => tasks.recreate(transaction, topic, how, [itself()]))
  const reassign = (result: TaskResult): Promise<unknown> =>
    run((tasks, transaction, topic) => tasks.reassign(transaction, topic, new Map([[itself(), result]])))
  const redrive = (): Promise<unknown> => run((tasks, transaction, topic) => tasks.redrive(transaction, topic))
  const release = (): Promise<unknown> => run((tasks, transaction, topic) => tasks.promoteDue(transaction, topic))
  const expire = (then: 'expired' | 'ready'): Promise<unknown> =>
    run((tasks, transaction) => tasks.expire(transaction, { olderThanMs: 1, then }))
  const depend = (tolerant = false): Promise<unknown> =>
    run((tasks, transaction, topic) =>
      tasks.depend(transaction, { topic, sequence }, [{ need: 'x', on: { topic: 'nowhere', sequence: 0 }, tolerant }]),
    )
  const missing = 'What it needs as "x", task 0 of topic "nowhere", is not there'
  const settle = (): Promise<unknown> => run((tasks, transaction, topic) => tasks.settle(transaction, topic))
  const cancel = (): Promise<unknown> => run((tasks, transaction, topic) => tasks.cancel(transaction, topic, sequence))
  const insert = (insertion: Insertion): Promise<unknown> =>
    run((tasks, transaction, topic) => tasks.push(transaction, topic, whole.identifier, { insertion }))
  const junction = (): Promise<unknown> =>
    run((tasks, transaction, topic) => tasks.junction(transaction, topic, 'singular', [[whole.identifier]]))
  const take = (hold: PollHold): Promise<unknown> =>
    run(async (tasks, transaction, topic) => {
      const batch = await tasks.poll(transaction, topic, { hold })
      await tasks.complete(transaction, topic, new Map(batch.map((task) => [task, TaskDecision.success('taken')])))
    })

  const completed = (state: TaskState, more: Columns = {}): Columns => ({ state, completed: clock.now(), ...more })
  const pushed = (): Columns => {
    const fresh = { attempt: 0, tries: 0, state: 'ready', descent: 'ready' } as const
    return { ...whole, ...fresh, topic: fixture.topic, sequence, created: clock.now(), deadline: later(hour) }
  }
  const waiting = { state: 'suspended', descent: 'suspended' } as const
  const active = (owner: string, count: number): Columns => ({
    state: 'active',
    owner,
    attempt: count,
    tries: count,
    started: clock.now(),
    reason: undefined,
  })
  const mine = (count: number): Columns => active(fixture.tasks.owner, count)
  const handedBack = { state: 'ready', owner: undefined, started: undefined, tries: 0 } as const
  const released = { state: 'ready', due: undefined, completed: undefined } as const
  const asPushed = { ...handedBack, ...released, output: undefined, reason: undefined, deadline: undefined }

  const steps: Readonly<Record<string, Step>> = {
    push: { does: push, leaves: pushed },
    'push with a delay': {
      does: () => push({ delayMs: 10 }),
      leaves: () => ({ ...pushed(), ...waiting, due: later(10) }),
    },
    'push suspended': { does: () => push({ suspended: true, delayMs: 10 }), leaves: () => ({ ...pushed(), ...waiting }) },
    poll: { after: 'push', does: poll, leaves: () => mine(1) },
    'poll after the deadline': {
      after: 'push',
      does: async () => {
        clock.advance(hour - 1_000)
        await poll()
      },
      leaves: () => ({ ...mine(1), ...completed('filtered', { reason: 'deadline' }) }),
    },
    'poll and complete in one transaction': {
      after: 'push',
      does: () => take('transaction'),
      leaves: () => ({ ...mine(1), ...completed('succeeded', { output: 'taken' }) }),
    },
    hold: { after: 'poll', does: () => give('hold', held), leaves: () => ({}) },
    'hand back': { after: 'poll', does: () => give('handBack', held), leaves: () => handedBack },
    'poll what was handed back': { after: 'hand back', does: poll, leaves: () => ({ ...mine(2), tries: 1 }) },
    reclaim: { after: 'poll', does: () => give('reclaim', []), leaves: () => handedBack },
    'reclaim of others': { after: 'poll', does: () => give('reclaim', held), leaves: () => ({}) },
    succeed: {
      after: 'poll',
      does: () => complete(TaskDecision.success('done')),
      leaves: () => completed('succeeded', { output: 'done' }),
    },
    fail: {
      after: 'poll',
      does: () => complete(TaskDecision.failure('no').because('terminated')),
      leaves: () => completed('failed', { output: 'no', reason: 'terminated' }),
    },
    filter: {
      after: 'poll',
      does: () => complete(TaskDecision.filter('gone').because('cancelled')),
      leaves: () => completed('filtered', { output: 'gone', reason: 'cancelled' }),
    },
    suspend: {
      after: 'poll',
      does: () => complete(TaskDecision.suspension('aside').because('unreachable')),
      leaves: () => completed('suspended', { output: 'aside', reason: 'unreachable' }),
    },
    retry: {
      after: 'poll',
      does: () => complete(TaskDecision.retry({ afterMs: 10 }, 'later').because('timeout')),
      leaves: () => completed('suspended', { output: 'later', reason: 'timeout', due: later(10) }),
    },
    block: { after: 'push suspended', does: () => depend(), leaves: () => ({ blocked: true }) },
    'block what a decision suspended': { after: 'suspend', does: () => depend(), leaves: () => ({ blocked: true }) },
    'settle what misses something': {
      after: 'block',
      does: settle,
      leaves: () => completed('failed', { blocked: undefined, reason: 'unreachable', output: missing }),
    },
    'settle what may miss something': {
      after: 'block what may miss something',
      does: settle,
      leaves: () => ({ ...released, blocked: undefined }),
    },
    'block what may miss something': { after: 'push suspended', does: () => depend(true), leaves: () => ({ blocked: true }) },
    'cancel what is blocked': {
      after: 'block',
      does: cancel,
      leaves: () => completed('filtered', { blocked: undefined, reason: 'cancelled' }),
    },
    'reset what misses something': {
      after: 'settle what misses something',
      does: () => recreate('reset'),
      leaves: () => ({ ...asPushed, state: 'suspended', blocked: true }),
    },
    'junction of what is blocked': { after: 'block', does: junction, leaves: () => ({}) },
    'redrive of what is blocked': { after: 'block', does: redrive, leaves: () => ({}) },
    'supersede what is blocked': {
      after: 'block',
      does: () => insert('supersede'),
      leaves: () => ({ state: 'redundant', blocked: undefined }),
    },
    'delete what is blocked': { after: 'block', does: () => insert('delete') },
    release: { after: 'retry', does: release, leaves: () => released },
    'release what was pushed with a delay': { after: 'push with a delay', does: release, leaves: () => released },
    'poll for a second try': { after: 'release', does: poll, leaves: () => mine(2) },
    'succeed at the second try': {
      after: 'poll for a second try',
      does: () => complete(TaskDecision.success()),
      leaves: () => completed('succeeded', { output: undefined }),
    },
    'fail at the last try': {
      after: 'poll for a second try',
      does: () => complete(TaskDecision.failure('no')),
      leaves: () => completed('failed', { output: 'no' }),
    },
    'retry after the last try': {
      after: 'poll for a second try',
      does: () => complete(TaskDecision.retry({ afterMs: 10 }).because('timeout')),
      leaves: () => completed('failed', { output: undefined, reason: 'tries' }),
    },
    'poll by an owner that dies': { after: 'push', does: () => poll(rival), leaves: () => active(rival.owner, 1) },
    expire: {
      after: 'poll by an owner that dies',
      does: () => expire('expired'),
      leaves: () => ({ state: 'expired', reason: 'lease' }),
    },
    'expire to ready': {
      after: 'poll by an owner that dies',
      does: () => expire('ready'),
      leaves: () => ({ state: 'ready', reason: 'lease', owner: undefined }),
    },
    'poll for the last try': { after: 'expire to ready', does: () => poll(rival), leaves: () => active(rival.owner, 2) },
    'expire after the last try': {
      after: 'poll for the last try',
      does: () => expire('ready'),
      leaves: () => completed('failed', { reason: 'tries' }),
    },
    'junction of what was pushed suspended': { after: 'push suspended', does: junction, leaves: () => released },
    'junction of what a decision suspended': { after: 'suspend', does: junction, leaves: () => released },
    'junction of what waits for its time': { after: 'retry', does: junction, leaves: () => ({}) },
    'redrive of what failed': { after: 'fail', does: redrive, leaves: () => asPushed },
    'redrive of what waits for its time': { after: 'retry', does: redrive, leaves: () => ({}) },
    ...Object.assign({}, ...Object.keys(ends).map((end) => brought(end))),
    'reassign again': {
      after: 'reassign after succeed',
      does: () => reassign('failure'),
      leaves: () => ({ state: 'failed', descent: 'succeeded' }),
    },
    'delete what is redundant': { after: 'supersede what is ready', does: () => insert('delete') },
    'delete what was recreated': { after: 'recreate after fail', does: () => insert('delete') },
    'supersede what is ready': {
      after: 'push',
      does: () => insert('supersede'),
      leaves: () => ({ state: 'redundant' }),
    },
    'supersede what was pushed with a delay': {
      after: 'release what was pushed with a delay',
      does: () => insert('supersede'),
      leaves: () => ({ state: 'redundant' }),
    },
    'supersede what waits for its time': {
      after: 'retry',
      does: () => insert('supersede'),
      leaves: () => ({ state: 'redundant', descent: 'suspended', due: undefined }),
    },
    'supersede what was pushed suspended': {
      after: 'push suspended',
      does: () => insert('supersede'),
      leaves: () => ({}),
    },
    'supersede what a decision suspended': { after: 'suspend', does: () => insert('supersede'), leaves: () => ({}) },
    'supersede what is active': { after: 'poll', does: () => insert('supersede'), leaves: () => ({}) },
    'delete what is active': { after: 'poll', does: () => insert('delete'), leaves: () => ({}) },
  }

  /** The steps that are possible for a task that has ended. */
  function brought(end: string): Record<string, Step> {
    const former = { descent: ends[end], due: undefined }
    const result = end === 'succeed' ? 'filter' : 'success'
    const state = end === 'succeed' ? 'filtered' : 'succeeded'
    const recreated = { state: 'recreated', ...former, externalId: undefined } as const
    return {
      [`reset after ${end}`]: { after: end, does: () => recreate('reset'), leaves: () => asPushed },
      [`recreate after ${end}`]: { after: end, does: () => recreate('append'), leaves: () => recreated },
      [`reassign after ${end}`]: {
        after: end,
        does: () => reassign(result),
        leaves: () => ({ state, ...former, reason: undefined }),
      },
      [`replace after ${end}`]: {
        after: end,
        does: () => insert('replace'),
        leaves: () => ({ state: 'redundant', ...former }),
      },
      [`delete after ${end}`]: { after: end, does: () => insert('delete') },
    }
  }

  async function walk(name: string, afterFirst?: () => Promise<unknown>): Promise<Walked> {
    const { after, does } = steps[name]!
    const before = after === undefined ? {} : (await walk(after, afterFirst)).row!
    clock.advance(1_000)
    await does()
    if (after === undefined) await afterFirst?.()
    return { before, row: await find(), held, now: clock.now() }
  }

  return {
    open: async () => {
      fixture = await openFixture(engine, clock.now)
      // The rival never sends a heartbeat, so it counts as dead a second later.
      rival = await fixture.owner()
      return fixture
    },
    steps,
    walk,
  }
}
