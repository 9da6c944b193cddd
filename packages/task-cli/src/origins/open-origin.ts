/** Finds the queue that the options name. */
import { connect } from '../core/database.ts'
import type { NamedDatabase } from '../core/database.ts'
import { CommandError } from '../core/exit-codes.ts'
import { noteSecretsOf } from '../core/secrets.ts'
import { addressIn, sourceOf } from '../core/source.ts'
import type { SourceOptions } from '../core/source.ts'
import { visible } from '../output/visible.ts'
import { openBullMq } from './bullmq.ts'
import { graphileWorker } from './graphile-worker.ts'
import type { Origin, OriginName, OriginRequest, Push } from './origin.ts'
import { pgBoss } from './pg-boss.ts'
import { openSqlOrigin } from './sql-origin.ts'
import { checkKey } from './waiting-job.ts'

export interface FromOptions extends SourceOptions {
  readonly from?: string
  readonly fromFile?: string
  readonly fromSchema?: string
  readonly fromPrefix?: string
}

/**
 * Opens the queue, in the database of the tasks unless another is named.
 *
 * @throws CommandError usage, missing, refused; TaskError as `connect` throws it
 */
export async function openOrigin(
  library: OriginName,
  request: OriginRequest,
  options: FromOptions,
  target: NamedDatabase,
  push: Push,
): Promise<Origin> {
  checkKey(library, request.key)
  const from = fromOf(options)
  if (library === 'bullmq') return openBullMq(...redisAt(from), withSpace(request, options.fromPrefix), push)
  const origin = library === 'pg-boss' ? pgBoss : graphileWorker
  const { location } = sourceOf(options)
  const own = location.engine === 'postgres' ? location.url : undefined
  const url = from ?? own
  if (url === undefined || !/^postgres(ql)?:/.test(url))
    throw new CommandError('usage', `Where is ${library}? Give --from postgres://…`)
  const isShared = url === own
  const source = isShared ? target : await connect({ url })
  const close = async (): Promise<void> => (isShared ? undefined : source[Symbol.asyncDispose]())
  try {
    const opened = await openSqlOrigin(origin, { source, isShared }, withSpace(request, options.fromSchema), push)
    return { ...opened, [Symbol.asyncDispose]: close }
  } catch (error) {
    await close()
    throw error
  }
}

function fromOf({ from, fromFile }: FromOptions): string | undefined {
  if (from !== undefined && fromFile !== undefined)
    throw new CommandError('usage', '--from and --from-file cannot be given together')
  const url = fromFile === undefined ? from : addressIn(fromFile, '--from-file')
  if (url !== undefined) noteSecretsOf(url)
  return url
}

/** The address and what messages call it. */
function redisAt(url: string | undefined): [url: string, place: string] {
  if (url === undefined || !/^rediss?:\/\//.test(url) || !URL.canParse(url))
    throw new CommandError('usage', 'Where is BullMQ? Give --from redis://<host>:<port>')
  const { host, pathname } = new URL(url)
  return [url, visible(`${host}${pathname === '/' ? '' : pathname}`, 200)]
}

function withSpace(request: OriginRequest, space: string | undefined): OriginRequest {
  return space === undefined ? request : { ...request, space }
}
