/** SQLite in memory, as `testTasks` opens it for users. */
import { sqlTaskRepository } from '@taskstream/task-sql'
import { fromNodeSqlite, sqlite } from '@taskstream/task-sql/node-sqlite'
import { testTasks } from '@taskstream/task-testing'
import type { Tasks } from '@taskstream/task-testing/suite'
import type { Subject } from './subject.ts'

/** Opens what users get for their own tests. Before each verb its clock is set to the suite's clock, or to the real time. */
export async function openTesting(): Promise<Subject> {
  const opened = await testTasks()
  const { database, clock, transactions, repository } = opened
  // Its owner has a heartbeat of the real time, and would seem to live for ever by the suite's clock.
  await transactions((transaction) => repository.unregister(transaction))
  return {
    engine: 'sqlite',
    location: { subject: 'testing', at: ':memory:' },
    writers: 1,
    connections: 1,
    transactions,
    owner: { transactions, at: ':memory:' },
    tasks: ({ owner, release, fingerprint, clock: given = () => new Date() } = {}) => {
      const set =
        (verb: (...args: readonly unknown[]) => unknown): typeof verb =>
        (...args) => {
          clock.set(given())
          return verb(...args)
        }
      const setAll = (verbs: object): object =>
        Object.fromEntries(Object.entries(verbs).map(([name, each]) => [name, typeof each === 'function' ? set(each) : each]))
      // Users have no release in their tests, and name no kinds of errors.
      const more = { ...(release !== undefined && { release }), ...(fingerprint && { fingerprint }) }
      const tasks =
        Object.keys(more).length === 0
          ? opened.owner(owner)
          : sqlTaskRepository({ dialect: sqlite(), adapter: fromNodeSqlite, clock: clock.now, ...more, ...(owner && { owner }) })
      const verb = (...args: Parameters<typeof tasks.verb>): unknown => set(tasks.verb(...args) as Parameters<typeof set>[0])
      return { ...setAll(tasks), timers: setAll(tasks.timers), verb } as Tasks
    },
    execute: async (transaction, statement) => fromNodeSqlite.execute(transaction, statement),
    session: async () => ({
      transaction: database,
      begin: async () => database.exec('begin immediate'),
      commit: async () => database.exec('commit'),
      rollback: async () => database.exec('rollback'),
      // The database has one connection, which the subject keeps.
      close: async () => {},
    }),
    [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose](),
  }
}
