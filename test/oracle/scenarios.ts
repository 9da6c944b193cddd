/**
 * Calls every verb in every way that leads to another statement. The arguments are simple, and the scene says which rows the verb
 * finds.
 */
import { TaskDecision, pollConditions, pollOrders } from '@taskstream/task-api'
import type {
  HeldTask,
  PollCondition,
  PollOrder,
  TaskCreation,
  TaskFilter,
  TaskState,
  TransactionSource,
} from '@taskstream/task-api'
import type { SqlTaskRepository } from '@taskstream/task-sql'
import type { OracledbConnection } from '@taskstream/task-sql/oracledb'
import { toLease } from '../../packages/task-sql/src/core/lease.ts'
import type { Way } from '../../packages/task-sql/src/core/lease.ts'
import { operatorScenarios } from './operator-scenarios.ts'
import { examinationScenarios } from './examination-scenarios.ts'
import { periodicScenarios } from './periodic-scenarios.ts'
import type { Scene } from './recording.ts'

type Tasks = SqlTaskRepository<OracledbConnection>

export interface Scenario {
  readonly verb: keyof Tasks
  readonly scene?: Scene
  /** The code of the error in which the scenario ends. Some statements come only before an error. */
  readonly fails?: string
  run(tasks: Tasks, connection: OracledbConnection, transactions: TransactionSource<OracledbConnection>): Promise<unknown>
}

const topic = 'mail'
const long = '漢'.repeat(2_000)
const unknown: NonNullable<Scene['rows']> = [[/from \w*\.?task_topic/, 0]]
const singular = 'singular-by-identifier-suspend-until-success'

/** Held tasks as polls return them, on their first attempt. */
function held(count: number, way: Way = 'active'): HeldTask[] {
  return Array.from({ length: count }, (_, index) => ({
    topic,
    sequence: index + 1,
    identifier: `i${index}`,
    lease: toLease(1, way),
    attempt: 1,
    tries: 1,
    priority: 0,
  }))
}

function decided(tasks: readonly HeldTask[], decision = TaskDecision.success('done')): Map<HeldTask, TaskDecision> {
  return new Map(tasks.map((task) => [task, decision]))
}

const filter: TaskFilter = {
  states: ['failed', 'succeeded'],
  identifier: 'a',
  reference: 'r',
  reason: 'tries',
  from: 3,
  to: 9,
  createdFrom: new Date(1),
  createdBefore: new Date(2),
  completedFrom: new Date(3),
  completedBefore: new Date(4),
  changedBefore: new Date(5),
}
const some: TaskFilter[] = [{}, { states: [] }, filter]

const creations: readonly (string | TaskCreation)[] = [
  { identifier: 'a', externalId: 'x', delayMs: 5 },
  { identifier: 'a', externalId: 'y', due: new Date(5), deadlineMs: 7 },
  { identifier: 'b', input: long, reference: 'r', priority: 3, maxTries: 2, headers: { a: long }, deadline: new Date(9) },
  { identifier: 'c', suspended: true },
]

/**
 * One of the rows has all extras: priority, maxTries, reference, external id, headers, deadline, and whether the deadline has passed.
 */
const extras = JSON.stringify([3, 2, 'r', 'x', '{"a":1}', 9, null])
const late = JSON.stringify([0, null, null, null, null, 9, 1])

const conditionsOf = (order: PollOrder): readonly PollCondition[] => (order === 'shared' ? ['none'] : pollConditions)

function* polls(): Generator<Scenario> {
  for (const [ordering, order] of pollOrders.entries()) {
    for (const [number, condition] of conditionsOf(order).entries()) {
      const row = { ordering, condition: number, extras, blocked: (place: number) => (place % 2 ? 1 : null) }
      yield { verb: 'poll', scene: { row }, run: (tasks, tx) => tasks.poll(tx, topic, { size: 5, order, condition }) }
      yield {
        verb: 'poll',
        scene: { row, rows: [[/for update skip locked/, 0]] },
        run: (tasks, tx) => tasks.poll(tx, topic, { size: 5, order, condition, hold: 'transaction' }),
      }
      // The recording gives the same rows again and again, which a poll by turns would go on with. What is late is filtered in the same way there.
      if (order === 'shared') {
        // Others have locked what is chosen first, so more is chosen than is to be polled.
        const locked: Scene = { row, rows: [[/for update skip locked/, 0]] }
        yield { verb: 'poll', scene: locked, run: (tasks, tx) => tasks.poll(tx, topic, { size: 1, order, condition }) }
        continue
      }
      let asked = 0
      yield {
        verb: 'poll',
        // The first of two rows is past its deadline. The poll looks for another row, and finds none.
        scene: { row: { ...row, extras: () => (asked++ === 0 ? late : null) }, rows: [[/for update skip locked/, 1]] },
        run: (tasks, tx) => tasks.poll(tx, topic, { size: 2, order, condition }),
      }
    }
  }
  const nobody: Scene = { rows: [[/for update skip locked/, 0], ...unknown] }
  yield { verb: 'poll', scene: nobody, fails: 'TOPIC_UNKNOWN', run: (tasks, tx) => tasks.poll(tx, 'none') }
  // One poll finds no recheck, and one finds an empty ready list.
  for (const nothing of [/from \w*\.?task_turn/, /as found/]) {
    yield {
      verb: 'poll',
      scene: { row: { condition: 3 }, rows: [[nothing, 0]] },
      run: (tasks, tx) => tasks.poll(tx, topic, { condition: singular }),
    }
  }
}

function* pushes(): Generator<Scenario> {
  for (const given of ['a', ['a', 'b', 'c'], ['a', 'a', 'b'], [{ identifier: 'a', input: long }], creations]) {
    yield { verb: 'push', run: (tasks, tx) => tasks.push(tx, topic, given as string) }
    for (const insertion of ['supersede', 'replace', 'delete'] as const)
      yield { verb: 'push', run: (tasks, tx) => tasks.push(tx, topic, given as string, { insertion }) }
  }
  // At first one of the external ids exists, later all of them do.
  let told = 0
  const oneWas = (): string | null => ['x', null, null, 'x', 'y'][told++ % 5] ?? null
  yield {
    verb: 'push',
    scene: {
      row: { external_id: oneWas },
      touched: [[/^\s*insert/, 3]],
      rows: [
        [/t\.external_id from/, 3],
        [/join \w*\.?task t/, 2],
      ],
    },
    run: (tasks, tx) => tasks.push(tx, topic, creations),
  }
  yield {
    verb: 'push',
    scene: { row: { external_id: (place: number) => 'xy'[place] }, touched: [[/^\s*insert/, 0]] },
    run: (tasks, tx) => tasks.push(tx, topic, creations.slice(0, 2)),
  }
  yield {
    verb: 'push',
    scene: { touched: [[/^\s*insert/, 0]], rows: [[/join \w*\.?task t/, 0]] },
    fails: 'TRANSACTION_CONFLICT',
    run: (tasks, tx) => tasks.push(tx, topic, creations.slice(0, 2)),
  }
  const behind: Scene = { fails: [[/^\s*insert/, 'ORA-00001: unique constraint (TASKS.TASK_KEY) violated']] }
  yield { verb: 'push', scene: behind, fails: 'SEQUENCE_BEHIND', run: (tasks, tx) => tasks.push(tx, topic, 'a') }
  const nothing: Scene = { touched: [[/^\s*insert/, 0]], rows: unknown }
  yield { verb: 'push', scene: nothing, fails: 'TOPIC_UNKNOWN', run: (tasks, tx) => tasks.push(tx, 'none', 'a') }
}

function* completions(): Generator<Scenario> {
  for (const tasks of [held(1), held(3), held(3, 'staged'), held(4_000)]) {
    for (const decision of [
      TaskDecision.success(),
      TaskDecision.success('sent'),
      TaskDecision.failure(long),
      TaskDecision.retry({ afterMs: 5 }, 'later'),
    ])
      yield { verb: 'complete', run: (repository, tx) => repository.complete(tx, topic, decided(tasks, decision)) }
    yield { verb: 'hold', run: (repository, tx) => repository.hold(tx, topic, tasks) }
    yield { verb: 'lost', run: (repository, tx) => repository.lost(tx, topic, tasks) }
    yield { verb: 'handBack', run: (repository, tx) => repository.handBack(tx, topic, tasks) }
  }
  const often = held(2).map((task) => ({ ...task, lease: toLease(21, 'active'), attempt: 21 }))
  yield { verb: 'complete', run: (tasks, tx) => tasks.complete(tx, topic, decided(often, TaskDecision.failure('again'))) }
  const none: Scene = { rows: [[/for update/, 0]] }
  yield { verb: 'complete', scene: none, run: (tasks, tx) => tasks.complete(tx, topic, decided(held(2))) }
  const returning = TaskDecision.success().withValue('1').withSuccessor({ topic, sequence: 9 })
  yield { verb: 'complete', run: (tasks, tx) => tasks.complete(tx, topic, decided(held(2), returning)) }
  yield { verb: 'complete', run: (tasks, tx) => tasks.complete(tx, topic, decided(held(2)), { discard: ['succeeded'] }) }
  yield { verb: 'endings', run: (tasks, tx) => tasks.endings(tx, held(2)) }
  yield {
    verb: 'depend',
    run: (tasks, tx) => tasks.depend(tx, { topic, sequence: 9 }, [{ need: 'x', on: { topic: 'mail', sequence: 7 } }]),
  }
  yield { verb: 'dependencies', run: (tasks, tx) => tasks.dependencies(tx, held(2)) }
  yield { verb: 'settle', run: (tasks, tx) => tasks.settle(tx, topic) }
  const all = { total: 3, rate: { count: 5, perMs: 1_000 }, maxEntries: { count: 9 }, deadLetter: 'dead' } as const
  yield { verb: 'limit', run: (tasks, tx) => tasks.limit(tx, topic, all) }
  yield { verb: 'limit', scene: { touched: [[/^\s*merge/, 0]] }, run: (tasks, tx) => tasks.limit(tx, topic, all) }
  yield { verb: 'limits', run: (tasks, tx) => tasks.limits(tx) }
  yield { verb: 'takeSlots', run: (tasks, tx) => tasks.takeSlots(tx, topic, { held: 1, wanted: 2 }) }
  yield { verb: 'takeSlots', run: (tasks, tx) => tasks.takeSlots(tx, topic, { held: 0, wanted: 0 }) }
  yield { verb: 'holdSlots', run: (tasks, tx) => tasks.holdSlots(tx, topic) }
  yield { verb: 'freeSlots', run: (tasks, tx) => tasks.freeSlots(tx, 10_000) }
  yield { verb: 'takeTokens', run: (tasks, tx) => tasks.takeTokens(tx, topic, 2) }
  yield { verb: 'giveTokens', run: (tasks, tx) => tasks.giveTokens(tx, topic, 1) }
  const full: Scene = { touched: [[/used \+/, 0]], row: { kind: 'entries-dropping', amount: 3, used: 3 } }
  yield { verb: 'admit', scene: full, run: (tasks, tx) => tasks.admit(tx, topic, 1) }
  const counted: Scene = { touched: [[/used \+/, 0]] }
  yield { verb: 'admit', scene: counted, run: (tasks, tx) => tasks.admit(tx, topic, 3, ['e1', 'e2']) }
  yield { verb: 'hold', scene: none, run: (tasks, tx) => tasks.hold(tx, topic, held(2)) }
  yield {
    verb: 'complete',
    scene: { touched: [[/^\s*merge/, 1]] },
    fails: 'TRANSACTION_CONFLICT',
    run: (tasks, tx) => tasks.complete(tx, topic, decided(held(2))),
  }
  yield { verb: 'reclaim', run: (tasks, tx) => tasks.reclaim(tx, topic, []) }
  for (const due of [-1, 5, null])
    yield { verb: 'promoteDue', scene: { row: { due } }, run: (tasks, tx) => tasks.promoteDue(tx, topic) }
}

const ended = held(2).map((task) => ({ topic, sequence: task.sequence, identifier: task.identifier }))

function* revivals(): Generator<Scenario> {
  for (const how of ['reset', 'append', 'supersede', 'replace'] as const) {
    yield { verb: 'recreate', run: (tasks, tx) => tasks.recreate(tx, topic, how, ended) }
    yield { verb: 'recreate', run: (tasks, tx) => tasks.recreate(tx, topic, how, { ...rest, state: 'failed', size: 3 }) }
  }
  for (const dryRun of [true, false])
    for (const which of [{}, rest]) yield { verb: 'redrive', run: (tasks, tx) => tasks.redrive(tx, topic, { ...which, dryRun }) }
  yield {
    verb: 'reassign',
    run: (tasks, tx) =>
      tasks.reassign(
        tx,
        topic,
        new Map([
          [ended[0]!, 'success'],
          [ended[1]!, 'filter'],
        ] as const),
      ),
  }
  yield { verb: 'reassignAll', run: (tasks, tx) => tasks.reassignAll(tx, topic, { from: 'failed', to: 'success' }) }
  for (const selector of [7, [7, 8], { externalId: 'x' }, { identifier: 'i0' }]) {
    yield { verb: 'cancel', run: (tasks, tx) => tasks.cancel(tx, topic, selector) }
    for (const to of [{ delayMs: 5 }, { due: new Date(1), deadlineMs: 5, priority: 3 }, { deadline: null }])
      yield { verb: 'reschedule', run: (tasks, tx) => tasks.reschedule(tx, topic, selector, to) }
  }
  for (const kind of ['singular', 'eternal'] as const)
    yield { verb: 'junction', run: (tasks, tx) => tasks.junction(tx, topic, kind, [['i0', 'i1'], ['i2']]) }
}

const { states: _states, ...rest } = filter

function* looks(): Generator<Scenario> {
  yield { verb: 'task', run: (tasks, tx) => tasks.task(tx, topic, 7) }
  yield { verb: 'task', run: (tasks, tx) => tasks.task(tx, topic, { externalId: 'x' }) }
  for (const which of [7, { externalId: 'x' }]) yield { verb: 'attempts', run: (tasks, tx) => tasks.attempts(tx, topic, which) }
  for (const which of some) {
    yield { verb: 'page', run: (tasks, tx) => tasks.page(tx, topic, which) }
    yield { verb: 'page', run: (tasks, tx) => tasks.page(tx, topic, { ...which, before: 9 }) }
    for (const recent of [true, false])
      for (const one of [{}, { topic }])
        yield { verb: 'count', run: (tasks, tx) => tasks.count(tx, { ...one, ...which, recent }) }
    yield { verb: 'purge', run: (tasks, tx) => tasks.purge(tx, topic, which) }
    yield { verb: 'purge', run: (tasks, tx) => tasks.purge(tx, topic, { ...which, olderThanMs: 1_000 }) }
  }
  yield { verb: 'purge', run: (tasks, tx) => tasks.purge(tx, topic, { states: ['ready', 'active'] satisfies TaskState[] }) }
  yield { verb: 'purgeAttempts', run: (tasks, tx) => tasks.purgeAttempts(tx, { olderThanMs: 5 }) }
  yield { verb: 'purgeAll', run: (tasks, tx) => tasks.purgeAll(tx, topic) }
  yield { verb: 'overview', run: (tasks, tx) => tasks.overview(tx) }
  yield { verb: 'results', run: (tasks, tx) => tasks.results(tx) }
  yield { verb: 'results', run: (tasks, tx) => tasks.results(tx, { from: new Date(1), to: new Date(2) }) }
  for (const preceding of [true, false])
    yield { verb: 'resolve', run: (tasks, tx) => tasks.resolve(tx, new Date(1), { preceding }) }
}

function* keeping(): Generator<Scenario> {
  for (const condition of pollConditions) {
    yield { verb: 'initialize', run: (tasks, tx) => tasks.initialize(tx, topic, { condition, order: 'priority' }) }
  }
  yield {
    verb: 'initialize',
    scene: { touched: [[/^\s*insert/, 0]] },
    run: (tasks, tx) => tasks.initialize(tx, topic, { keyed: true }),
  }
  yield { verb: 'topics', run: (tasks, tx) => tasks.topics(tx) }
  yield { verb: 'destroy', run: (tasks, tx) => tasks.destroy(tx, topic) }
  yield { verb: 'refresh', run: (tasks, tx) => tasks.refresh(tx) }
  yield { verb: 'limitStatements', run: (tasks, tx) => tasks.limitStatements(tx, 1_000) }
  for (const [ordering, order] of pollOrders.entries()) {
    for (const [condition] of conditionsOf(order).entries())
      yield { verb: 'repair', scene: { row: { ordering, condition } }, run: (tasks, tx) => tasks.repair(tx) }
  }
  yield { verb: 'repair', scene: { row: { stage: null } }, run: (tasks, tx) => tasks.repair(tx, topic) }
  // Another transaction has locked one of two rows. The sequence is behind by a little, or by too much.
  const behind: Scene = { row: { last: 100_000 }, rows: [[/for update skip locked/, 1]] }
  yield { verb: 'repair', scene: behind, run: (tasks, tx) => tasks.repair(tx, topic) }
  const far: Scene = { row: { last: 1e9 } }
  yield { verb: 'repair', scene: far, fails: 'SEQUENCE_BEHIND', run: (tasks, tx) => tasks.repair(tx, topic) }
  for (const active of [null, 0, 1]) {
    const scene: Scene = { row: { active }, touched: [[/^\s*insert/, active === null ? 0 : 1]] }
    yield { verb: 'activate', scene, run: (tasks, tx) => tasks.activate(tx, topic) }
    yield { verb: 'deactivate', scene, run: (tasks, tx) => tasks.deactivate(tx, topic) }
  }
  yield { verb: 'activations', run: (tasks, tx) => tasks.activations(tx) }
  for (const exclusive of [true, false]) yield { verb: 'register', run: (tasks, tx) => tasks.register(tx, { exclusive }) }
  const deadlock: Scene = { fails: [[/./, 'ORA-00060']] }
  yield { verb: 'heartbeat', scene: deadlock, fails: 'TRANSACTION_CONFLICT', run: (tasks, tx) => tasks.heartbeat(tx) }
  yield { verb: 'unregister', run: (tasks, tx) => tasks.unregister(tx) }
  yield { verb: 'heartbeat', run: (tasks, tx) => tasks.heartbeat(tx) }
  yield { verb: 'owners', run: (tasks, tx) => tasks.owners(tx, 5) }
  yield { verb: 'purgeOwners', run: (tasks, tx) => tasks.purgeOwners(tx, 5) }
  for (const then of ['expired', 'ready'] as const)
    for (const attempt of [1, 21])
      yield { verb: 'expire', scene: { row: { attempt } }, run: (tasks, tx) => tasks.expire(tx, { olderThanMs: 5, then }) }
  // There are no tables yet.
  for (const verb of ['migrate', 'plan', 'schemaStatus'] as const)
    yield { verb, scene: { row: { found: 0 } }, run: (tasks, _tx, transactions) => tasks[verb](transactions) }
  yield { verb: 'verb', run: (tasks, tx) => tasks.verb(({ verbs }) => verbs.push(topic, 'a'))(tx) }
  yield { verb: 'schemaStatus', run: (tasks, _tx, transactions) => tasks.schemaStatus(transactions) }
}

export const scenarios: readonly Scenario[] = [
  ...polls(),
  ...pushes(),
  ...completions(),
  ...revivals(),
  ...looks(),
  ...keeping(),
  ...periodicScenarios(),
  ...operatorScenarios(),
  ...examinationScenarios(),
]
