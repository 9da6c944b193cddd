import { cutText, taskLimits } from '@taskstream/task-api'
import type { FilterState, PushedTask, TaskCount, TopicOptions } from '@taskstream/task-api'
import { sql } from '@taskstream/task-sql'
import type { Dialect, Verb } from '@taskstream/task-sql'
import { Argument } from 'commander'
import type { Command } from 'commander'
import { confirmWrite, withConfirmation } from '../core/confirm.ts'
import type { ConfirmOptions } from '../core/confirm.ts'
import { openDatabase } from '../core/database.ts'
import type { NamedDatabase } from '../core/database.ts'
import { exitCodes } from '../core/exit-codes.ts'
import { goOn } from '../core/go-on.ts'
import { whileStoppable } from '../core/interrupt.ts'
import { checkTopicKnown } from '../core/known.ts'
import { operatorOf } from '../core/operator.ts'
import { positive, withCommon } from '../core/options.ts'
import type { CommonOptions } from '../core/options.ts'
import { counted, Progress } from '../core/progress.ts'
import { readTopics } from '../core/topics.ts'
import { openOrigin } from '../origins/open-origin.ts'
import type { FromOptions } from '../origins/open-origin.ts'
import { originNames, remarks } from '../origins/origin.ts'
import type { Origin, OriginName, Push, Remark, Survey } from '../origins/origin.ts'
import { printDone } from '../output/print.ts'
import { visible } from '../output/visible.ts'

interface ImportOptions extends CommonOptions, ConfirmOptions, FromOptions {
  readonly topic?: string
  readonly key?: string
  readonly names?: boolean
  readonly initialize?: boolean
  readonly limit?: number
  readonly portion: number
}

interface Moved {
  readonly moved: number
  /** Of these, how many had their tasks here already, as a run before this one was stopped. */
  readonly duplicates: number
  readonly isStopped: boolean
}

export function addImport(program: Command): void {
  withConfirmation(
    withCommon(
      program
        .command('import')
        .description("move what waits in another library's queue, or in another database of ours, into a topic"),
    ),
  )
    .addArgument(new Argument('<library>', 'where the jobs wait').choices(originNames))
    .argument('<queue>', 'the name of the queue; of graphile-worker, the identifier of its task; of taskstream, the topic')
    .option(
      '--from <url>',
      'where the queue is: postgres://…, redis://…, or any database of ours (default: the database of the tasks)',
    )
    .option('--from-file <path>', 'a file that has this address')
    .option('--from-schema <name>', 'schema of the tables (default: pgboss, graphile_worker, or that of the search path)')
    .option('--from-prefix <text>', 'prefix of the keys in Redis (default: bull)')
    .option('--topic <name>', 'the topic of the tasks (default: the name of the queue)')
    .option('--initialize', 'make the topic known if it is not')
    .option(
      '--key <field>',
      'what becomes the identifier: input.<field>, singleton-key or group, job-key or queue-name, or deduplication',
    )
    .option('--names', 'tell the tasks the names of their jobs, if the topic is a queue of several definitions')
    .option('--limit <count>', 'how many jobs at most (default: all)', positive)
    .option('--portion <count>', 'how many jobs are moved in one transaction', positive, 500)
    .addHelpText(
      'after',
      `
Payloads, times, priorities and the number of tries that are left are kept; what is not kept is listed. Whenever the command is stopped, each job is there or here:
give the same command again to go on.

Examples:
  taskstream import pg-boss mail --dry-run
  taskstream import graphile-worker send_mail --topic mail --key queue-name --yes
  taskstream import bullmq mail --from redis://localhost:6379 --initialize
  taskstream import taskstream mail --from sqlite:shop.db --initialize`,
    )
    .action(runImport)
}

async function runImport(library: OriginName, queue: string, options: ImportOptions): Promise<void> {
  const { topic = queue, key, names = false, initialize = false, dryRun = false, limit } = options
  await using database = await openDatabase(options)
  const { transactions, tasks } = database
  const push: Push = (creations, transaction) =>
    transaction === undefined
      ? transactions<PushedTask[]>(async (each) => {
          await tasks.verb(durable)(each)
          return (await tasks.push(each, topic, creations)) as PushedTask[]
        })
      : (tasks.push(transaction, topic, creations) as Promise<PushedTask[]>)
  const request = { queue, names, ...(key !== undefined && { key }) }
  await using origin = await openOrigin(library, request, options, { database, topic }, push)
  if (!initialize) await checkTopicKnown(database, topic)
  const survey = await origin.survey()
  const lost = [...survey.lost, ...(await lostOn(database, topic, survey, initialize ? origin.options : undefined))]
  const before = { there: survey.waiting, here: await waitingHere(database, topic) }
  const count = Math.min(survey.waiting, limit ?? Infinity)
  let done: Moved = { moved: 0, duplicates: 0, isStopped: false }
  await origin.check?.()
  const make = async (): Promise<void> => {
    if (initialize) await transactions<boolean>((each) => tasks.initialize(each, topic, origin.options))
  }
  if (!dryRun && count === 0) await make()
  if (!dryRun && count > 0) {
    const what = `${counted(count)} ${count === 1 ? 'job' : 'jobs'} of ${queue} in ${origin.place}`
    const preview = [
      `${what} would become ${count === 1 ? 'a task' : 'tasks'} of ${topic}`,
      ...linesOf('stay there', survey.left),
      ...linesOf('not kept', lost),
    ]
    for (const line of preview.slice(1)) console.error(visible(line))
    await confirmWrite({ preview: preview[0]!, count }, database, options)
    await make()
    await origin.begin?.()
    done = await moveAll(origin, count, options.portion)
    await record(origin, done.moved, database, topic)
  }
  const after = { there: (await origin.survey()).waiting, here: await waitingHere(database, topic) }
  const { moved, duplicates, isStopped } = done
  const stayed = origin.stayed?.() ?? []
  const lines = [
    `${dryRun ? `would be moved: ${count}` : `moved: ${moved}${duplicates > 0 ? `, of which ${duplicates} were here already` : ''}`}`,
    `waiting in ${library === 'taskstream' ? origin.place : library}: ${before.there} before, ${after.there} after`,
    `waiting in the topic: ${before.here} before, ${after.here} after`,
    ...linesOf('stay there', stayed),
    ...(dryRun || count === 0 ? [...linesOf('stay there', survey.left), ...linesOf('not kept', lost)] : []),
  ]
  const json = { library, queue, topic, dryRun, moved, duplicates, before, after, left: [...survey.left, ...stayed], lost }
  printDone({ json, lines, names: [topic] }, options)
  if (!isStopped) return
  console.error(
    visible(
      `stopped after ${counted(moved)} of ${counted(count)}; go on with: ${goOn(process.argv.slice(2), rest(options, moved))}`,
    ),
  )
  process.exitCode = exitCodes.interrupted
}

/** What is taken away there must not be lost here with a crash of the server, which does not wait for its disk if it is told so. */
function* durable({ dialect }: { readonly dialect: Dialect }): Verb<void> {
  if (dialect.system !== 'postgresql') return
  yield sql`select set_config('synchronous_commit', 'on', true) where current_setting('synchronous_commit') = 'off'`
}

/** Remembers who has moved how many: here, and there if that is ours. */
async function record(origin: Origin, count: number, database: NamedDatabase, topic: string): Promise<void> {
  if (count === 0) return
  const { actor, via } = operatorOf(database)
  const action = {
    action: 'import',
    topic,
    count,
    via,
    note: cutText(`from ${origin.place}`, taskLimits.noteLength),
    ...(actor !== undefined && { actor }),
  }
  await database.transactions<string>((transaction) => database.tasks.record(transaction, action))
  await origin.record?.(count)
}

function rest({ limit }: ImportOptions, moved: number): Readonly<Record<string, string | undefined>> {
  return limit === undefined ? {} : { '--limit': String(limit - moved) }
}

function moveAll(origin: Origin, count: number, portion: number): Promise<Moved> {
  const progress = new Progress(count)
  return whileStoppable(async (signal) => {
    let [moved, duplicates] = [0, 0]
    while (moved < count) {
      if (signal.aborted) return { moved, duplicates, isStopped: true }
      const pushed = await origin.move(Math.min(portion, count - moved))
      if (pushed.length === 0) break
      moved += pushed.length
      duplicates += pushed.filter(({ outcome }) => outcome === 'duplicate').length
      progress.update(moved)
    }
    return { moved, duplicates, isStopped: false }
  }).finally(() => progress.end())
}

/** What the topic makes nothing of. */
async function lostOn(
  database: NamedDatabase,
  topic: string,
  { prioritized, keyed }: Survey,
  made: TopicOptions | undefined,
): Promise<readonly Remark[]> {
  const found = (await readTopics(database, 1)).find((each) => each.topic === topic) ?? made
  const { order = 'fifo', keyed: isKeyed = false } = found ?? {}
  const heeds = order === 'priority' || order === 'shared'
  return remarks(
    {
      what: 'priority',
      count: heeds ? 0 : prioritized,
      hint: `the order of ${topic} is ${order}, so that only the tasks moved together keep their order: taskstream topic create <topic> --order priority`,
    },
    {
      what: 'key',
      count: isKeyed ? 0 : keyed,
      hint: `nothing goes by identifiers in ${topic}: taskstream topic create <topic> --keyed`,
    },
  )
}

/** How many tasks have not ended, and are at nobody's hands. */
async function waitingHere({ reading, tasks }: NamedDatabase, topic: string): Promise<number> {
  const states: readonly FilterState[] = ['ready', 'delayed']
  const counts = await reading<ReadonlyMap<string, ReadonlyMap<FilterState, TaskCount>>>(async (transaction) => {
    const known: readonly string[] = await tasks.topics(transaction)
    return known.includes(topic) ? tasks.count(transaction, { topic, states }) : new Map()
  })
  return [...(counts.get(topic)?.values() ?? [])].reduce((sum, { count }) => sum + count, 0)
}

function linesOf(title: string, all: readonly Remark[]): readonly string[] {
  return all.map(({ what, count, hint }) => `${title}: ${count} ${what}: ${hint}`)
}
