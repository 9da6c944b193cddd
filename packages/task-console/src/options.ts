import type { Execution, TransactionSource } from '@taskstream/task-api'
import type { SqlTaskRepository } from '@taskstream/task-sql'
import type { Access } from './core/access.ts'
import type { PayloadField } from './core/context.ts'

export interface TaskConsoleOptions<Transaction> {
  readonly repository: SqlTaskRepository<Transaction, Execution>
  /** Transactions of your driver. */
  readonly transactions: TransactionSource<Transaction>
  /** Transactions that only read, such as those of a replica. Default: `transactions`. */
  readonly reading?: TransactionSource<Transaction>
  /** The path at which your program mounts the console, such as `/ops/tasks`. Default: `/`. */
  readonly basePath?: string
  /**
   * Says who asks, or undefined if they may not. Without this option nobody may.
   *
   * @param environment what your server gives beside the request: of `toNode`, `{ incoming, outgoing }`
   * @example
   * authorize: async (request) => {
   *   const user = await userOf(request.headers.get('cookie'))
   *   return user && { name: user.email, role: user.isOnCall ? 'operator' : 'viewer' }
   * }
   */
  readonly authorize?: (request: Request, environment: unknown) => Access | undefined | Promise<Access | undefined>
  /** The hosts, with their ports, that requests may name. Default: any, as your server in front decides. */
  readonly hosts?: readonly string[]
  /** Whether nobody may write, whatever their role. Default: false. */
  readonly readOnly?: boolean
  /** What the pages call this database, 1 to 40 characters, such as `production`. */
  readonly environment?: string
  /** Leaves out more of a payload than the console does by itself. It is called with what is left after secrets were masked. */
  readonly redact?: (task: { readonly topic: string; readonly sequence: number }, field: PayloadField, text: string) => string
  /**
   * Answers `GET /metrics`, such as `prometheusMetrics()` of `@taskstream/task-telemetry/prometheus`, to those who see all topics. Default: there is no such
   * route.
   *
   * @example
   * metrics: prometheusMetrics({ fleet: { tasks, transactions } })
   */
  readonly metrics?: { answer(request: Request): Response | Promise<Response> }
  /**
   * Where the trace of an attempt is looked at: an address by http or https with a place for `{traceId}`; `{topic}`, `{sequence}` and `{attempt}` are
   * filled in, too. Default: pages show the id alone.
   *
   * @example
   * traceUrl: 'https://jaeger.example/trace/{traceId}'
   */
  readonly traceUrl?: string
  /**
   * Where the logs of an attempt are looked at, with a place for at least one of `{traceId}`, `{topic}`, `{sequence}` and `{attempt}`. Default: there is
   * no such link.
   */
  readonly logsUrl?: string
  /** Told of errors that are not the fault of the request. Default: they are written to the console of the process. */
  readonly onError?: (error: unknown) => void
}
