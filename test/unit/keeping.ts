/** Maintenance over a database that answers as a test wants it to: what it asked for, and what it told. It is stopped after each test. */
import { setImmediate as turnOfEventLoop } from 'node:timers/promises'
import { TaskError } from '@taskstream/task-api'
import type { Execution, Expiry, TaskRepository } from '@taskstream/task-api'
import { afterEach } from 'vitest'
import { Leftovers } from '../../packages/task-processor/src/batches/leftovers.ts'
import { Dispatcher } from '../../packages/task-processor/src/core/dispatcher.ts'
import { safeListener } from '../../packages/task-processor/src/core/listener.ts'
import { Maintenance } from '../../packages/task-processor/src/worker/maintenance.ts'
import type { MaintenanceOptions } from '../../packages/task-processor/src/worker/maintenance.ts'
import { TakenAway } from '../../packages/task-processor/src/worker/taken-away.ts'
import { ringingClock } from './ringing-clock.ts'
import type { RingingClock } from './ringing-clock.ts'

export const aDay = 86_400_000
export const gone = new TaskError('DATABASE_UNAVAILABLE', 'gone')
export const none: Expiry = { expired: 0, ready: 0, failed: 0, topics: [] }

export interface Kept {
  readonly maintenance: Maintenance<object>
  readonly clock: RingingClock
  /** Each verb, and what it was asked with. */
  readonly asked: unknown[][]
  readonly told: unknown[]
  readonly ready: (readonly string[])[]
  readonly timeouts: (number | undefined)[]
  readonly leftovers: Leftovers<object>
  /** Answers; may throw. */
  answer: (verb: string, asked: readonly unknown[]) => unknown
  settled(): Promise<void>
}

const started: Kept[] = []
afterEach(() => Promise.all(started.splice(0).map(({ maintenance }) => maintenance.stop())))

export function keep(options: Partial<MaintenanceOptions<object>> = {}): Kept {
  const clock = ringingClock()
  const [asked, told, ready, timeouts]: [unknown[][], unknown[], (readonly string[])[], (number | undefined)[]] = [[], [], [], []]
  const verb =
    (name: string, otherwise: unknown) =>
    async (_: object, ...given: unknown[]): Promise<unknown> => {
      asked.push([name, ...given])
      if (asked.length > 1_000) throw new Error('it asks for ever')
      return (await kept.answer(name, given)) ?? otherwise
    }
  const repository = {
    expire: verb('expire', none),
    purge: verb('purge', 0),
    purgeOwners: verb('purgeOwners', 0),
    purgeAttempts: verb('purgeAttempts', 0),
    purgeActions: verb('purgeActions', 0),
    refresh: verb('refresh', undefined),
    handBack: verb('handBack', { completed: [], lost: [] }),
    reclaim: verb('reclaim', 0),
    limitStatements: async () => {},
    freeSlots: verb('freeSlots', 0),
    limits: async () => (await kept.answer('limits', [])) ?? new Map(),
  } as unknown as TaskRepository<object, Execution>
  const dispatcher = new Dispatcher<object>({ repository, transactions: async (work) => work({}), statementTimeoutMs: 60_000 })
  const once = dispatcher.once.bind(dispatcher)
  dispatcher.once = (work, given) => (timeouts.push(given?.statementTimeoutMs), once(work, given))
  const listener = safeListener({
    onError: ({ activity, error }) => void told.push([activity, error]),
    onRecovered: ({ activity }) => void told.push([activity, 'works']),
  })
  const leftovers = new Leftovers<object>({ repository, dispatcher, listener, clock })
  const maintenance = new Maintenance<object>({
    repository,
    dispatcher,
    listener,
    clock,
    intervalMs: 60_000,
    firstMs: 60_000,
    leaseMs: 10_000,
    expireTo: 'ready',
    limited: () => [],
    keepAttemptsMs: 5 * aDay,
    keepAuditMs: 9 * aDay,
    refreshIntervalMs: undefined,
    leftovers,
    takenAway: new TakenAway<object>({ repository, dispatcher, holders: () => [] }),
    onReady: (topics) => void ready.push(topics),
    retained: () => [],
    ...options,
  })
  const settled = async (): Promise<void> => {
    for (let turn = 0; turn < 20; turn++) await turnOfEventLoop()
  }
  const kept: Kept = { maintenance, clock, asked, told, ready, timeouts, leftovers, answer: () => undefined, settled }
  started.push(kept)
  return kept
}

export async function begun(
  options: Partial<MaintenanceOptions<object>> = {},
  prepare: (kept: Kept) => void = () => {},
): Promise<Kept> {
  const kept = keep(options)
  prepare(kept)
  kept.maintenance.start()
  await kept.settled()
  return kept
}

export const verbs = ({ asked }: Kept): unknown[] => asked.map(([verb]) => verb)
