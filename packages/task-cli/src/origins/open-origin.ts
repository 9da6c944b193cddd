/** Finds the queue that the options name. */
import { isTaskError, TaskError } from '@taskstream/task-api'
import { connect, openDatabase } from '../core/database.ts'
import { CommandError } from '../core/exit-codes.ts'
import { noteSecretsOf } from '../core/secrets.ts'
import { hintOf } from '../core/hints.ts'
import { toLocation } from '../core/location.ts'
import { addressIn, sourceOf } from '../core/source.ts'
import type { SourceOptions } from '../core/source.ts'
import { visible } from '../output/visible.ts'
import { openBullMq } from './bullmq.ts'
import { graphileWorker } from './graphile-worker.ts'
import type { Origin, OriginName, OriginRequest, Push } from './origin.ts'
import { pgBoss } from './pg-boss.ts'
import { openSqlOrigin } from './sql-origin.ts'
import { openTopic } from './taskstream.ts'
import type { Goal } from './leaving.ts'
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
  goal: Goal,
  push: Push,
): Promise<Origin> {
  const from = fromOf(options)
  if (library === 'taskstream') return openOurs(request, from, options.fromSchema, goal, push)
  checkKey(library, request.key)
  if (library === 'bullmq') return openBullMq(...redisAt(from), withSpace(request, options.fromPrefix), push)
  const origin = library === 'pg-boss' ? pgBoss : graphileWorker
  const { location } = sourceOf(options)
  const own = location.engine === 'postgres' ? location.url : undefined
  const url = from ?? own
  if (url === undefined || !/^postgres(ql)?:/.test(url))
    throw new CommandError('usage', `Where is ${library}? Give --from postgres://…`)
  const isShared = url === own
  const source = isShared ? goal.database : await connect({ url })
  const close = async (): Promise<void> => (isShared ? undefined : source[Symbol.asyncDispose]())
  try {
    const opened = await openSqlOrigin(origin, { source, isShared }, withSpace(request, options.fromSchema), push)
    return { ...opened, [Symbol.asyncDispose]: close }
  } catch (error) {
    await close()
    throw error
  }
}

async function openOurs(
  { queue, key, names }: OriginRequest,
  url: string | undefined,
  schema: string | undefined,
  goal: Goal,
  push: Push,
): Promise<Origin> {
  if (key !== undefined || names)
    throw new CommandError('usage', 'tasks keep their identifiers and their names: leave out --key and --names')
  if (url === undefined)
    throw new CommandError('usage', 'Which database do the tasks come from? Give --from, such as sqlite:<file>')
  if (toLocation(url, '--from').engine !== 'postgres' && schema !== undefined)
    throw new CommandError('usage', '--from-schema: only databases of PostgreSQL have schemas')
  const source = await openDatabase({ url, ...(schema !== undefined && { schema }) }).catch((error: unknown) => {
    throw ofSource(error)
  })
  const close = (): PromiseLike<void> => source[Symbol.asyncDispose]()
  try {
    return { ...(await openTopic(queue, source, goal, push)), [Symbol.asyncDispose]: close }
  } catch (error) {
    await close()
    throw ofSource(error)
  }
}

/** What is wrong with the source is not to be mended in the target, as the usual advice would have it. */
function ofSource(error: unknown): unknown {
  if (!isTaskError(error)) return error
  const { place = 'the database', meant } = hintOf(error) ?? {}
  const { path, topic } = error.data
  if (error.code === 'DATABASE_MISSING') return new CommandError('missing', `--from: there is no file ${String(path)}`)
  if (error.code === 'TOPIC_UNKNOWN')
    return new CommandError(
      'missing',
      `--from: no topic "${String(topic)}" in ${place}${meant === undefined ? '' : `; did you mean ${meant}?`} (list them: taskstream topics --url …)`,
    )
  if (error.code === 'SCHEMA_MISSING') return new CommandError('refused', `--from: ${place} has no tables of taskstream`)
  if (error.code === 'SCHEMA_OLDER')
    return new CommandError(
      'refused',
      `--from: the tables in ${place} are those of an earlier release: taskstream migrate up --url …, with its address`,
    )
  if (error.code === 'SCHEMA_NEWER')
    return new CommandError('refused', `--from: the tables in ${place} are those of a later release: use its command line`)
  return new TaskError(error.code, `--from: ${error.message}`, error.data, { cause: error })
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
