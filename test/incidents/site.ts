/** Where an incident happens: an empty database, processes that work on it, and the terminal of an operator. */
import { raw, sql } from '@taskstream/task-sql'
import { administratorOf } from '../databases/least-privilege.ts'
import { run, urlOf } from '../e2e/command-line.ts'
import type { Run } from '../e2e/command-line.ts'
import { openSubject } from '../subject.ts'
import type { AnyTransaction, Subject, Tasks } from '../subject.ts'
import type { Incident, Staged } from './incident.ts'
import { startProcess } from './process.ts'
import type { Orders, Process } from './process.ts'

export interface Site extends AsyncDisposable {
  readonly subject: Subject
  readonly tasks: Tasks
  /** The database for the command line, as the nodes open it. */
  readonly url: string
  /** The same as somebody opens it who may do everything. */
  readonly administrator: string
  commit<Result>(work: (transaction: AnyTransaction) => Result | Promise<Result>): Promise<Result>
  /** Moves an instant of every row into the past. */
  age(table: 'owner' | 'activation' | 'task' | 'periodic', column: string, ms: number): Promise<unknown>
  /** Starts a process that works on the database, and waits until it does. */
  start(orders: Omit<Orders, 'location'>): Promise<Process>
  /** Types a command. */
  taskstream(command: readonly string[], options?: Pick<Staged, 'url' | 'env'>): Promise<Run>
  /** Runs a statement as an administrator does in a terminal of the database. */
  execute(statement: string): Promise<void>
}

export async function openSite(incident: Pick<Incident, 'leastPrivilege'> = {}): Promise<Site> {
  await using opening = new AsyncDisposableStack()
  const subject = opening.use(await openSubject(incident))
  const { location, transactions } = subject
  const tasks = subject.tasks({ owner: 'shop' })
  const url = urlOf(subject)
  const stack = opening.move()
  return {
    subject,
    tasks,
    url,
    administrator:
      subject.engine === 'sqlite' ? url : urlOf({ ...subject, location: { ...location, at: administratorOf(location.at) } }),
    commit: (work) => transactions(work),
    age: (table, column, ms) => {
      const set = tasks.verb(function* ({ dialect }) {
        const earlier = dialect.expr.instant(sql`${Date.now() - ms}`)
        yield sql`update ${dialect.tables[table]} set ${raw(column)} = ${earlier}`
      })
      return transactions((transaction: AnyTransaction) => set(transaction))
    },
    start: async (orders) => stack.use(await startProcess({ ...orders, location })),
    taskstream: (command, options = {}) => run(command, { url: options.url ?? url, ...(options.env && { env: options.env }) }),
    execute: async (statement) => {
      const { transaction, close } = await subject.session()
      try {
        await subject.execute(transaction, raw(statement))
      } finally {
        await close()
      }
    },
    [Symbol.asyncDispose]: () => stack[Symbol.asyncDispose](),
  }
}
