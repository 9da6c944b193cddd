/** Decisions that programs print, as the last line of their output. */
import { invalid, TaskDecision } from '@taskstream/task-api'

const kinds = ['success', 'failure', 'retry', 'snooze', 'filter', 'suspension'] as const

interface DecisionLine {
  readonly decision: (typeof kinds)[number]
  readonly afterMs?: unknown
  readonly message?: unknown
  readonly value?: unknown
}

/** Which fields a line may have, by its decision. */
const fields: Readonly<Record<DecisionLine['decision'], readonly string[]>> = {
  success: ['message', 'value'],
  failure: ['message'],
  retry: ['afterMs', 'message'],
  snooze: ['afterMs', 'message'],
  filter: ['message'],
  suspension: ['message'],
}

/**
 * Reads the decision in the last line of an output.
 *
 * @returns undefined if the line is no JSON object with a `decision`: then the exit code alone counts
 * @throws TaskError ARGUMENT_INVALID if the decision cannot be understood
 */
export function decisionOf(output: string): TaskDecision | undefined {
  const lines = output.split('\n')
  const line = objectIn(lines.at(-1) ?? '')
  if (line === undefined) return undefined
  const { decision, afterMs, message, value } = line
  if (!kinds.includes(decision)) throw invalid('decision', decision, `must be one of ${kinds.join(', ')}`)
  const unknown = Object.keys(line).find((name) => name !== 'decision' && !fields[decision].includes(name))
  if (unknown !== undefined) throw invalid(unknown, line[unknown as 'value'], `is no field of the decision ${decision}`)
  if (message !== undefined && typeof message !== 'string') throw invalid('message', message, 'must be a string')
  if (decision === 'retry' || decision === 'snooze') return TaskDecision[decision]({ afterMs: afterMs as number }, message)
  if (decision !== 'success') return TaskDecision[decision](message)
  const success = TaskDecision.success(message ?? lines.slice(0, -1).join('\n').trim())
  return value === undefined ? success : success.withValue(JSON.stringify(value))
}

function objectIn(text: string): DecisionLine | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && 'decision' in value ? (value as DecisionLine) : undefined
  } catch {
    return undefined
  }
}
