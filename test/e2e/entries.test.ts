/** The front door's entries over real connections: an empty database, jobs with the caller's own rows, other connections, a stop. */
import type { FilterState, TaskCount, TransactionSource } from '@taskstream/task-api'
import { raw, sql } from '@taskstream/task-sql'
import { testClock } from '@taskstream/task-testing'
import { codeOf } from '@taskstream/task-testing/suite'
import pg from 'pg'
import { defineJob, fixed, json } from 'taskstream'
import type { AnyJob, Stream, StreamOptions, TaskListener } from 'taskstream'
import { taskstream as ofDrizzle } from 'taskstream/drizzle'
import { taskstream as ofKnex } from 'taskstream/knex'
import { taskstream as ofKysely } from 'taskstream/kysely'
import { taskstream as ofMysql2 } from 'taskstream/mysql2'
import { taskstream as ofPg } from 'taskstream/pg'
import { taskstream as ofPrisma } from 'taskstream/prisma'
import { taskstream as ofTypeorm } from 'taskstream/typeorm'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { entries } from '../drivers/entries.ts'
import type { OpenEntry } from '../drivers/entry.ts'
import { drivers } from '../drivers/of-engine.ts'
import { placeOf } from '../drivers/place.ts'
import { openPool, schema } from '../drivers/postgres-entries.ts'
import { canRun, isMysql, isPostgres, openSubject } from '../subject.ts'
import type { AnyTransaction, Subject } from '../subject.ts'

const aDay = 86_400_000
const silent: { listener: TaskListener } = { listener: {} }
const mail = defineJob('mail', { input: json<string>(), retry: fixed({ tries: 3, afterMs: 10 }) })
const letter = defineJob('letter', { input: json<string>() })

interface Sleeper {
  /** For a stream whose pauses never end: once it is asleep, it finds no job unless it is woken. */
  readonly options: StreamOptions<AnyTransaction>
  /** Whether a poll has found nothing since the start and the end of the last job. Each of them has the stream poll. */
  isAsleep(): boolean
  /** Lets the longest pause pass. */
  pass(): void
}

function sleeper(): Sleeper {
  let state: 'awake' | 'busy' | 'asleep' = 'awake'
  const listener: TaskListener = {
    onStart: () => void (state = 'busy'),
    onComplete: () => void (state = 'awake'),
    onEmpty: () => void (state = state === 'busy' ? 'busy' : 'asleep'),
  }
  const clock = testClock(new Date())
  return {
    options: { clock, listener, heartbeatIntervalMs: aDay, leaseMs: 3 * aDay, maintenanceIntervalMs: aDay },
    isAsleep: () => state === 'asleep',
    pass: () => void clock.advance(1_000),
  }
}

/** How many jobs of a definition are in each state. */
async function statesOf<Transaction>(stream: Stream<Transaction, 'sync' | 'async'>, { name }: AnyJob): Promise<unknown> {
  const counts = await stream.transaction<ReadonlyMap<string, ReadonlyMap<FilterState, TaskCount>>>((transaction) =>
    stream.tasks.count(transaction, { topic: name }),
  )
  return Object.fromEntries([...(counts.get(name) ?? [])].map(([state, { count }]) => [state, count]))
}

describe.skipIf(!canRun).each(entries)('the entry of $name', (entry) => {
  let subject: Subject
  let at: string
  let opened: OpenEntry
  let observer: NonNullable<OpenEntry['observer']>
  let closeObserver = async (): Promise<void> => {}
  beforeAll(async () => {
    subject = await openSubject()
    at = await placeOf(subject)
    opened = await entry.open(at)
    if (opened.observer) observer = opened.observer
    else {
      const other = await drivers[0]!.open(at)
      observer = other
      closeObserver = () => other.close()
    }
    const text = isMysql ? 'text character set utf8mb4' : 'text'
    await (observer.transactions as TransactionSource<AnyTransaction>)((transaction) =>
      observer.adapter.execute(transaction, sql`create table invoice (id ${raw(text)})`),
    )
  })
  afterAll(async () => {
    await opened.close()
    await closeObserver()
    if (isMysql) {
      const drop = raw(`drop database ${new URL(at).pathname.slice(1)}`)
      await subject.transactions((transaction) => subject.execute(transaction, drop))
    }
    await subject[Symbol.asyncDispose]()
  })

  test('migrates an empty database, and handles a job with the rows of the caller, or none of them', async () => {
    await using stream = opened.streamOf(silent)
    let tries = 0
    const handler = ({ input, commit }: { input: string; commit: (work: (tx: AnyTransaction) => unknown) => unknown }): unknown =>
      commit(async (transaction) => {
        await opened.insert(transaction, `handled ${input}`)
        if (++tries === 1) throw new Error('the first try is in vain')
      })
    stream.handle(mail, handler)
    await stream.start()
    const inVain = stream.transaction(async (transaction) => {
      await opened.insert(transaction, 'never')
      await stream.push(transaction, mail, 'never')
      throw new Error('no')
    })
    await expect(inVain).rejects.toThrow('no')
    expect(await statesOf(stream, mail)).toEqual({})
    await stream.transaction(async (transaction) => {
      await opened.insert(transaction, 'pushed')
      await stream.push(transaction, mail, 'a')
    })
    await expect.poll(() => statesOf(stream, mail)).toEqual({ succeeded: 1 })
    expect(await observer.invoices()).toEqual(['handled a', 'pushed'])
    expect(tries).toBe(2)
    await stream.submit(mail, 'b')
    await expect.poll(() => statesOf(stream, mail)).toEqual({ succeeded: 2 })
  })

  test('finds at once what its transaction pushed, then what another connection pushed, until it is stopped', async () => {
    const elsewhere = opened.observer ? opened : await entry.open(at)
    await using pusher = elsewhere.streamOf(silent)
    await pusher.prepare(letter)
    const { options, isAsleep, pass } = sleeper()
    const stream = opened.streamOf(options)
    const handled: string[] = []
    stream.handle(letter, ({ input }) => void handled.push(input))
    await stream.start()
    await expect.poll(isAsleep).toBe(true)
    await stream.transaction((transaction) => stream.push(transaction, letter, 'own'))
    await expect.poll(() => handled).toEqual(['own'])
    for (const input of ['a', 'b']) {
      await expect.poll(isAsleep).toBe(true)
      await pusher.transaction((transaction) => pusher.push(transaction, letter, input))
      await expect.poll(() => (entry.tells || pass(), handled.at(-1))).toBe(input)
    }
    await expect.poll(() => statesOf(pusher, letter)).toEqual({ succeeded: 3 })
    expect(await stream.stop()).toEqual({ finished: [], returned: [], abandoned: [] })
    await pusher.transaction((transaction) => pusher.push(transaction, letter, 'late'))
    expect(await codeOf(() => stream.submit(letter, 'refused'))).toBe('LIFECYCLE')
    pass()
    expect(await statesOf(pusher, letter)).toEqual({ ready: 1, succeeded: 3 })
    expect(handled).toEqual(['own', 'a', 'b'])
    await pusher.stop()
    if (elsewhere !== opened) await elsewhere.close()
  })
})

// Elsewhere the suite does not exist, so that nothing is skipped.
const onPostgres = canRun && isPostgres ? describe : () => {}
onPostgres('an entry of pg', () => {
  let subject: Subject
  beforeAll(async () => void (subject = await openSubject()))
  afterAll(() => subject[Symbol.asyncDispose]())

  /** Runs a query about the connections of a name. */
  const ask = async (what: string, name: string): Promise<unknown[]> => {
    const text = `select ${what} as found from pg_stat_activity where application_name = '${name}'`
    return (await subject.transactions((transaction) => subject.execute(transaction, raw(text)))).map(({ found }) => found)
  }

  test('goes on when the server ends its idle connections, also the one that listens', async () => {
    const pool = openPool(subject.location.at, { application_name: 'ended' })
    const pushers = openPool(subject.location.at)
    const errors: unknown[] = []
    const listener: TaskListener = { onError: ({ error }) => void errors.push(error) }
    await using stream = ofPg(pool, { schema, listener })
    await using pusher = ofPg(pushers, { schema, ...silent })
    const handled: string[] = []
    stream.handle(mail, ({ input }) => void handled.push(input))
    await stream.start()
    await stream.submit(mail, 'before')
    await expect.poll(() => handled).toEqual(['before'])
    const ended = await ask('pg_terminate_backend(pid, 10000)', 'ended')
    expect(ended.length).toBeGreaterThanOrEqual(2)
    // It listens again, on a connection of the same settings.
    await expect.poll(() => ask("query like '%listen%'", 'ended')).toContain(true)
    await pusher.transaction((client) => pusher.push(client, mail, 'after'))
    await expect.poll(() => handled).toEqual(['before', 'after'])
    await stream.stop()
    await Promise.all([pool.end(), pushers.end()])
    expect(await codeOf(() => stream.submit(mail, 'late'))).toBe('LIFECYCLE')
  })

  test('listens nowhere if it is told so, and else where it is told', async () => {
    const pool = openPool(subject.location.at, { application_name: 'deaf' })
    const listening = 'listening'
    for (const listen of [false, () => new pg.Client({ connectionString: subject.location.at, application_name: listening })]) {
      const { options, isAsleep, pass } = sleeper()
      await using stream = ofPg(pool, { schema, listen, ...options })
      const handled: string[] = []
      const isTold = listen !== false
      stream.handle(letter, ({ input }) => void handled.push(input))
      await stream.start()
      await using pusher = ofPg(pool, { schema, listen: false, ...silent })
      await expect.poll(isAsleep).toBe(true)
      await pusher.transaction((client) => pusher.push(client, letter, 'a'))
      await expect.poll(() => (isTold || pass(), handled)).toEqual(['a'])
      expect(await ask('query', 'deaf')).not.toContainEqual(expect.stringMatching(/^listen/))
      expect((await ask('pid', listening)).length > 0).toBe(isTold)
    }
    await pool.end()
  })
})

test('an entry refuses what would fail at its first statement', async () => {
  type Make = (db: unknown, options: object) => unknown
  const there = (): void => {}
  const db = { transaction: there, connection: there, getConnection: there, $transaction: there }
  const sqlTag = (): void => {}
  const wrong = /^database must be one of postgres, mariadb, mysql, sqlite: "oracle"$/
  for (const make of [ofKnex, ofTypeorm, ofPrisma] as Make[]) expect(() => make(db, { database: 'oracle' })).toThrow(wrong)
  for (const make of [ofKysely, ofDrizzle] as Make[]) {
    expect(() => make(db, { database: 'oracle', sql: sqlTag })).toThrow(wrong)
    expect(() => make(db, { database: 'postgres' })).toThrow(/^sql must be the tag that is imported from '/)
  }
  const cases: Record<string, () => unknown> = {
    'database, of mysql2': () => (ofMysql2 as Make)(db, { database: 'oracle' }),
    'options, of mysql2': () => (ofMysql2 as Make)(db, undefined as never),
    database: () => (ofKnex as Make)(db, { database: 'toString' }),
    schema: () => (ofKnex as Make)(db, { database: 'sqlite', schema: 'jobs' }),
    connections: () => (ofTypeorm as Make)(db, { database: 'sqlite', connections: 5 }),
    notify: () => (ofKnex as Make)(db, { database: 'mariadb', notify: false }),
    partitioned: () => (ofKnex as Make)(db, { database: 'mysql', partitioned: true }),
    'connections, of none': () => (ofPrisma as Make)(db, { database: 'postgres', connections: 0 }),
    migrate: () => (ofKnex as Make)(db, { database: 'mysql', migrat: false }),
  }
  for (const [name, make] of Object.entries(cases)) expect([name, await codeOf(make)]).toEqual([name, 'ARGUMENT_INVALID'])
})
