/** Tells of calls of a repository, to whoever listens on their channel. */
import { tracingChannel } from 'node:diagnostics_channel'
import type { TracingChannel } from 'node:diagnostics_channel'
import { taskChannels } from '@taskstream/task-api'
import type { Execution, RepositoryCall } from '@taskstream/task-api'
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

/** The same call, of which its channel hears. It costs one look if nobody listens. */
export function told<Transaction>(
  verb: VerbName,
  owner: string,
  execution: Execution,
  run: Call<Transaction>,
): Call<Transaction> {
  const channel = channels[verb]
  if (!channel) return run
  return (transaction, ...args) => {
    if (!channel.hasSubscribers) return run(transaction, ...args)
    const [topic] = args as readonly unknown[]
    const call: RepositoryCall = { verb, owner, args: [...args], ...(typeof topic === 'string' && { topic }) }
    const again = (): unknown => run(transaction, ...(call.args as never[]))
    return execution === 'sync' ? channel.traceSync(again, call) : channel.tracePromise(again as () => Promise<unknown>, call)
  }
}
