/** What the large database holds, and for each answer of `why` a state of it and the tasks that have this answer. */
import type { DiagnosisCode, NodeReport, NodeTopic, TaskReference } from '@taskstream/task-api'
import { raw } from '@taskstream/task-sql'
import type { AnyTransaction, Subject, Tasks } from '../subject.ts'
import { execute, keepCalm, load } from './load.ts'
import type { Rows } from './load.ts'

/** How often each question is asked. */
export const times = 50

export interface Scene {
  readonly code: DiagnosisCode
  readonly topic: string
  /** Which task is meant by the question of this number. */
  reference(index: number): TaskReference
  /** Brings the database into the state in which that is the answer. */
  prepare?(): Promise<unknown>
  /** Undoes that. */
  after?(): Promise<unknown>
}

export interface World {
  readonly subject: Subject
  readonly tasks: Tasks
  readonly scenes: readonly Scene[]
}

/** Owners of active tasks. A test cannot wait for a lease, so the heartbeats of two of them are set back. */
const owners = ['living', 'silent', 'dead'] as const

/** @param size how many tasks there are at least, half of them in a topic without identifiers */
export async function makeWorld(subject: Subject, size: number, progress: (text: string) => void): Promise<World> {
  const { transactions: commit } = subject
  const tasks = subject.tasks({ owner: 'asking' })
  const nodes = Object.fromEntries(owners.map((name) => [name, subject.tasks({ owner: name })])) as Record<
    (typeof owners)[number],
    Tasks
  >
  await keepCalm(subject)
  await commit(async (transaction) => {
    await tasks.initialize(transaction, 'plain')
    await tasks.initialize(transaction, 'keyed', { keyed: true })
    await tasks.initialize(transaction, 'ordered', { condition: 'singular-by-identifier-suspend-on-failure' })
    for (const name of owners) await nodes[name].register(transaction)
  })
  const half = Math.round(size / 2)
  const held = (name: (typeof owners)[number]): Rows => ({
    topic: 'plain',
    count: 500,
    columns: { state: '0', listed: 'TRUE', owner: `'${nodes[name].owner}'`, attempt: '1', tries: '1', started: 'NOW' },
  })
  const ended = { completed: 'NOW', started: 'NOW', attempt: '1', tries: '1' }
  const lists = {
    succeeded: { topic: 'plain', count: half - 300_000, columns: { state: '6', ...ended } },
    filtered: { topic: 'plain', count: 50_000, columns: { state: '5', ...ended, reason: '1' } },
    recreated: { topic: 'plain', count: 10_000, columns: { state: '7', descent: '3', ...ended } },
    redundant: { topic: 'plain', count: 10_000, columns: { state: '8', ...ended } },
    failed: { topic: 'plain', count: 100_000, columns: { state: '3', ...ended } },
    expired: { topic: 'plain', count: 1_000, columns: { state: '2', ...ended } },
    suspended: { topic: 'plain', count: 1_000, columns: { state: '4', ...ended } },
    retrying: { topic: 'plain', count: 10_000, columns: { state: '4', ...ended, due: 'LATER' } },
    delayed: { topic: 'plain', count: 10_000, columns: { state: '4', due: 'LATER', descent: '4' } },
    overdue: { topic: 'plain', count: 1_000, columns: { state: '4', due: 'EARLIER', descent: '4' } },
    living: held('living'),
    silent: held('silent'),
    dead: held('dead'),
    ready: { topic: 'plain', count: 200_000, columns: { state: '1' } },
    late: { topic: 'plain', count: 1_000, columns: { state: '1', deadline: 'EARLIER' } },
    keyed: { topic: 'keyed', count: half - 200_000, columns: { state: '6', ...ended, stage: '9' } },
    busy: { topic: 'keyed', count: 100_000, columns: { state: '6', ...ended, stage: '9', identifier: `'busy'` } },
    waiting: { topic: 'keyed', count: 50_000, columns: { state: '1', stage: '9' } },
    blockers: { topic: 'ordered', count: 100_000, columns: { state: '3', ...ended, stage: '2' } },
    blocked: { topic: 'ordered', count: 100_000, columns: { state: '1', stage: '1' } },
  } satisfies Record<string, Rows>
  const firsts = await load(subject, Object.values(lists), (rows, of) =>
    progress(`${rows.toLocaleString('en')} of ${of.toLocaleString('en')} tasks`),
  )
  const first = Object.fromEntries(Object.keys(lists).map((name, index) => [name, firsts[index]!])) as Record<
    keyof typeof lists,
    number
  >
  await addAttempts(subject)
  if (subject.engine === 'postgres') {
    // Polls would have raised the low watermark to the first ready row that is not listed, and noted in the ledger what owners hold.
    await execute(subject, `update taskstream.task_topic set floor = ${first.ready - 1} where topic = 'plain'`)
    await execute(subject, `update taskstream.task_topic set floor = ${first.waiting - 1} where topic = 'keyed'`)
    await execute(
      subject,
      `insert into taskstream.task_holding (topic, owner, chunk)
        select distinct topic, owner, sequence >> 13 from taskstream.task where topic = 'plain' and sequence >= ${first.living} and sequence < ${first.ready}`,
    )
  }
  const of = (name: keyof typeof lists): Pick<Scene, 'topic' | 'reference'> => {
    const { topic, count } = lists[name]
    const step = Math.floor(count / times)
    // The first of the ready tasks has another answer than the others.
    return { topic, reference: (index) => first[name] + index * step + (name === 'ready' ? 1 : 0) }
  }

  const report = (topic: Partial<NodeTopic> = {}, name = 'plain', more: Partial<NodeReport> = {}): Promise<unknown> =>
    commit(async (transaction) => {
      await nodes.living.heartbeat(transaction)
      const topics = ['plain', 'keyed', 'ordered'].map((each) => ({ topic: each, ...(each === name && topic) }))
      await nodes.living.report(transaction, { kind: 'node', host: 'h', pid: 1, leaseMs: 600_000, topics, ...more })
    })
  const reportNothing = (): Promise<unknown> =>
    commit((transaction) => nodes.living.report(transaction, { kind: 'node', host: 'h', pid: 1, leaseMs: 600_000, topics: [] }))
  const unknown = subject.tasks({ owner: 'unknown' })
  const reset = (): Promise<unknown> => report()
  const setBack = async (name: 'silent' | 'dead', ms: number): Promise<void> => {
    const [table, heartbeat] =
      subject.engine === 'postgres'
        ? ['taskstream.task_owner', `heartbeat - interval '${ms} milliseconds'`]
        : ['task_owner', `heartbeat - ${ms}`]
    await execute(subject, `update ${table} set heartbeat = ${heartbeat} where owner = '${nodes[name].owner}'`)
  }
  const reportAs = (name: 'silent' | 'dead', topics: readonly NodeTopic[]): Promise<unknown> =>
    commit((transaction) => nodes[name].report(transaction, { kind: 'node', host: 'h', pid: 1, leaseMs: 3_600_000, topics }))
  for (const name of ['silent', 'dead'] as const) {
    await reportAs(name, [])
    await setBack(name, name === 'silent' ? 2_000_000 : 4_000_000)
  }
  await reset()
  const needing = await awaiting(commit, tasks)
  const onFirst = { topic: 'plain', reference: () => first.ready }
  const alone = (code: DiagnosisCode, told: Partial<NodeTopic>): Scene => ({
    code,
    ...of('ready'),
    prepare: () => report(told),
    after: reset,
  })
  let session: Awaited<ReturnType<Subject['session']>> | undefined
  const scenes: Scene[] = [
    { code: 'unknown', topic: 'plain', reference: (index) => 1_000_000_000 + index },
    ...(
      [
        'succeeded',
        'failed',
        'filtered',
        'recreated',
        'redundant',
        'expired',
        'suspended',
        'retrying',
        'delayed',
        'overdue',
      ] as const
    ).map((code) => ({ code, ...of(code) })),
    { code: 'succeeded', topic: 'keyed', reference: (index) => ({ identifier: `i${lists.waiting.count + 1 + index * 5_000}` }) },
    // An identifier with a long history, and nothing open in it.
    { code: 'succeeded', topic: 'keyed', reference: () => ({ identifier: 'busy' }) },
    { code: 'running', ...of('living') },
    {
      code: 'stuck',
      ...of('living'),
      prepare: () =>
        report({
          stuck: Array.from({ length: 100 }, (_, index) => ({ sequence: first.living + index * 10, attempt: 1, forMs: 1_000 })),
        }),
      after: reset,
    },
    { code: 'owner-silent', ...of('silent') },
    { code: 'owner-dead', ...of('dead') },
    { code: 'awaits', topic: 'plain', reference: (index) => needing[index % needing.length]! },
    {
      code: 'paused',
      ...of('ready'),
      prepare: () => commit((tx) => tasks.deactivate(tx, 'plain')),
      after: () => commit((tx) => tasks.activate(tx, 'plain')),
    },
    { code: 'no-node', ...of('ready'), prepare: reportNothing, after: reset },
    {
      code: 'node-unknown',
      ...of('ready'),
      prepare: async () => {
        await reportNothing()
        await commit((transaction) => unknown.register(transaction))
      },
      after: async () => {
        await commit((transaction) => unknown.unregister(transaction))
        await reset()
      },
    },
    {
      code: 'node-silent',
      ...of('ready'),
      prepare: async () => {
        await reportNothing()
        await reportAs('silent', [{ topic: 'plain' }])
      },
      after: async () => {
        await reportAs('silent', [])
        await reset()
      },
    },
    {
      code: 'node-quiet',
      ...of('ready'),
      prepare: () => commit((transaction) => tasks.quiet(transaction, nodes.living.owner)),
      after: () => commit((transaction) => tasks.quiet(transaction, nodes.living.owner, false)),
    },
    alone('node-failing', { error: { activity: 'poll', message: 'gone', since: new Date() } }),
    alone('no-slot', { busy: 2, concurrency: 2 }),
    { code: 'past-deadline', ...of('late') },
    {
      code: 'limited',
      ...of('ready'),
      prepare: () => commit((transaction) => tasks.limit(transaction, 'plain', { total: 1_000 })),
      after: () => commit((transaction) => tasks.limit(transaction, 'plain', {})),
    },
    { code: 'out-of-turn', topic: 'ordered', reference: (index) => first.blocked + index * 2_000 },
    { code: 'out-of-turn', topic: 'ordered', reference: (index) => ({ identifier: `i${1 + index * 2_000}` }) },
    { code: 'behind', ...of('ready') },
    { code: 'behind', topic: 'keyed', reference: (index) => first.waiting + 1 + index * 900 },
    { code: 'next', ...onFirst },
    { ...alone('unexplained', { emptyMs: 900_000, idleMs: 1_000 }), ...onFirst },
  ]
  if (subject.writers > 1)
    scenes.push({
      code: 'locked',
      ...onFirst,
      prepare: async () => {
        session = await subject.session()
        await session.begin()
        await tasks.cancel(session.transaction, 'plain', [first.ready])
      },
      after: async () => {
        await session?.rollback()
        await session?.close()
      },
    })
  return { subject, tasks, scenes }
}

type Commit = Subject['transactions']

/** A task that needs one that needs another, five times. @returns the sequences of those that need the others */
async function awaiting(commit: Commit, tasks: Tasks): Promise<number[]> {
  return await commit<number[]>(async (transaction: AnyTransaction) => {
    const pushed = await tasks.push(
      transaction,
      'plain',
      Array.from({ length: 7 }, (_, index) => ({ identifier: `need-${index}`, suspended: true })),
    )
    for (const [index, { sequence }] of pushed.entries())
      if (index > 0)
        await tasks.depend(transaction, { topic: 'plain', sequence }, [
          { need: 'n', on: { topic: 'plain', sequence: pushed[index - 1]!.sequence } },
        ])
    return pushed.slice(1).map(({ sequence }) => sequence)
  })
}

/** Each failed task has an attempt, with one of a hundred errors; a part of the succeeded ones had failed before. */
async function addAttempts(subject: Subject): Promise<void> {
  const postgres = subject.engine === 'postgres'
  const schema = postgres ? 'taskstream.' : ''
  const kind = subject.engine === 'mariadb' ? `concat('error', sequence % 100)` : `'error' || (sequence % 100)`
  for (const where of [
    `topic = 'plain' and state = 3`,
    `topic = 'ordered' and state = 3`,
    `topic = 'plain' and state = 6 and sequence % 20 = 0`,
  ])
    await execute(
      subject,
      `insert into ${schema}task_attempt (topic, sequence, attempt, ended, outcome, fingerprint, error, message, release_name)
       select topic, sequence, 1, ${postgres ? `statement_timestamp() - interval '10 days' + sequence * interval '50 milliseconds'` : `(${subject.engine === 'mariadb' ? 'unix_timestamp()' : 'unixepoch()'} - 864000) * 1000 + sequence * 50`}, 1, ${kind}, ${kind}, ${kind}, '1.0'
         from ${schema}task where ${where}`,
    )
}

/** Gathers statistics. */
export async function analyse({ subject, tasks }: World): Promise<void> {
  if (subject.engine === 'mariadb')
    await execute(subject, 'analyze table task, task_topic, task_owner, task_lane, task_turn, task_attempt, task_node')
  else await subject.owner.transactions((transaction) => tasks.refresh(transaction))
  // Autovacuum would do so.
  if (subject.engine === 'postgres')
    for (const table of ['task_attempt', 'task_node'])
      await subject.transactions((transaction) => subject.execute(transaction, raw(`analyze taskstream.${table}`)))
}
