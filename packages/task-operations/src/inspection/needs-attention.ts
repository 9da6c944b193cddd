/** Says what of the topics, nodes, errors and findings needs attention. It decides without I/O. */
import type { Activation, HeldInfo, NodeInfo, TopicOverview } from '@taskstream/task-api'
import { severityOf } from '../core/severity.ts'
import { attentionThresholds, newErrorMs, thresholds } from '../core/thresholds.ts'
import type { CheckName } from '../core/thresholds.ts'
import { duration } from '../core/units.ts'
import { checksOfDatabase } from '../doctor/glance.ts'
import type { Attention, AttentionId } from './attention-ids.ts'
import type { Seen } from './attention.ts'
import { quoted } from './commands.ts'

export function* needsAttention(seen: Seen): Generator<Attention> {
  yield* ofTopics(seen)
  yield* ofNodes(seen)
  yield* ofErrors(seen)
  yield* ofNewer(seen)
  yield* ofHeld(seen)
  yield* ofFindings(seen)
}

/** How bad a value is; undefined if nobody needs to look. */
function severityBy(name: CheckName, value: number): Attention['severity'] | undefined {
  const severity = severityOf(value, thresholds[name])
  return severity === 'warn' || severity === 'crit' ? severity : undefined
}

function* ofTopics(seen: Seen): Generator<Attention> {
  for (const topic of seen.topics) {
    const activation = seen.activations.get(topic.topic)
    if (activation?.active === false) yield* ofPaused(topic, activation, seen)
    else yield* ofBacklog(topic, seen)
  }
}

function* ofPaused(
  { topic, ready, oldestReadyMs = 0 }: TopicOverview,
  { changed, actor, note }: Activation,
  { nowMs }: Seen,
): Generator<Attention> {
  const forMs = nowMs - changed.getTime()
  // Whoever sees a queue grow is told that somebody has paused it, also if that was not long ago.
  const isLate = oldestReadyMs > attentionThresholds.backlogAge.warn
  const severity = severityBy('paused', forMs) ?? (isLate ? 'warn' : undefined)
  if (!severity || ready === 0) return
  const who = actor === undefined ? '' : ` by ${actor}`
  const text = `${topic} has been paused for ${duration(forMs)}${who}${note === undefined ? '' : `: ${note}`}, and ${count(ready)} wait`
  yield { id: 'paused-long', severity, topic, text, command: `taskstream resume ${quoted(topic)}` }
}

function* ofBacklog({ topic, ready, oldestReadyMs = 0 }: TopicOverview, { nodes }: Seen): Generator<Attention> {
  const tells = ({ report }: NodeInfo): boolean => report?.topics.some((each) => each.topic === topic) ?? false
  // A process of an older release tells nothing, and may process any topic.
  const processed = nodes.some((node) => isLiving(node) && (!node.report || tells(node)))
  const severity = processed ? undefined : severityBy('nobody-processes', oldestReadyMs)
  if (severity) {
    // Those that have died come before those that have stopped, whichever was the last.
    const reportedMs = ({ reported }: NodeInfo): number => reported?.getTime() ?? 0
    const [left] = nodes.filter(tells).toSorted((one, other) => reportedMs(other) - reportedMs(one))
    const release = left?.release === undefined ? '' : ` (release ${left.release})`
    const who = left ? `; the last was ${left.name}${release}, which is ${left.life}` : ''
    const text = `${topic}: ${count(ready)} ready for up to ${duration(oldestReadyMs)}, and nobody processes it${who}`
    yield { id: 'nobody-processes', severity, topic, text, command: `taskstream nodes` }
  } else if (oldestReadyMs > attentionThresholds.backlogAge.warn) {
    const text = `${topic}: the oldest of ${count(ready)} ready was pushed ${duration(oldestReadyMs)} ago`
    yield { id: 'backlog-age', severity: 'warn', topic, text, command: `taskstream next ${quoted(topic)}` }
  }
}

function* ofNodes({ nodes, held }: Seen): Generator<Attention> {
  for (const { name, owner, life, report } of nodes) {
    const command = `taskstream nodes ${quoted(owner)}`
    const tasks = held.filter((task) => task.owner === owner).length
    // One whose tasks others have taken is a matter of the past.
    if (life === 'dead' && tasks > 0)
      yield {
        id: 'owner-silent',
        severity: 'warn',
        text: `${name} died without a word, and ${count(tasks)} of its tasks are held still`,
        command,
      }
    if (life !== 'living') continue
    const [first] = [...(report?.error ? [report.error] : []), ...(report?.topics ?? []).flatMap(({ error }) => error ?? [])]
    // A node that hears nothing polls meanwhile.
    const severity = first?.activity === 'listen' ? 'warn' : 'crit'
    if (first) yield { id: 'node-failing', severity, text: `${name}: ${first.activity} fails: ${first.message}`, command }
  }
}

function* ofErrors({ errors, nowMs }: Seen): Generator<Attention> {
  const many = attentionThresholds.errorAttempts.warn
  for (const { topic, error, count: times, open, pending, first, firstRelease, fingerprint } of errors) {
    const isNew = nowMs - first.getTime() < newErrorMs
    // All of its tasks have succeeded since, or were given up by somebody: as after a crash, or a try that another one followed.
    const left = open + pending
    const isHealed = left === 0
    if ((!isNew || isHealed) && times <= many) continue
    const release = firstRelease === undefined ? '' : ` in release ${firstRelease}`
    const since = isNew ? `, first seen ${duration(nowMs - first.getTime())} ago${release}` : ''
    yield {
      id: isNew ? 'failing-new' : 'failing',
      // Where most tries are followed by one that succeeds, the topic gets on.
      severity: left > many && 2 * left >= times ? 'crit' : 'warn',
      topic,
      text: `${topic}: ${count(times)} × ${error}${since}${isHealed ? ', and none of its tasks is left to do' : ''}`,
      command: `taskstream errors ${quoted(topic)} ${fingerprint}`,
    }
  }
}

/** What only later releases can handle waits while none of them runs, and nothing fails. */
function* ofNewer({ nodes, nowMs }: Seen): Generator<Attention> {
  const found = nodes
    .filter(isLiving)
    .flatMap(({ name, release, report }) =>
      (report?.topics ?? []).flatMap(({ topic, newer }) => (newer ? [{ name, release, topic, newer }] : [])),
    )
  for (const [topic, all] of Map.groupBy(found, (each) => each.topic)) {
    const first = all.toSorted((left, right) => left.newer.since.getTime() - right.newer.since.getTime())[0]!
    const forMs = nowMs - first.newer.since.getTime()
    if (forMs <= attentionThresholds.inputNewer.warn) continue
    const who = `${first.name}${first.release === undefined ? '' : ` (release ${first.release})`}`
    const others = all.length > 1 ? ` and ${all.length - 1} more` : ''
    const text = `${topic}: ${who}${others} put off for ${duration(forMs)} what a later release has pushed, which runs once that release does: ${first.newer.message}`
    yield { id: 'input-newer', severity: 'warn', topic, text, command: 'taskstream nodes' }
  }
}

/** What a handler does not let go of while its process lives: no lease runs out then. */
function* ofHeld({ held, nodes, nowMs }: Seen): Generator<Attention> {
  const living = new Set(nodes.filter(isLiving).map(({ owner }) => owner))
  const heldMs = ({ started }: HeldInfo): number => (started ? nowMs - started.getTime() : 0)
  const long = held.filter((task) => living.has(task.owner) && heldMs(task) > attentionThresholds.activeLong.warn)
  for (const [topic, own] of Map.groupBy(long, (task) => task.topic)) {
    const [first] = own.toSorted((left, right) => heldMs(right) - heldMs(left))
    const others = own.length > 1 ? `, and ${count(own.length - 1)} more` : ''
    const text = `${topic}: ${first!.identifier} @${first!.sequence} has been at work for ${duration(heldMs(first!))}, held by ${first!.owner}${others}`
    yield { id: 'active-long', severity: 'warn', topic, text, command: `taskstream why ${quoted(topic)} @${first!.sequence}` }
  }
}

const ofChecks: Readonly<Partial<Record<CheckName, readonly [id: AttentionId, command: string]>>> = {
  overdue: ['overdue', 'taskstream nodes'],
  'timer-overdue': ['timer-overdue', 'taskstream periodic ls'],
  'release-skew': ['release-skew', 'taskstream nodes'],
}

function* ofFindings({ findings }: Seen): Generator<Attention> {
  for (const { check, severity, measured, remedy, facts } of findings) {
    // Whoever is not told of this takes silence for health. A right that is missing is no trouble of the database.
    if (severity === 'skipped' && facts.code !== undefined && facts.code !== 'PERMISSION_DENIED')
      yield { id: 'database', severity: 'warn', text: `${check} cannot be looked at: ${measured}`, command: 'taskstream doctor' }
    if (severity !== 'warn' && severity !== 'crit') continue
    const [id, command] = ofChecks[check] ?? []
    if (id) yield { id, severity, text: remedy === undefined ? measured : `${measured}: ${remedy}`, command: command! }
    else if (checksOfDatabase.has(check))
      yield { id: 'database', severity, text: `${check}: ${measured}`, command: 'taskstream doctor' }
  }
}

function isLiving({ life }: NodeInfo): boolean {
  return life === 'living' || life === 'silent'
}

function count(tasks: number): string {
  return tasks >= 1_000 ? '1,000 or more' : String(tasks)
}
