/** Tells of calls of a repository, to whoever listens on their channel. */
import { tracingChannel } from 'node:diagnostics_channel'
import type { TracingChannel } from 'node:diagnostics_channel'
import { taskChannels } from '@taskstream/task-api'
import type { RepositoryCall } from '@taskstream/task-api'
import type { SqlAdapter } from './core/verb.ts'
import type { VerbName } from './verbs/verbs.ts'

type Channels = TracingChannel<unknown, RepositoryCall>
type Call<Transaction> = (transaction: Transaction, ...args: never[]) => unknown

const of = (name: string): Channels => tracingChannel<unknown, RepositoryCall>(name)
const actions = of(taskChannels.action)

/** The channel of each verb that is told of. Those that only read are not, nor the maintenance of nodes. */
const channels: Readonly<Partial<Record<VerbName, Channels>>> = {
  push: of(taskChannels.push),
  poll: of(taskChannels.poll),
  complete: of(taskChannels.complete),
  heartbeat: of(taskChannels.heartbeat),
  report: of(taskChannels.report),
  recreate: actions,
  redrive: actions,
  reassign: actions,
  reassignAll: actions,
  cancel: actions,
  reschedule: actions,
  activate: actions,
  deactivate: actions,
  destroy: actions,
  restore: actions,
}

type Writable<Type> = { -readonly [Key in keyof Type]: Type[Key] }

/** Whose calls are told of. */
interface Teller<Transaction> {
  readonly owner: string
  readonly system: string | undefined
  readonly adapter: SqlAdapter<Transaction>
}

/** The same call, of which its channel hears. It costs one look if nobody listens. */
export function told<Transaction>(
  verb: VerbName,
  { owner, system, adapter }: Teller<Transaction>,
  run: Call<Transaction>,
): Call<Transaction> {
  const channel = channels[verb]
  if (!channel) return run
  return (transaction, ...args) => {
    if (!channel.hasSubscribers) return run(transaction, ...args)
    const [topic] = args as readonly unknown[]
    const call: Writable<RepositoryCall> = { verb, owner, args, server: () => adapter.serverOf?.(transaction) }
    if (system !== undefined) call.system = system
    if (typeof topic === 'string') call.topic = topic
    const again = (): unknown => run(transaction, ...(call.args as never[]))
    return adapter.execution === 'sync'
      ? channel.traceSync(again, call)
      : channel.tracePromise(again as () => Promise<unknown>, call)
  }
}
