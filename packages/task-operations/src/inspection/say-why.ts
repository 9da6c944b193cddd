/** Says in words why a task is not running. One table of texts, for every face. */
import type { Blocker, Diagnosis, DiagnosisCode } from '@taskstream/task-api'
import { duration } from '../core/units.ts'
import { commandOf } from './commands.ts'

/** An answer in words. */
export interface SaidWhy {
  /** One sentence. */
  readonly answer: string
  /** What belongs to it: what it waits for, how long it takes, what failed before. */
  readonly more: readonly string[]
  /** Commands that help, or what somebody has to do. */
  readonly remedies: readonly string[]
}

type Text = (diagnosis: Diagnosis) => string

const texts: Readonly<Record<DiagnosisCode, Text>> = {
  unknown: () => 'there is no such task: its push was rolled back or is not committed yet, or it was purged',
  succeeded: (d) => `succeeded ${ago(d)}${wentOn(d)}`,
  failed: (d) => `failed ${ago(d)}${because(d)}${needs(d)}`,
  filtered: (d) => `filtered ${ago(d)}${because(d)}: it is not to be done`,
  recreated: (d) => `a new task was made from it, ${ago(d)}`,
  redundant: (d) => `a newer task of its identifier took its place, ${ago(d)}`,
  running: (d) => `running for ${spanOf(d)}, held by ${ownerOf(d)}`,
  stuck: (d) => `held by ${ownerOf(d)}, whose handler was asked to let go ${ago(d)}, and has not`,
  'owner-silent': (d) => `held by ${ownerOf(d)}, which has missed a heartbeat; its lease runs out in ${until(d)}`,
  'owner-dead': (d) => `held by ${ownerOf(d)}, which is dead${silent(d)}, and nobody has taken its tasks yet`,
  expired: (d) => `expired ${ago(d)}: its owner died, and nobody has revived it`,
  suspended: (d) => `suspended ${ago(d)}, until somebody revives it`,
  awaits: (d) => `needs ${nameOf(d.by[0])}, which ${stateOf(d.by[0], d)}`,
  retrying: (d) => `try ${(d.task?.tries ?? 0) + 1}${ofMost(d)} comes in ${until(d)}`,
  delayed: (d) => `due in ${until(d)}`,
  overdue: (d) => `was due ${ago(d)}, and nobody has made it ready`,
  paused: (d) => `topic ${d.task?.topic} was paused ${ago({ ...d, ...d.paused })}${by(d)}`,
  'no-node': (d) => `no living node processes topic ${d.task?.topic}`,
  'node-unknown': (d) => `processes live, and none of them tells whether it processes topic ${d.task?.topic}`,
  'node-silent': (d) =>
    `every node of topic ${d.task?.topic} has missed a heartbeat: it is hung up or has died, and counts as dead in ${until(d)}`,
  'node-quiet': (d) => `every node of topic ${d.task?.topic} was asked to take no more tasks`,
  'node-failing': (d) => `every node of topic ${d.task?.topic} reports an error: ${troubleOf(d)}`,
  'past-deadline': () => 'its deadline has passed: the next poll filters it',
  'out-of-turn': (d) => `waits for its turn: ${nameOf(d.by.at(-1))} comes first, and ${stateOf(d.by.at(-1), d)}`,
  limited: (d) =>
    d.limit?.kind === 'rate'
      ? `the rate of the topic is used up for ${until(d)}`
      : `the topic has as many active tasks as it may${d.limit ? `: ${d.limit.amount}` : ''}`,
  locked: (d) =>
    `another transaction${d.session === undefined ? '' : ` (session ${d.session})`} has its row: it is being handled, or changed`,
  'no-slot': () => 'every node of the topic is handling as many batches as it may',
  behind: (d) => `${countOf(d)} first${eta(d)}`,
  next: () => 'a node takes it when it polls next',
  unexplained: (d) =>
    `it is the next one, and for ${spanOf(d)} a node has looked for work and not taken it: unless it was committed only now, that is a fault`,
}

/** The reasons in a few words, for what else keeps the task. */
const short: Readonly<Partial<Record<DiagnosisCode, string>>> = {
  'no-node': 'no living node processes the topic',
  'node-unknown': 'no node tells that it processes the topic',
  'node-silent': 'its nodes have missed a heartbeat',
  'node-quiet': 'its nodes were asked to take no more',
  'node-failing': 'its nodes report errors',
  'past-deadline': 'its deadline has passed',
  'out-of-turn': 'another task of its identifier comes first',
  limited: 'a limit of the topic is reached',
  locked: 'another transaction has its row',
  'no-slot': 'its nodes are full',
  behind: 'other tasks come first',
}

/** @param diagnosis may have blockers and a successor whose topic is empty: whoever is told may not see them */
export function sayWhy(diagnosis: Diagnosis): SaidWhy {
  const { also, by: blockers, code, last, putOff, remedies } = diagnosis
  const others = also.map((each) => (each === 'paused' ? `the topic is paused${by(diagnosis)}` : (short[each] ?? each)))
  const more = [
    ...(others.length > 0 ? [`and then: ${others.join('; ')}`] : []),
    ...(blockers.length > 1 || ((code === 'awaits' || code === 'failed') && blockers.length > 0)
      ? blockers.map((each) => `waits for ${nameOf(each)}: ${stateOf(each, diagnosis)}`)
      : []),
    ...(putOff ? [saidPutOff(putOff)] : []),
    ...(last?.error !== undefined && code !== 'failed' && code !== 'succeeded'
      ? [
          `attempt ${last.attempt} failed ${duration(diagnosis.at.getTime() - last.ended.getTime())} ago: ${last.error}${last.release ? ` (release ${last.release})` : ''}`,
        ]
      : []),
    ...(last?.trace !== undefined && code !== 'succeeded' ? [`the trace of attempt ${last.attempt} is ${last.trace}`] : []),
  ]
  const helps = remedies.map((remedy) => commandOf(remedy) ?? `start a process that processes topic ${remedy.topic}`)
  return { answer: texts[code](diagnosis), more, remedies: helps }
}

function ago({ at, since }: Pick<Diagnosis, 'at' | 'since'>): string {
  return since ? `${duration(Math.max(0, at.getTime() - since.getTime()))} ago` : 'some time ago'
}

function wentOn(diagnosis: Diagnosis): string {
  const { successor } = diagnosis
  return successor ? `, and went on as ${nameOf(successor)}, which ${stateOf(successor, diagnosis)}` : ''
}

function spanOf({ at, since }: Diagnosis): string {
  return since ? duration(Math.max(0, at.getTime() - since.getTime())) : 'some time'
}

function until({ at, until: end }: Diagnosis): string {
  if (!end) return 'some time'
  const ms = end.getTime() - at.getTime()
  return ms > 0 ? duration(ms) : 'a moment'
}

function because({ last, task }: Diagnosis): string {
  const release = last?.release === undefined ? '' : `, release ${last.release}`
  if (task?.reason !== undefined) return ` (${task.reason}${last?.error === undefined ? '' : `: ${last.error}`}${release})`
  return last?.error === undefined ? '' : ` (${last.error}${release})`
}

/** What one that has failed unreachable needs. */
function needs(diagnosis: Diagnosis): string {
  const [first] = diagnosis.by
  return first ? `, as it needs ${nameOf(first)}, which ${stateOf(first, diagnosis)}` : ''
}

function by({ paused }: Diagnosis): string {
  const who = paused?.actor === undefined ? '' : ` by ${paused.actor}`
  return `${who}${paused?.note === undefined ? '' : `: ${paused.note}`}`
}

/** Since when a dead owner is silent. One that is not registered any more tells nothing. */
function silent({ at, owner }: Diagnosis): string {
  return owner?.heartbeat ? ` (silent for ${duration(Math.max(0, at.getTime() - owner.heartbeat.getTime()))})` : ''
}

function ownerOf({ owner }: Diagnosis): string {
  return `${owner?.owner ?? 'nobody'}${owner?.release === undefined ? '' : ` (release ${owner.release})`}`
}

function ofMost({ task }: Diagnosis): string {
  return task?.maxTries === undefined ? '' : ` of ${task.maxTries}`
}

function troubleOf({ nodes }: Diagnosis): string {
  const [first] = nodes?.troubles ?? []
  return first ? `${first.activity}: ${first.message}` : 'unknown'
}

function saidPutOff({ times, owner, release, explanation }: NonNullable<Diagnosis['putOff']>): string {
  const [often, last] = times === 1 ? ['once', ''] : [`${times} times`, 'last ']
  return `put off ${often}${owner === undefined ? '' : `, ${last}by ${owner}${release === undefined ? '' : ` (release ${release})`}`}: ${explanation}`
}

function countOf({ ahead }: Diagnosis): string {
  if (ahead === undefined) return 'other ready tasks come'
  if (ahead >= 10_000) return '10,000 or more ready tasks come'
  return ahead === 1 ? '1 ready task comes' : `${ahead} ready tasks come`
}

function eta({ ahead = 0, pace }: Diagnosis): string {
  if (!pace) return ''
  return `, about ${duration(Math.ceil(ahead / pace) * 60_000)} at the present pace`
}

function nameOf(blocker: Blocker | undefined): string {
  if (!blocker) return 'another task'
  if (blocker.topic === '') return 'a task of another topic'
  return `${blocker.topic}/${blocker.identifier ?? ''}@${blocker.sequence}`
}

function stateOf(blocker: Blocker | undefined, { at }: Diagnosis): string {
  if (!blocker || blocker.code === 'unknown') return 'is not there any more'
  const since = blocker.since ? ` ${duration(Math.max(0, at.getTime() - blocker.since.getTime()))} ago` : ''
  const error = blocker.error === undefined ? '' : ` (${blocker.error})`
  switch (blocker.code) {
    case 'failed':
    case 'expired':
      return `${blocker.code}${since}${error}`
    case 'running':
      return `is being handled`
    case 'stuck':
      return 'is held by a handler that was asked to let go, and has not'
    case 'owner-dead':
      return 'is held by a process that is dead'
    case 'owner-silent':
      return 'is held by a process that has missed a heartbeat'
    case 'suspended':
      return `was suspended${since}`
    case 'awaits':
      return 'is blocked'
    case 'next':
    case 'out-of-turn':
    case 'unexplained':
      return 'is ready'
    case 'paused':
      return `is ready, and its topic was paused${since}`
    default: {
      const reason = blocker.state === 'ready' ? short[blocker.code] : undefined
      return reason === undefined ? `is ${blocker.code}${error}` : `is ready, and ${reason}`
    }
  }
}
