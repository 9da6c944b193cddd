/** The page of one task: why first, then what is known of it. */
import type { TaskAttempt } from '@taskstream/task-api'
import { html } from 'hono/html'
import * as z from 'zod'
import { refParameter, topicParameter } from '../api/parameters.ts'
import { read } from '../api/route.ts'
import type { Asked, Given } from '../api/route.ts'
import { readAttempts, readTask, readWhy } from '../api/tasks.ts'
import type { FullTaskAnswer, WhyAnswer } from '../api/tasks.ts'
import { fill } from '../core/link-template.ts'
import type { Shown } from '../core/mask.ts'
import { segment, taskPath } from '../core/path.ts'
import { roughly, visible } from '../core/text.ts'
import type { Page, Surroundings } from './layout.ts'
import { facts, lines, link, nothing, state, table, text, time, topicLink } from './parts.ts'
import type { Column, Html } from './parts.ts'
import { whyBox } from './why.ts'
import { deedForm, switchForm } from './forms.ts'
import { scheduleForm } from './schedule.ts'

const parameters = z.object({ topic: topicParameter, ref: refParameter })
const ended: ReadonlySet<string> = new Set(['succeeded', 'failed', 'filtered', 'recreated', 'redundant'])

export async function taskPage(asked: Asked, given: Given, surroundings: Surroundings): Promise<Page> {
  const { root } = surroundings
  const task = await readTask(asked, read(parameters, { topic: given['topic'] ?? [], ref: given['ref'] ?? [] }))
  const named = { topic: task.topic, ref: String(task.sequence) }
  const why = await readWhy(asked, named)
  const { attempts } = await readAttempts(asked, named)
  return {
    title: `${visible(task.identifier, 120)} @${task.sequence}`,
    json: taskPath(task),
    body: html`${whyBox(why, ended.has(task.state) ? 'What has become of it' : why.code === 'running' ? 'What it does' : 'Why is it not running?')}
      ${deedsOf(asked, task, why, root)}
      ${why.by.length === 0 ? '' : html`<p>It waits for ${why.by.map(({ topic, sequence, identifier = '' }, index) => html`${index === 0 ? '' : ', which waits for '}${link(root, taskPath({ topic, sequence }), html`${text(identifier, 80)} @${sequence}`)}`)}.</p>`}
      ${why.successor ? html`<p>It went on as ${link(root, taskPath(why.successor), html`${text(why.successor.identifier ?? '', 80)} @${why.successor.sequence}`)}.</p>` : ''}
      ${factsOf(task, root)}
      ${
        attempts.length === 0
          ? ''
          : html`<h2>Attempts that did not succeed</h2>
              ${attemptsTable(task, attempts.toReversed(), surroundings)}`
      }
      <h2>Payload</h2>
      ${payloads(task)}`,
  }
}

/** What helps, and what may be done to a task in its state. */
function deedsOf(asked: Asked, { topic, sequence, state: word }: FullTaskAnswer, why: WhyAnswer, root: string): Html {
  const one = { topic, sequence }
  const isOpen = !ended.has(word)
  return html`<div class="deeds">
    ${why.code === 'paused' ? switchForm(asked, `${root}topics/${segment(topic)}/resume`, 'Resume the topic') : ''}${blockerForm(asked, why, root)}${['failed', 'expired', 'suspended', 'filtered'].includes(word) ? deedForm(asked, root, { ...one, deed: 'redrive' }, 'Redrive…') : ''}${word === 'delayed' ? deedForm(asked, root, { ...one, deed: 'run-now' }, 'Run now…') : ''}${isOpen ? deedForm(asked, root, { ...one, deed: 'cancel' }, 'Cancel…') : ''}${word === 'ready' || word === 'delayed' ? scheduleForm(asked, root, one, 'Reschedule') : ''}
  </div>`
}

/** The last of those that wait for each other is what all wait for. */
function blockerForm(asked: Asked, { by }: WhyAnswer, root: string): Html {
  const last = by.at(-1)
  if (!last || !['failed', 'expired', 'suspended'].includes(last.code)) return nothing
  const { topic, sequence, identifier = '' } = last
  return deedForm(asked, root, { topic, sequence, deed: 'redrive' }, `Redrive ${visible(identifier, 60)} @${sequence}…`)
}

function factsOf(task: FullTaskAnswer, root: string): Html {
  const owner = task.owner === undefined ? undefined : link(root, `nodes/${segment(task.owner)}`, text(task.owner, 120))
  return facts([
    ['topic', topicLink(root, task.topic)],
    ['state', html`${state(task.state)}${task.reason === undefined ? '' : html` (${task.reason})`}`],
    ['tries', task.maxTries === undefined ? String(task.tries) : `${task.tries} of ${task.maxTries}`],
    ['pushed', time(task.created)],
    ['due', time(task.due)],
    ['taken', time(task.started)],
    ['ended', time(task.completed)],
    ['deadline', time(task.deadline)],
    ['owner', owner],
    ['priority', task.priority === 0 ? undefined : String(task.priority)],
    ['reference', text(task.reference)],
    ['external id', text(task.externalId)],
  ])
}

function attemptsTable(task: FullTaskAnswer, attempts: readonly TaskAttempt[], surroundings: Surroundings): Html {
  const { root } = surroundings
  const columns: readonly Column<TaskAttempt>[] = [
    { name: 'attempt', cell: ({ attempt }) => String(attempt) },
    { name: 'outcome', cell: ({ outcome }) => state(outcome) },
    { name: 'ended', cell: ({ ended: at }) => time(at) },
    {
      name: 'took',
      isNumber: true,
      cell: ({ started, ended: at }) => (started ? roughly(at.getTime() - started.getTime()) : ''),
    },
    {
      name: 'error',
      isWords: true,
      cell: ({ error, fingerprint, message }) =>
        html`${fingerprint === undefined ? text(error) : link(root, `errors/${segment(fingerprint)}`, text(error ?? fingerprint))}${
          message === undefined
            ? ''
            : html`<details>
                <summary>whole message</summary>
                ${lines(message)}
              </details>`
        }`,
    },
    { name: 'release', cell: ({ release }) => text(release) },
    { name: 'owner', cell: ({ owner }) => text(owner, 60) },
    { name: 'look at', cell: (attempt) => elsewhereOf(task, attempt, surroundings) },
  ]
  return table('Attempts, the latest first', columns, attempts, ({ attempt }) => `attempt-${attempt}`, '')
}

/** What other programs show of an attempt: its trace and its logs. */
function elsewhereOf(
  { topic, sequence }: FullTaskAnswer,
  { attempt, trace: traceId }: TaskAttempt,
  { traceUrl, logsUrl }: Surroundings,
): Html | string {
  const sought = { traceId, topic, sequence, attempt }
  const [trace, logs] = [fill(traceUrl, sought), fill(logsUrl, sought)]
  if (traceId === undefined && logs === undefined) return ''
  const ofTrace = trace === undefined ? text(traceId) : html`<a href="${trace}" rel="noreferrer">trace</a>`
  return logs === undefined ? ofTrace : html`${ofTrace} <a href="${logs}" rel="noreferrer">logs</a>`
}

function payloads({ input, headers, output, hidden }: FullTaskAnswer): Html {
  const shown = Object.entries({ input, headers, output }).flatMap(([name, value]) =>
    value === undefined ? [] : [payload(name, value)],
  )
  if (shown.length > 0) return html`${shown}`
  if (hidden.length > 0) return html`<p class="note">Your role does not see it: ${hidden.join(', ')}.</p>`
  return html`<p class="empty">None: no input, headers or output.</p>`
}

function payload(name: string, { text: value, length, cut }: Shown): Html {
  const size = `${length.toLocaleString('en')} characters`
  if (value === '' && cut)
    return html`<p>
      ${name}: ${size}, which is too much to be read for secrets. See ${html`<code>taskstream show --reveal</code>`}.
    </p>`
  return html`<details${name === 'headers' ? '' : html` open`}><summary>${name}, ${size}; secrets are masked${cut ? ', and the end is left out' : ''}</summary>${lines(pretty(value))}</details>`
}

function pretty(value: string): string {
  try {
    return JSON.stringify(JSON.parse(value), undefined, 2)
  } catch {
    return value
  }
}
