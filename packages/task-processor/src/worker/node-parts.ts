import { AsyncLocalStorage } from 'node:async_hooks'
import type { ReportAnswer, TaskError } from '@taskstream/task-api'
import { Activations } from './activations.ts'
import { Leftovers } from '../batches/leftovers.ts'
import { Dispatcher } from '../core/dispatcher.ts'
import { Condition, overheard, safeListener } from '../core/listener.ts'
import type { SafeListener } from '../core/listener.ts'
import { Presence } from '../liveness/presence.ts'
import { keepsReports, Reporting } from '../liveness/reporting.ts'
import { SharedLook } from '../polling/shared-look.ts'
import { Submitter } from '../submit/submit.ts'
import { Maintenance } from './maintenance.ts'
import { checkNodeOptions, checkParts } from './node-options.ts'
import type { NodeSettings, TaskNodeOptions } from './node-options.ts'
import { Hearing } from './hearing.ts'
import { describeNode } from './node-report.ts'
import { TakenAway } from './taken-away.ts'
import type { TaskManager } from './task-manager.ts'

/** What the parts of a node ask of it. */
export interface NodeCalls<Transaction> {
  readonly managers: () => Iterable<TaskManager<Transaction>>
  /** Has a topic polled soon, or all topics. */
  readonly wake: (topic?: string) => void
  /** Called when the lease has run out. */
  readonly onLost: (reason: TaskError) => void
}

/** What a node is made of. */
export interface NodeParts<Transaction> {
  readonly settings: NodeSettings
  readonly dispatcher: Dispatcher<Transaction>
  readonly listener: SafeListener
  readonly presence: Presence<Transaction>
  readonly leftovers: Leftovers<Transaction>
  readonly look: SharedLook<Transaction>
  readonly maintenance: Maintenance<Transaction>
  readonly activations: Activations<Transaction>
  readonly submitter: Submitter<Transaction>
  readonly reporting: Reporting
  readonly hearing: Hearing
}

/** @throws TaskError ARGUMENT_INVALID */
export function makeNodeParts<Transaction>(
  options: TaskNodeOptions<Transaction>,
  { managers, wake, onLost }: NodeCalls<Transaction>,
): NodeParts<Transaction> {
  const settings = checkNodeOptions(options)
  checkParts(options)
  const { repository, listener: given = {}, heartbeatThread, notifier, exclusive = false } = options
  const {
    clock,
    leaseMs,
    heartbeatIntervalMs,
    maintenanceIntervalMs,
    statementTimeoutMs,
    expireTo,
    keepAttemptsMs,
    keepAuditMs,
    refreshIntervalMs,
  } = settings
  const dispatcher = new Dispatcher({ repository, transactions: options.transactions, statementTimeoutMs })
  // What is heard may be said within a transaction of a handler. The report is none of its calls.
  const apart = AsyncLocalStorage.snapshot()
  const hearing = new Hearing(() => apart(() => reporting.changed()))
  const listener = overheard(safeListener(...[given].flat()), hearing)
  const shared = { repository, clock, leaseMs, dispatcher, listener }
  const leftovers = new Leftovers(shared)
  // What a node does again and again falls between its heartbeats. At the same instant each would take another connection, which a pool then opens anew
  // every time.
  const apartMs = Math.min(heartbeatIntervalMs, maintenanceIntervalMs) / 4
  const reporting = new Reporting({
    aheadMs: 3 * apartMs,
    send: keepsReports(repository)
      ? (report, atMostMs = statementTimeoutMs) =>
          dispatcher.once<ReportAnswer>((transaction) => repository.report(transaction, report), {
            // Its statements may be committed one by one, which saves two round trips.
            single: true,
            statementTimeoutMs: Math.min(atMostMs, statementTimeoutMs),
          })
      : undefined,
    clock,
    condition: new Condition(listener, 'report'),
    describe: () => describeNode({ hearing, managers, leaseMs }),
    onTurn: () => hearing.turn(),
    onQuiet: (quiet) => {
      listener.onQuiet({ quiet })
      // Loops that were at rest poll again.
      if (!quiet) wake()
    },
  })
  const activations = new Activations({
    ...shared,
    intervalMs: maintenanceIntervalMs,
    firstMs: maintenanceIntervalMs - apartMs,
    managers,
  })
  return {
    settings,
    dispatcher,
    listener,
    leftovers,
    look: new SharedLook(shared),
    reporting,
    hearing,
    activations,
    submitter: new Submitter({ repository, transactions: dispatcher.source, onCommitted: wake }),
    presence: new Presence({
      ...shared,
      heartbeatIntervalMs,
      heartbeatThread,
      // After a timeout the next beat uses another connection, and must come before the lease has run out.
      statementTimeoutMs: Math.min(statementTimeoutMs, Math.ceil((leaseMs - heartbeatIntervalMs) / 3)),
      notifier,
      exclusive,
      onLost,
      onPutBack: () => {
        leftovers.doubtAll()
        wake()
      },
      wake,
      onActivation: (topic) => activations.look(topic),
    }),
    maintenance: new Maintenance({
      ...shared,
      leftovers,
      takenAway: new TakenAway({ repository, dispatcher, holders: managers }),
      intervalMs: maintenanceIntervalMs,
      firstMs: maintenanceIntervalMs - 2 * apartMs,
      expireTo,
      keepAttemptsMs,
      keepAuditMs,
      refreshIntervalMs,
      onReady: (topics) => topics.forEach((topic) => wake(topic)),
      limited: managers,
      retained: () => Array.from(managers(), ({ topic, processing }) => ({ topic, retainMs: processing.retainMs })),
    }),
  }
}
