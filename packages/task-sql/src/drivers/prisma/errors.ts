import { TaskError } from '@taskstream/task-api'
import { busy } from '../../dialects/shared/busy.ts'

interface PrismaError {
  readonly code?: unknown
  readonly message?: unknown
  readonly meta?: { readonly driverAdapterError?: { readonly cause?: DriverAdapterCause } }
  readonly cause?: DriverAdapterCause
}

/** What one of Prisma's driver adapters makes of its driver's error. */
interface DriverAdapterCause {
  readonly kind?: string
  /** SQLSTATE on PostgreSQL, a number on MariaDB and MySQL, a name on SQLite. */
  readonly originalCode?: string
  readonly originalMessage?: string
  /** SQLSTATE on MariaDB and MySQL. */
  readonly state?: string
}

/** What Prisma's interactive transactions fail with: https://www.prisma.io/docs/orm/reference/error-reference#p2028 */
const transactionFailed = 'P2028'

/** No connection came free in the pool of Prisma's own engine: https://www.prisma.io/docs/orm/reference/error-reference#p2024 */
const poolExhausted = 'P2024'

/** Kinds that come without the driver's code, by one that says the same. */
const codesOfKinds: Readonly<Record<string, string>> = {
  DatabaseNotReachable: 'ECONNREFUSED',
  ConnectionClosed: 'ECONNRESET',
  SocketTimeout: 'ETIMEDOUT',
}

/** The driver's error, of which Prisma has made its own: dialects know errors by the driver's codes and words. */
export function driversError(error: unknown): unknown {
  if (!(error instanceof Error)) return error
  const { code, message, meta, cause } = error as PrismaError
  const words = String(message).trim()
  if (code === poolExhausted) return busy('connections', error)
  if (code === transactionFailed) {
    // None came free, or none could be made.
    return words.includes('Unable to start')
      ? new TaskError(
          'DATABASE_UNAVAILABLE',
          `There was no connection in time, and nothing was sent (${words})`,
          {},
          { cause: error },
        )
      : new TaskError('TRANSACTION_CLOSED', `This transaction has ended (${words})`, {}, { cause: error })
  }
  const told = meta?.driverAdapterError?.cause ?? cause
  if (told?.kind === undefined) return error
  const { kind, originalCode, originalMessage = words, state = '' } = told
  return Object.assign(new Error(originalMessage, { cause: error }), {
    // Class 08 is what is wrong with a connection.
    code: state.startsWith('08') ? 'ECONNRESET' : (originalCode ?? codesOfKinds[kind]),
    errno: Number(originalCode),
  })
}
