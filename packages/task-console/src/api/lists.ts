/** What has changed, who did it, how the database is, and who asks. */
import type { RecordedAction } from '@taskstream/task-api'
import { changes, examine } from '@taskstream/task-operations'
import type { Change, Finding } from '@taskstream/task-operations'
import { may, sees } from '../core/access.ts'
import { checkSeen, ofSeen } from '../core/context.ts'
import { maskMessage } from '../core/mask.ts'
import { Problem } from '../core/problem.ts'
import type { Asked } from './route.ts'
import type { Bounded } from './tasks.ts'

export async function readChanges(
  asked: Asked,
  { withinMs }: { readonly withinMs: number },
): Promise<{ readonly changes: readonly Change[]; readonly bounded: Bounded }> {
  const { tasks, transactions } = asked
  const found = await changes({ tasks, transactions, withinMs })
  const mine = found.filter(({ topic }) => sees(asked.access, topic))
  return {
    changes: mine.slice(0, 500).map((change) => ({ ...change, text: maskMessage(change.text) })),
    bounded: { by: '500 changes', reached: mine.length > 500 },
  }
}

/** Without what an undo needs, which are sequences and states of thousands of tasks. */
type ActionAnswer = Omit<RecordedAction, 'former' | 'sequences'>

export async function readAudit(
  asked: Asked,
  {
    topic,
    size,
    withinMs,
  }: { readonly topic?: string | undefined; readonly size: number; readonly withinMs?: number | undefined },
): Promise<{ readonly actions: readonly ActionAnswer[]; readonly bounded: Bounded }> {
  if (topic !== undefined) checkSeen(asked, topic)
  const actions = await ofSeen<RecordedAction>(asked, topic, (transaction, one) =>
    asked.tasks.actions(transaction, {
      details: false,
      limit: size,
      ...(one !== undefined && { topic: one }),
      ...(withinMs !== undefined && { withinMs }),
    }),
  )
  return {
    actions: actions
      .toSorted((left, right) => right.at.getTime() - left.at.getTime())
      .slice(0, size)
      .map(({ former: _former, sequences: _sequences, ...action }) => action),
    bounded: { by: `${size} actions`, reached: actions.length >= size },
  }
}

/** Findings name users, hosts and files of the server: who sees only some topics does not see them. */
export async function readExamination(asked: Asked): Promise<{ readonly findings: readonly Finding[] }> {
  if (asked.access.topics !== undefined)
    throw new Problem('FORBIDDEN', 403, 'The examination is of the whole database, and you may see some topics only.')
  const { tasks, transactions } = asked
  const findings = await examine({ tasks, transactions })
  return { findings: findings.map((finding) => ({ ...finding, measured: maskMessage(finding.measured) })) }
}

export async function readInfo(asked: Asked): Promise<object> {
  const { access, readOnly, environment } = asked
  return {
    name: access.name,
    role: access.role,
    ...(access.topics && { topics: access.topics }),
    readOnly,
    writes: !readOnly && may(access.role, 'operator'),
    ...(environment !== undefined && { environment }),
  }
}
