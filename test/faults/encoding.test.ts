/** A database whose encoding is not that of the world: what it cannot keep as it is, it keeps as well as it can, and no neighbour pays for it. */
import { randomBytes } from 'node:crypto'
import { TaskDecision } from '@taskstream/task-api'
import type { HeldTask, TaskAttempt, TaskInfo } from '@taskstream/task-api'
import { eachTask, TaskNode } from '@taskstream/task-processor'
import type { ProcessOptions } from '@taskstream/task-processor'
import { raw, sql } from '@taskstream/task-sql'
import type { Statement } from '@taskstream/task-sql'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { codeOf } from '@taskstream/task-testing/suite'
import { openPostgres } from '../engines/postgres.ts'
import { canRun, isPostgres, openSubject } from '../subject.ts'
import type { AnyTransaction, Subject, Tasks } from '../subject.ts'

/** A server's own encoding, and the columns that texts of people are kept in. */
async function openLatin(): Promise<Subject> {
  const subject = await openSubject()
  const run = (statement: Statement, on = subject): Promise<unknown> =>
    on.transactions((transaction) => on.execute(transaction, statement))
  if (!isPostgres) {
    await run(raw('alter table task modify output text character set latin1'))
    await run(
      raw('alter table task_attempt modify error varchar(200) character set latin1, modify message text character set latin1'),
    )
    await run(raw('alter table task modify identifier varchar(500) character set latin1 not null'))
    return subject
  }
  const name = `taskstream_test_${randomBytes(6).toString('hex')}`
  const admin = await subject.session()
  await admin.transaction.query(`create database ${name} encoding 'LATIN1' lc_collate 'C' lc_ctype 'C' template template0`)
  const url = new URL(subject.location.at)
  url.pathname = `/${name}`
  const latin = await openPostgres(url.href, async () => {
    await admin.transaction.query(`drop database ${name} with (force)`)
    await subject[Symbol.asyncDispose]()
  })
  await latin.tasks().migrate(latin.transactions)
  return latin
}

describe.skipIf(!canRun)('a message that the database cannot keep as it is', () => {
  let subject: Subject
  let tasks: Tasks
  let topic = ''
  let count = 0
  beforeAll(async () => {
    subject = await openLatin()
    await subject.transactions((transaction) => subject.execute(transaction, sql`create table effect (identifier varchar(99))`))
  })
  afterAll(() => subject[Symbol.asyncDispose]())
  beforeEach(async () => {
    tasks = subject.tasks()
    topic = `latin-${count++}`
    await subject.transactions(async (transaction) => {
      await tasks.initialize(transaction, topic)
      await tasks.push(transaction, topic, ['a', 'b', 'c', 'd', 'e'])
    })
  })
  const outcomes = async (): Promise<string[]> => {
    const page = await subject.transactions<TaskInfo[]>((transaction) => tasks.page(transaction, topic))
    return page.map(({ identifier, state, output = '', tries }) => `${identifier} ${state} ${tries} ${output.split('\n')[0]}`)
  }
  const decide = ({ identifier }: HeldTask): TaskDecision => {
    if (identifier === 'b') return TaskDecision.success('完了')
    if (identifier === 'c') return TaskDecision.filter('日本 – 語')
    return TaskDecision.success('déjà vu')
  }
  const decideAll = (batch: readonly HeldTask[]): Map<HeldTask, TaskDecision> =>
    new Map(batch.map((task) => [task, decide(task)]))
  const kept = [
    'a succeeded 1 déjà vu',
    String.raw`b succeeded 1 \u{5b8c}\u{4e86}`,
    String.raw`c filtered 1 \u{65e5}\u{672c} \u{2013} \u{8a9e}`,
    'd succeeded 1 déjà vu',
    'e succeeded 1 déjà vu',
  ]
  const write = async (transaction: AnyTransaction, held: readonly HeldTask[]): Promise<void> => {
    for (const task of held)
      await subject.execute(transaction, sql`insert into effect (identifier) values (${`${task.topic} ${task.identifier}`})`)
  }
  const effects = async (): Promise<number> => {
    const rows = await subject.transactions((transaction) =>
      subject.execute(transaction, sql`select identifier from effect where identifier like ${`${topic} %`}`),
    )
    return rows.length
  }
  const errors: unknown[] = []
  const nodeOf = (): TaskNode<AnyTransaction> => {
    errors.length = 0
    return new TaskNode({
      repository: tasks,
      transactions: subject.transactions,
      listener: { onError: ({ activity, error }) => void errors.push([activity, error]) },
    })
  }

  const forms: readonly [string, ProcessOptions<AnyTransaction>][] = [
    ['is escaped, and what its neighbours say is kept as it is', { handler: eachTask(decide) }],
    ['costs no neighbour of a batch of one', { size: 1, concurrency: 5, handler: async (batch) => decideAll(await batch) }],
    [
      'costs none where the handler completes',
      { handler: async (batch, { complete }) => expect((await complete(decideAll(batch))).completed).toHaveLength(5) as never },
    ],
  ]
  test.each(forms)('%s', async (_, options) => {
    await using node = nodeOf()
    node.process(topic, { idleMs: 20, ...options })
    await node.start()
    await expect.poll(outcomes).toEqual(kept)
    expect(errors).toEqual([])
  })

  test('is escaped in the history of attempts as well, whatever an error is called that began in ASCII', async () => {
    const renamed = new Error('plain')
    renamed.stack = 'Error: plain'
    renamed.message = '日本'
    const long = new Error(`${'x'.repeat(4_000)}完`)
    const failing = ({ identifier }: HeldTask): TaskDecision => {
      if (identifier === 'a') return TaskDecision.failure(new Error('完了'))
      if (identifier === 'b') return TaskDecision.failure(renamed)
      return identifier === 'c' ? TaskDecision.failure(long) : TaskDecision.failure('déjà vu')
    }
    await using node = nodeOf()
    node.process(topic, { idleMs: 20, handler: eachTask(failing) })
    await node.start()
    await expect.poll(async () => (await outcomes()).filter((one) => one.includes(' failed '))).toHaveLength(5)
    const page = await subject.transactions<TaskInfo[]>((transaction) => tasks.page(transaction, topic))
    const all: TaskAttempt[] = []
    for (const { sequence } of page)
      all.push(
        ...(await subject.transactions<readonly TaskAttempt[]>((transaction) => tasks.attempts(transaction, topic, sequence))),
      )
    expect(all.map(({ error }) => error)).toEqual([
      String.raw`Error: \u{5b8c}\u{4e86}`,
      'Error: plain',
      `Error: ${'x'.repeat(190)}...`,
      'déjà vu',
      'déjà vu',
    ])
    expect(all.map(({ message }) => message!.length <= 4_000)).toEqual([true, true, true, true, true])
    expect(errors).toEqual([])
  })

  test('costs none in transactional mode', async () => {
    await using node = nodeOf()
    // The first poll of a topic is by a lease. A size of one leaves all tasks but the first to transactions.
    node.process(topic, { mode: 'transactional', size: 1, concurrency: 1, idleMs: 20, handler: eachTask(decide) })
    await node.start()
    await expect.poll(outcomes).toEqual(kept)
    // The transactions of `b` and `c` are rolled back. Each of the two is then completed by a lease.
    expect(errors).toEqual([
      ['complete', expect.anything()],
      ['complete', expect.anything()],
    ])
  })

  test('costs none where the handler writes, once', async () => {
    await using node = nodeOf()
    node.process(topic, {
      handler: async (_, { complete }) => {
        await complete(async (transaction, held) => {
          await write(transaction, held)
          return decideAll(held)
        })
      },
    })
    await node.start()
    // It is completed as a whole, and so all of it is escaped.
    await expect.poll(outcomes).toEqual(kept.map((line) => line.replace('déjà', String.raw`d\u{e9}j\u{e0}`)))
    expect([await effects(), errors]).toEqual([5, []])
  })

  test('is escaped where it is an error, or that of another try', async () => {
    await using node = nodeOf()
    node.process(topic, {
      handler: eachTask(({ identifier }) => {
        if (identifier === 'b') throw new Error('失敗')
        if (identifier === 'c') return TaskDecision.retry({ afterMs: 3_600_000 }, '後で')
        return TaskDecision.success()
      }),
    })
    await node.start()
    await expect
      .poll(outcomes)
      .toEqual([
        'a succeeded 1 ',
        String.raw`b failed 1 Error: \u{5931}\u{6557}`,
        String.raw`c suspended 1 \u{5f8c}\u{3067}`,
        'd succeeded 1 ',
        'e succeeded 1 ',
      ])
    await node.stop()
    expect(errors).toEqual([])
  })

  test('is told by name where it is no message, and costs nobody who is submitted with it', async () => {
    await using node = nodeOf()
    const submitted = ['f', '識別子', 'é'].map((identifier) => codeOf(() => node.submit(topic, identifier).then(() => 'pushed')))
    expect(await Promise.all(submitted)).toEqual(['pushed', 'ARGUMENT_INVALID', 'pushed'])
    expect((await outcomes()).slice(5)).toEqual(['f ready 0 ', 'é ready 0 '])
  })
})
