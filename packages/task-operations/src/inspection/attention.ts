/** Whether anything is wrong, and what first. The cheap part of the doctor, over nodes and topics. */
import { checkInteger, checkNames, optionNames } from '@taskstream/task-api'
import type {
  Activation,
  ErrorGroup,
  Execution,
  HeldInfo,
  NodeInfo,
  TopicOverview,
  TransactionSource,
} from '@taskstream/task-api'
import type { SqlTaskRepository } from '@taskstream/task-sql'
import type { Finding } from '../core/finding.ts'
import { failuresWithinMs } from '../core/thresholds.ts'
import { glance } from '../doctor/glance.ts'
import { attentionIds } from './attention-ids.ts'
import type { Attention } from './attention-ids.ts'
import { needsAttention } from './needs-attention.ts'

export interface LookOptions<Transaction = unknown> {
  readonly tasks: SqlTaskRepository<Transaction, Execution>
  /** Transactions that only read. */
  readonly transactions: TransactionSource<Transaction>
  /** How many findings at most, 1 to 1 000. Default: 5. */
  readonly limit?: number
}

/** What is looked at. */
export interface Seen {
  readonly nowMs: number
  readonly topics: readonly TopicOverview[]
  readonly activations: ReadonlyMap<string, Activation>
  readonly nodes: readonly NodeInfo[]
  readonly held: readonly HeldInfo[]
  readonly errors: readonly ErrorGroup[]
  /** What the doctor says of the tables, timers and the database itself. */
  readonly findings: readonly Finding[]
}

const dayMs = 86_400_000
const names = optionNames<LookOptions<never>>('attention', { tasks: true, transactions: true, limit: true })

/**
 * What needs attention, the worst first. Where there is more than the limit, the worst of each kind comes before others of its kind. If this release does
 * not work on the tables, that is the only finding.
 *
 * @throws TaskError ARGUMENT_INVALID; DATABASE_UNAVAILABLE
 * @example
 * for (const { text, command } of await attention({ tasks, transactions })) console.log(text, command)
 */
export async function attention<Transaction>(options: LookOptions<Transaction>): Promise<readonly Attention[]> {
  checkNames(names, options)
  const { tasks, transactions, limit = 5 } = options
  checkInteger('limit', limit, 1, 1_000)
  const findings = await glance(tasks, transactions)
  const schema = findings.find(({ check, severity }) => check === 'schema' && severity === 'crit')
  if (schema)
    return [{ id: 'schema', severity: 'crit', text: schema.measured, command: schema.remedy ?? 'taskstream migrate status' }]
  const seen = await transactions(async (transaction): Promise<Seen> => {
    const topics: readonly TopicOverview[] = await tasks.overview(transaction, { limit: 1_000 })
    return {
      nowMs: topics[0] ? ((await tasks.timers.now(transaction, topics[0].topic)) as number) : Date.now(),
      topics,
      activations: (await tasks.activations(transaction)) as ReadonlyMap<string, Activation>,
      nodes: (await tasks.nodes(transaction, { withinMs: dayMs })) as readonly NodeInfo[],
      held: (await tasks.held(transaction, { limit: 10_000 })) as readonly HeldInfo[],
      errors: (await tasks.errors(transaction, { withinMs: failuresWithinMs })) as readonly ErrorGroup[],
      findings,
    }
  })
  return chosen([...needsAttention(seen)], limit)
}

/** The worst of each kind first, and then others of the same kinds, as far as there is room. */
function chosen(found: readonly Attention[], limit: number): readonly Attention[] {
  const sorted = found.toSorted((left, right) => weightOf(left) - weightOf(right))
  const firsts = sorted.filter(({ id }, index) => sorted.findIndex((each) => each.id === id) === index)
  const others = sorted.filter((each) => !firsts.includes(each))
  return [...firsts, ...others].slice(0, limit).toSorted((left, right) => weightOf(left) - weightOf(right))
}

function weightOf({ id, severity }: Attention): number {
  return (severity === 'crit' ? 0 : 100) + attentionIds.indexOf(id)
}
