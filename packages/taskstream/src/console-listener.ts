import { isTaskError, thrownText } from '@taskstream/task-api'
import type { DecisionOutcome, HeldTask, TaskDecision } from '@taskstream/task-api'
import { outcomeOf } from '@taskstream/task-processor'
import type { TaskListener } from '@taskstream/task-processor'
import { idOf, jobNameOf } from '@taskstream/task-jobs'

/**
 * Writes a line to the console when something goes wrong, or works again. After a try that failed, the line says when the next try comes, or that this
 * was the last. A listener of your own replaces it.
 */
export const consoleListener: TaskListener = {
  onError: ({ activity, error, topic, tasks = [], decisions, timer }) => {
    const what = tasks.length > 0 ? namesOf(tasks, decisions) : timer ? `timer ${timer.id} of ${timer.scope}` : topic
    say(`taskstream: ${[what, activity].filter(Boolean).join(', ')}: ${text(error)}`)
  },
  onRecovered: ({ activity, topic }) => say(`taskstream: ${[topic, activity].filter(Boolean).join(', ')}: works again`),
  onLost: ({ tasks }) =>
    say(
      `taskstream: ${namesOf(tasks)}: no longer held: cancelled, taken by another process, or completed by a commit that was not answered`,
    ),
  onStuck: ({ tasks, at, heldMs }) =>
    say(`taskstream: ${namesOf(at ? [at] : tasks)}: its handler has not let go after ${heldMs} ms`),
  onLeaseLost: ({ leaseMs }) =>
    say(`taskstream: no heartbeat came through for ${leaseMs} ms: other processes may take the tasks of this one`),
  onBlocked: ({ blockedMs, batches }) => {
    const [at] = batches.flatMap((batch) => batch.at ?? [])
    const after = at ? `, after the handler of ${nameOf(at)} was called` : ''
    say(`taskstream: the event loop stood still for ${duration(blockedMs)}${after}: this process did nothing else meanwhile`)
  },
  onQuiet: ({ quiet }) =>
    say(
      quiet
        ? 'taskstream: this process was asked to take no more tasks: it finishes what it has'
        : 'taskstream: this process was asked to take tasks again',
    ),
  onFatal: ({ topic, error }) => say(`taskstream: ${topic} is not processed: ${text(error)}`),
}

/** Writes a line. A text of an error, or an id, may hold a sequence that clears the terminal. */
function say(line: string): void {
  console.error(line.replaceAll(/(?![\n\t])\p{Cc}/gu, shown))
}

/** The picture of a control character. */
function shown(character: string): string {
  const code = character.charCodeAt(0)
  return code < 0x20 ? String.fromCharCode(0x24_00 + code) : '\uFFFD'
}

const ends: Readonly<Record<Exclude<DecisionOutcome, 'retry' | 'snooze'>, string>> = {
  failure: 'the last',
  suspension: 'suspended',
  filter: 'filtered',
  success: 'succeeded',
}

/** How many tasks of a batch a line names. */
const mostNamed = 3

function namesOf(tasks: readonly HeldTask[], decisions?: ReadonlyMap<HeldTask, TaskDecision>): string {
  const named = tasks.slice(0, mostNamed).map((task) => nameOf(task, decisions?.get(task)))
  const more = tasks.length - named.length
  return named.join(', ') + (more > 0 ? ` and ${more} more` : '')
}

function nameOf(task: HeldTask, decision?: TaskDecision): string {
  const then = decision ? `, ${endOf(task, decision)}` : ''
  // In a queue, the topic alone does not say which job it is.
  const name = [task.topic, jobNameOf(task), idOf(task)].filter(Boolean).join(' ')
  return `${name} (try ${task.tries}${then})`
}

function endOf(task: HeldTask, decision: TaskDecision): string {
  const outcome = outcomeOf(task, decision)
  return outcome === 'retry' || outcome === 'snooze' ? `the next in ${duration(decision.retryAfterMs!)}` : ends[outcome]
}

/** A duration in the unit that is easiest to read, as 250 ms, 1.5 s, 3 min or 2 h. */
function duration(ms: number): string {
  const [size, unit] = units.find(([least]) => ms >= least) ?? [1, 'ms']
  return `${Math.round((10 * ms) / size) / 10} ${unit}`
}

const units: readonly (readonly [ms: number, unit: string])[] = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'min'],
  [1_000, 's'],
]

/** Our own errors say what to do; where others come from is in their stack. */
function text(error: unknown): string {
  if (isTaskError(error)) return `${error.code}: ${error.message}`
  return ofOthers(thrownText(error))
}

/** A line of a stack that is of this library, or of Node.js. */
const inner = /^\s+at .*(?:[\\/]node_modules[\\/]@?taskstream[\\/]|\bnode:)/

/** A stack without the lines that say nothing of the program: which of our functions had called its handler. */
function ofOthers(stack: string): string {
  return stack
    .split('\n')
    .filter((line) => !inner.test(line))
    .join('\n')
}
