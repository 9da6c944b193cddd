/** Whether anything is wrong, and what first. The cheap part of the doctor, over nodes and topics. */
import type {
  Activation,
  ErrorGroup,
  Execution,
  HeldInfo,
  NodeInfo,
  StoredTimer,
  TopicOverview,
  TransactionSource,
} from '@taskstream/task-api'
import type { SqlTaskRepository } from '@taskstream/task-sql'
import { duration } from '../core/units.ts'
import { quoted } from './commands.ts'

/** The names of what may be wrong, the worst first. None is given to anything else. */
export const attentionIds = [
  'nobody-processes',
  'node-failing',
  'owner-silent',
  'failing-new',
  'failing',
  'timer-overdue',
  'backlog-age',
  'paused-long',
  'release-skew',
] as const
export type AttentionId = (typeof attentionIds)[number]

/** Something that somebody should look at. */
export interface Attention {
  readonly id: AttentionId
  readonly severity: 'warn' | 'crit'
  readonly topic?: string
  /** One sentence. */
  readonly text: string
  /** The command that tells more. */
  readonly command: string
}

const second = 1_000
const minute = 60 * second
const hour = 60 * minute

/** From where on something needs attention. */
interface AttentionThresholds {
  /** Ready tasks that nobody processes, by the age of the oldest. */
  readonly nobodyProcessesMs: { readonly warn: number; readonly crit: number }
  readonly backlogAgeMs: { readonly warn: number }
  readonly pausedMs: { readonly warn: number }
  readonly timerOverdueMs: { readonly warn: number; readonly crit: number }
  /** Failed attempts of one error within the span. */
  readonly failing: { readonly withinMs: number; readonly warn: number }
  /** An error that was first seen within the span is new. */
  readonly newErrorMs: number
  readonly releaseSkewMs: number
}

export const attentionThresholds: AttentionThresholds = {
  nobodyProcessesMs: { warn: minute, crit: 10 * minute },
  backlogAgeMs: { warn: 5 * minute },
  pausedMs: { warn: 24 * hour },
  timerOverdueMs: { warn: minute, crit: 10 * minute },
  failing: { withinMs: 15 * minute, warn: 20 },
  newErrorMs: hour,
  releaseSkewMs: hour,
}

export interface LookOptions {
  readonly tasks: SqlTaskRepository<unknown, Execution>
  /** Transactions that only read. */
  readonly transactions: TransactionSource<unknown>
}

interface Seen {
  readonly nowMs: number
  readonly topics: readonly TopicOverview[]
  readonly activations: ReadonlyMap<string, Activation>
  readonly nodes: readonly NodeInfo[]
  readonly held: readonly HeldInfo[]
  readonly errors: readonly ErrorGroup[]
  readonly timers: readonly StoredTimer[]
}

/**
 * What needs attention, the worst first.
 *
 * @example
 * for (const { text, command } of await attention({ tasks, transactions })) console.log(text, command)
 */
export async function attention({ tasks, transactions }: LookOptions): Promise<readonly Attention[]> {
  const seen = await transactions(async (transaction): Promise<Seen> => {
    const topics: readonly TopicOverview[] = await tasks.overview(transaction, { limit: 1_000 })
    const nowMs = topics[0] ? ((await tasks.timers.now(transaction, topics[0].topic)) as number) : Date.now()
    return {
      nowMs,
      topics,
      activations: (await tasks.activations(transaction)) as ReadonlyMap<string, Activation>,
      nodes: (await tasks.nodes(transaction, { withinMs: 24 * hour })) as readonly NodeInfo[],
      held: (await tasks.held(transaction, { limit: 10_000 })) as readonly HeldInfo[],
      errors: (await tasks.errors(transaction, { withinMs: attentionThresholds.failing.withinMs })) as readonly ErrorGroup[],
      timers: (await tasks.timers.list(transaction, {})) as readonly StoredTimer[],
    }
  })
  const found = [...ofTopics(seen), ...ofNodes(seen), ...ofErrors(seen), ...ofTimers(seen), ...ofReleases(seen)]
  const weight = ({ id, severity }: Attention): number => (severity === 'crit' ? 0 : 100) + attentionIds.indexOf(id)
  return found.toSorted((left, right) => weight(left) - weight(right))
}

function* ofTopics({ topics, activations, nodes, nowMs }: Seen): Generator<Attention> {
  const { nobodyProcessesMs, backlogAgeMs, pausedMs } = attentionThresholds
  for (const { topic, ready, oldestReadyMs = 0 } of topics) {
    const activation = activations.get(topic)
    if (activation?.active === false) {
      const forMs = nowMs - activation.changed.getTime()
      if (forMs <= pausedMs.warn || ready === 0) continue
      const note = activation.note === undefined ? '' : `: ${activation.note}`
      const text = `${topic} has been paused for ${duration(forMs)}${note}, and ${count(ready)} wait`
      yield { id: 'paused-long', severity: 'warn', topic, text, command: `taskstream resume ${quoted(topic)}` }
      continue
    }
    const processed = nodes.some((node) => isLiving(node) && node.report?.topics.some((each) => each.topic === topic))
    const unknown = nodes.some((node) => isLiving(node) && (!node.report || (node.report.omitted ?? 0) > 0))
    if (!processed && !unknown && oldestReadyMs > nobodyProcessesMs.warn) {
      const severity = oldestReadyMs > nobodyProcessesMs.crit ? 'crit' : 'warn'
      const left = nodes.find((node) => node.report?.topics.some((each) => each.topic === topic))
      const who = left
        ? `; the last was ${left.name}${left.release ? ` (release ${left.release})` : ''}, which is ${left.life}`
        : ''
      const text = `${topic}: ${count(ready)} ready for up to ${duration(oldestReadyMs)}, and nobody processes it${who}`
      yield { id: 'nobody-processes', severity, topic, text, command: `taskstream nodes` }
    } else if (oldestReadyMs > backlogAgeMs.warn) {
      const text = `${topic}: the oldest of ${count(ready)} ready was pushed ${duration(oldestReadyMs)} ago`
      yield { id: 'backlog-age', severity: 'warn', topic, text, command: `taskstream next ${quoted(topic)}` }
    }
  }
}

function* ofNodes({ nodes, held }: Seen): Generator<Attention> {
  for (const { name, owner, life, report } of nodes) {
    const tasks = held.filter((task) => task.owner === owner).length
    // One whose tasks others have taken is a matter of the past.
    if (life === 'dead' && tasks > 0)
      yield {
        id: 'owner-silent',
        severity: 'warn',
        text: `${name} died without a word, and ${count(tasks)} of its tasks are held still`,
        command: `taskstream nodes ${quoted(owner)}`,
      }
    if (life !== 'living') continue
    const troubles = [...(report?.error ? [report.error] : []), ...(report?.topics ?? []).flatMap(({ error }) => error ?? [])]
    const [first] = troubles
    if (first)
      yield {
        id: 'node-failing',
        severity: 'crit',
        text: `${name}: ${first.activity} fails: ${first.message}`,
        command: `taskstream nodes ${quoted(owner)}`,
      }
  }
}

function* ofErrors({ errors, nowMs }: Seen): Generator<Attention> {
  const { failing, newErrorMs } = attentionThresholds
  for (const { topic, error, count: times, first, firstRelease, fingerprint } of errors) {
    const isNew = nowMs - first.getTime() < newErrorMs
    if (!isNew && times <= failing.warn) continue
    const since = `${duration(nowMs - first.getTime())} ago`
    const release = firstRelease === undefined ? '' : ` in release ${firstRelease}`
    yield {
      id: isNew ? 'failing-new' : 'failing',
      severity: times > failing.warn ? 'crit' : 'warn',
      topic,
      text: `${topic}: ${count(times)} × ${error}${isNew ? `, first seen ${since}${release}` : ''}`,
      command: `taskstream errors ${quoted(topic)} ${fingerprint}`,
    }
  }
}

function* ofTimers({ timers, nowMs }: Seen): Generator<Attention> {
  const { warn, crit } = attentionThresholds.timerOverdueMs
  for (const { scope, id, due } of timers) {
    const lateMs = due === null ? 0 : nowMs - due
    if (lateMs <= warn) continue
    const text = `timer ${id} of ${scope} was due ${duration(lateMs)} ago, and nobody fires it: start a process with a scheduler of scope ${scope}`
    yield { id: 'timer-overdue', severity: lateMs > crit ? 'crit' : 'warn', text, command: 'taskstream periodic ls' }
  }
}

/** Two releases side by side are a deploy that has not ended. */
function* ofReleases({ nodes, nowMs }: Seen): Generator<Attention> {
  const living = nodes.filter(isLiving)
  const releases = [...new Set(living.flatMap(({ release }) => release ?? []))]
  const youngestMs = Math.min(...living.map(({ started }) => nowMs - (started?.getTime() ?? nowMs)))
  if (releases.length > 1 && youngestMs > attentionThresholds.releaseSkewMs)
    yield {
      id: 'release-skew',
      severity: 'warn',
      text: `releases ${releases.join(', ')} have run side by side for ${duration(youngestMs)}`,
      command: 'taskstream nodes',
    }
}

function isLiving({ life }: NodeInfo): boolean {
  return life === 'living' || life === 'silent'
}

function count(tasks: number): string {
  return tasks >= 1_000 ? '1,000 or more' : String(tasks)
}
