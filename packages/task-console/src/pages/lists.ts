/** What comes next, timers, what has changed, who did it, how the database is, and what was looked for. */
import type { RecordedAction, StoredTimer, Task } from '@taskstream/task-api'
import type { Change, Finding } from '@taskstream/task-operations'
import type { PreviewEntry } from '@taskstream/task-scheduler'
import { html } from 'hono/html'
import * as z from 'zod'
import { topicFilter } from '../api/parameters.ts'
import { readUpcoming } from '../api/errors.ts'
import { readTimer, readTimers } from '../api/timers.ts'
import { readAudit, readChanges, readExamination } from '../api/lists.ts'
import type { TimerAnswer } from '../api/timers.ts'
import { read } from '../api/route.ts'
import type { Asked, Given } from '../api/route.ts'
import { readFound } from '../api/tasks.ts'
import { segment } from '../core/path.ts'
import { roughly, visible } from '../core/text.ts'
import { mayAct, switchForm, undoForm } from './forms.ts'
import type { Page, Surroundings } from './layout.ts'
import { bounds, facts, link, nothing, state, table, taskLink, text, time, topicLink } from './parts.ts'
import type { Column, Html } from './parts.ts'
import { tasksTable } from './topics.ts'

interface Next extends Task {
  readonly at: Date
  readonly what: 'ready' | 'delayed'
}

export async function nextPage(asked: Asked, given: Given, { root }: Surroundings): Promise<Page> {
  const { topic } = read(z.object({ topic: topicFilter }), { topic: given['topic'] ?? [] })
  const { topics, bounded } = await readUpcoming(asked, { topic, size: topic === undefined ? 5 : 50 })
  const columns: readonly Column<Next>[] = [
    { name: 'task', cell: (task) => taskLink(root, task) },
    { name: 'state', cell: ({ what }) => state(what) },
    { name: 'pushed, or due', cell: ({ at }) => time(at) },
  ]
  const sections = topics.map(({ topic: of, ready, due }) => {
    const rows: readonly Next[] = [
      ...ready.map((task) => ({ ...task, at: task.created, what: 'ready' as const })),
      ...due.map((task) => ({ ...task, at: task.due, what: 'delayed' as const })),
    ]
    return html`<h2>${topicLink(root, of)}</h2>
      ${table(`What ${visible(of, 60)} does next`, columns, rows, ({ sequence }) => `next-${segment(of)}-${sequence}`, 'Nothing is ready, and nothing becomes so by itself.')}`
  })
  const { timers } = await readTimers(asked)
  const firing = timers.filter(({ due, topic: of }) => due && (topic === undefined || of === topic)).slice(0, 20)
  return {
    title: topic === undefined ? 'Next' : `Next in ${visible(topic, 80)}`,
    json: `upcoming${topic === undefined ? '' : `?topic=${encodeURIComponent(topic)}`}`,
    body: html`${topic === undefined ? '' : html`<p>${link(root, 'next', 'Every topic')}</p>`}
    ${sections.length === 0 ? html`<p class="empty">No task is ready, and none becomes so by itself.</p>` : sections}
    ${bounds(bounded)}
    ${
      firing.length === 0
        ? ''
        : html`<h2>Timers</h2>
            ${timersTable(firing, root)}`
    }`,
  }
}

export async function timersPage(asked: Asked, _given: Given, { root }: Surroundings): Promise<Page> {
  const { timers, bounded } = await readTimers(asked)
  return { title: 'Timers', json: 'timers', body: html`${timersTable(timers, root)}${bounds(bounded)}` }
}

function timersTable(timers: readonly TimerAnswer[], root: string): Html {
  const columns: readonly Column<TimerAnswer>[] = [
    { name: 'timer', cell: ({ scope, id }) => link(root, `timers/${segment(scope)}/${segment(id)}`, text(id, 80)) },
    { name: 'state', cell: timerState },
    { name: 'next', cell: ({ due }) => time(due) },
    { name: 'when', cell: ({ timer }) => text(timer, 80) },
    { name: 'topic', cell: ({ topic }) => topicLink(root, topic) },
    { name: 'fired', isNumber: true, cell: ({ fired }) => fired.toLocaleString('en') },
    { name: 'scope', cell: ({ scope }) => text(scope, 60) },
  ]
  return table(
    'Timers, those that are due first',
    columns,
    timers,
    ({ scope, id }) => `timer-${segment(scope)}-${segment(id)}`,
    'No timer is kept.',
  )
}

function timerState({ status, note, overdueMs = 0 }: Pick<TimerAnswer, 'status' | 'note' | 'overdueMs'>): Html {
  if (overdueMs > 60_000) return html`${state('warn')} overdue: does a scheduler run?`
  return html`${state(status satisfies StoredTimer['status'])}${note === undefined ? '' : html`: ${text(note)}`}`
}

export async function timerPage(asked: Asked, given: Given, { root }: Surroundings): Promise<Page> {
  const timer = await readTimer(
    asked,
    read(z.object({ scope: z.string(), id: z.string() }), { scope: given['scope'] ?? [], id: given['id'] ?? [] }),
  )
  const columns: readonly Column<PreviewEntry>[] = [
    { name: 'local time', cell: ({ local, abbreviation }) => `${local} ${abbreviation}` },
    { name: 'UTC', cell: ({ instant }) => instant },
    {
      name: 'after',
      isNumber: true,
      cell: ({ sincePreviousMs }) => (sincePreviousMs === undefined ? '' : roughly(sincePreviousMs)),
    },
    { name: 'notes', cell: ({ notes }) => notes.join('; ') },
  ]
  const path = `${root}timers/${segment(timer.scope)}/${segment(timer.id)}`
  return {
    title: visible(timer.id, 120),
    json: `timers/${segment(timer.scope)}/${segment(timer.id)}`,
    body: html`${facts([
        ['state', timerState(timer)],
        ['when', text(timer.timer)],
        ['next', time(timer.due)],
        ['pushes to', topicLink(root, timer.topic)],
        ['identifier', text(timer.identifier)],
        ['last task', timer.last ? taskLink(root, { ...timer.last, identifier: timer.identifier }) : undefined],
        ['fired', timer.fired.toLocaleString('en')],
        ['passed over', timer.skipped.toLocaleString('en')],
        ['scope', text(timer.scope)],
        ['summary', text(timer.summary)],
        ['declared by', text(timer.application)],
      ])}
      <div class="deeds">
        ${switchForm(asked, `${path}/run`, 'Run now')}${timer.status === 'running' ? switchForm(asked, `${path}/pause`, 'Pause') : timer.status === 'paused' ? switchForm(asked, `${path}/resume`, 'Resume') : ''}
      </div>
      <h2>When it elapses next</h2>
      ${table('When it elapses next', columns, timer.next, ({ instant }) => `at-${instant}`, 'Never again.')}`,
  }
}

export async function changesPage(asked: Asked, given: Given, { root }: Surroundings): Promise<Page> {
  const { hours } = read(z.object({ hours: z.coerce.number().int().min(1).max(8_760).default(24) }), {
    hours: given['hours'] ?? [],
  })
  const { changes, bounded } = await readChanges(asked, { withinMs: hours * 3_600_000 })
  const columns: readonly Column<Change>[] = [
    { name: 'when', cell: ({ at }) => time(at) },
    { name: 'what', cell: ({ kind }) => kind },
    { name: 'text', isWords: true, cell: ({ text: words }) => text(words, 500) },
    { name: 'topic', cell: ({ topic }) => (topic === undefined ? nothing : topicLink(root, topic)) },
  ]
  return {
    title: 'Changes',
    json: `changes?withinMs=${hours * 3_600_000}`,
    body: html`<p>
        ${[2, 24, 168].map((each) => html`${each === hours ? html`<strong>${span(each)}</strong>` : link(root, `changes?hours=${each}`, span(each))} `)}
      </p>
      ${table('Changes, the latest first', columns, changes, ({ at, kind, text: words }) => `change-${at.getTime()}-${kind}-${segment(words.slice(0, 40))}`, `Nothing has changed in the last ${span(hours)}.`)}
      ${bounds(bounded)}`,
  }
}

function span(hours: number): string {
  return hours === 168 ? '7 days' : `${hours} hours`
}

const undoable: ReadonlySet<string> = new Set([
  'redrive',
  'cancel',
  'reschedule',
  'reassign',
  'pause',
  'resume',
  'limits',
  'timer pause',
  'timer resume',
  'timer run',
  'push',
])

export async function auditPage(asked: Asked, given: Given, { root }: Surroundings): Promise<Page> {
  const { topic } = read(z.object({ topic: topicFilter }), { topic: given['topic'] ?? [] })
  const { actions, bounded } = await readAudit(asked, { topic, size: 100 })
  const columns: readonly Column<Omit<RecordedAction, 'former' | 'sequences'>>[] = [
    { name: 'when', cell: ({ at }) => time(at) },
    {
      name: 'action',
      cell: ({ action, undoes }) => html`${text(action)}${undoes === undefined ? '' : html`, undoing ${text(undoes, 40)}`}`,
    },
    { name: 'topic', cell: ({ topic: of }) => (of === undefined ? nothing : topicLink(root, of)) },
    { name: 'tasks', isNumber: true, cell: ({ count }) => count.toLocaleString('en') },
    { name: 'who', cell: ({ actor, via }) => html`${text(actor, 80)}${via === undefined ? '' : html` (${text(via)})`}` },
    { name: 'note', isWords: true, cell: ({ note }) => text(note) },
    { name: 'id', cell: ({ id }) => text(id, 40) },
    {
      name: 'undo',
      cell: ({ id, action, undoes }) =>
        mayAct(asked) && undoes === undefined && !/-\d+$/.test(id) && undoable.has(action) ? undoForm(root, id) : nothing,
    },
  ]
  return {
    title: 'Audit',
    json: 'audit',
    body: html`${table('What people have done, the latest first', columns, actions, ({ id }) => `action-${segment(id)}`, 'Nobody has done anything that is kept.')}${bounds(bounded)}`,
  }
}

export async function healthPage(asked: Asked): Promise<Page> {
  const { findings } = await readExamination(asked)
  const columns: readonly Column<Finding>[] = [
    { name: 'check', cell: ({ check }) => check },
    { name: 'result', cell: ({ severity }) => state(severity) },
    { name: 'measured', isWords: true, cell: ({ measured }) => text(measured) },
    { name: 'threshold', isWords: true, cell: ({ threshold }) => threshold },
    {
      name: 'what to do',
      isWords: true,
      cell: ({ remedy, severity }) =>
        remedy === undefined || severity === 'ok' || severity === 'skipped'
          ? nothing
          : html`<code>${visible(remedy, 500)}</code>`,
    },
  ]
  const rank = ['crit', 'warn', 'notice', 'ok', 'skipped']
  const rows = findings.toSorted((left, right) => rank.indexOf(left.severity) - rank.indexOf(right.severity))
  return {
    title: 'Health',
    json: 'examination',
    body: html`${table('Checks of the database, the worst first', columns, rows, ({ check }) => `check-${check}`, '')}`,
  }
}

export async function findPage(asked: Asked, given: Given, { root }: Surroundings): Promise<Page> {
  const { q } = read(z.object({ q: z.string().max(600).optional() }), { q: given['q'] ?? [] })
  if (q === undefined)
    return {
      title: 'Find',
      body: html`<p>
        Type a part of a topic’s name, an identifier, <code>ext:</code> and an external id, or <code>@</code> and a sequence.
      </p>`,
    }
  const { topics, tasks, bounded } = await readFound(asked, { q })
  return {
    title: 'Find',
    json: `find?q=${encodeURIComponent(q.toWellFormed())}`,
    body: html`${
      topics.length === 0
        ? ''
        : html`<h2>Topics</h2>
            <ul>
              ${topics.map((topic) => html`<li>${topicLink(root, topic)}</li>`)}
            </ul>`
    }
    ${
      tasks.length === 0
        ? ''
        : html`<h2>Tasks</h2>
            ${tasksTable({ tasks }, root, '', true)}`
    }
    ${topics.length + tasks.length === 0 ? html`<p class="empty">Nothing is called ${text(q)}. Identifiers are found in keyed topics only.</p>` : ''}
    ${bounds(bounded)}`,
  }
}
