import { TaskError } from '@taskstream/task-api'
import { busy } from '../../dialects/shared/busy.ts'

interface PrismaError {
  readonly code?: unknown
  readonly message?: unknown
  readonly meta?: { readonly driverAdapterError?: { readonly cause?: DriverAdapterCause } }
  readonly cause?: DriverAdapterCause
}

/** The form that Prisma's driver adapters give to their drivers' errors. */
interface DriverAdapterCause {
  readonly kind?: string
  /** SQLSTATE on PostgreSQL, a number on MariaDB and MySQL, a name on SQLite. */
  readonly originalCode?: string
  readonly originalMessage?: string
  /** SQLSTATE on MariaDB and MySQL. */
  readonly state?: string
}

/** Prisma's code for a failed interactive transaction: https://www.prisma.io/docs/orm/reference/error-reference#p2028 */
const transactionFailed = 'P2028'

/** No connection came free in the pool of Prisma's own engine: https://www.prisma.io/docs/orm/reference/error-reference#p2024 */
const poolExhausted = 'P2024'

/** Codes that mean the same as Prisma's kinds of errors, for the kinds that come without the driver's code. */
const codesOfKinds: Readonly<Record<string, string>> = {
  DatabaseNotReachable: 'ECONNREFUSED',
  ConnectionClosed: 'ECONNRESET',
  SocketTimeout: 'ETIMEDOUT',
}

/** Restores the driver's error from Prisma's error, as dialects classify errors by the driver's codes and words. */
export function driversError(error: unknown): unknown {
  if (!(error instanceof Error)) return error
  const { code, message, meta, cause } = error as PrismaError
  const words = String(message).trim()
  if (code === poolExhausted) return busy('connections', error)
  if (code === transactionFailed) {
    // No connection came free in time, or none could be made.
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
    // Class 08 of SQLSTATE has the errors of connections.
    code: state.startsWith('08') ? 'ECONNRESET' : (originalCode ?? codesOfKinds[kind]),
    errno: Number(originalCode),
  })
}
