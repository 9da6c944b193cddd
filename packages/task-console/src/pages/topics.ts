/** The first page, and that of one topic. */
import { filterStates, taskReasons } from '@taskstream/task-api'
import type { Attention } from '@taskstream/task-operations'
import { html } from 'hono/html'
import * as z from 'zod'
import { sequenceParameter, reasonFilter, stateFilter, textFilter, topicParameter } from '../api/parameters.ts'
import { readAttention, readTopic, readTopics } from '../api/topics.ts'
import { readUpcoming } from '../api/errors.ts'
import { read } from '../api/route.ts'
import type { Asked, Given } from '../api/route.ts'
import type { TopicAnswer } from '../api/overview.ts'
import { readTasks, readWhy } from '../api/tasks.ts'
import type { TaskAnswer, TasksAnswer } from '../api/tasks.ts'
import { segment } from '../core/path.ts'
import { roughly, visible } from '../core/text.ts'
import { deedForm, mayAct, switchForm } from './forms.ts'
import { scheduleForm } from './schedule.ts'
import type { Page, Surroundings } from './layout.ts'
import { command, count, facts, link, nothing, state, table, taskLink, text, time, topicLink } from './parts.ts'
import type { Column, Html } from './parts.ts'
import { whyBox } from './why.ts'

export async function topicsPage(asked: Asked, given: Given, { root }: Surroundings): Promise<Page> {
  const { offset } = read(z.object({ offset: z.coerce.number().int().min(0).max(1_000_000).default(0) }), {
    offset: given['offset'] ?? [],
  })
  const { attention } = await readAttention(asked)
  const { topics, next, total } = await readTopics(asked, { offset, size: 200 })
  const columns: readonly Column<TopicAnswer>[] = [
    { name: 'topic', cell: ({ topic }) => topicLink(root, topic) },
    { name: 'state', cell: topicState },
    { name: 'ready', isNumber: true, cell: ({ ready }) => count(ready) },
    { name: 'active', isNumber: true, cell: ({ active }) => count(active) },
    { name: 'delayed', isNumber: true, cell: ({ delayed }) => count(delayed) },
    {
      name: 'failed, 1 h',
      isNumber: true,
      cell: ({ topic, failed }) =>
        failed === 0 ? '0' : link(root, `errors?topic=${encodeURIComponent(topic)}`, count(failed, 5_000)),
    },
    {
      name: 'oldest ready',
      isNumber: true,
      cell: ({ oldestReadyMs }) => (oldestReadyMs === undefined ? '' : roughly(oldestReadyMs)),
    },
    { name: 'ended, 1 min', isNumber: true, cell: ({ ended }) => ended.toLocaleString('en') },
    { name: 'nodes', isNumber: true, cell: ({ nodes }) => String(nodes) },
  ]
  const empty = html`No topic yet. Make one: ${command('taskstream topic create invoices')}`
  return {
    title: 'Topics',
    json: 'topics',
    body: html`${attentionBox(attention, root)}
    ${table('Topics, those first that need somebody', columns, topics, ({ topic }) => `topic-${segment(topic)}`, empty)}
    ${total > topics.length ? html`<p class="note">${topics.length} of ${total} topics. ${next === undefined ? '' : link(root, `?offset=${next}`, 'The next ones')}</p>` : ''}`,
  }
}

function topicState({ state: word, paused }: TopicAnswer): Html {
  if (!paused) return state(word)
  const { since, actor, note } = paused
  return html`${state(word)}
  ${time(since)}${actor === undefined ? '' : html` by ${text(actor, 80)}`}${note === undefined ? '' : html`: ${text(note)}`}`
}

const mostFindings = 5

function attentionBox(found: readonly Attention[], root: string): Html {
  if (found.length === 0)
    return html`<section class="box good" id="attention" aria-labelledby="attention-title">
      <h2 id="attention-title">Nothing needs attention</h2>
    </section>`
  const kind = found.some(({ severity }) => severity === 'crit') ? 'bad' : 'wait'
  const rest = found.length - mostFindings
  return html`<section class="box ${kind}" id="attention" aria-labelledby="attention-title">
    <h2 id="attention-title">Needs attention</h2>
    <ul class="findings">
      ${found.slice(0, mostFindings).map((each) => html`<li>${state(each.severity)} ${text(each.text, 500)} ${seeLink(each, root)}</li>`)}
    </ul>
    ${rest > 0 ? html`<p class="note">and ${rest} more: ${command('taskstream attention')}</p>` : ''}
  </section>`
}

/** Where a finding is looked into. */
function seeLink({ id, topic }: Attention, root: string): Html {
  const query = topic === undefined ? '' : `?topic=${encodeURIComponent(topic)}`
  if (id === 'failing' || id === 'failing-new') return link(root, `errors${query}`, 'its errors')
  if (id === 'timer-overdue') return link(root, 'timers', 'timers')
  if (topic === undefined) return link(root, 'nodes', 'nodes')
  return link(root, `topics/${segment(topic)}`, 'the topic')
}

const filters = z.object({
  topic: topicParameter,
  state: stateFilter,
  identifier: textFilter,
  reference: textFilter,
  reason: reasonFilter,
  before: sequenceParameter,
})

export async function topicPage(asked: Asked, given: Given, { root }: Surroundings): Promise<Page> {
  const parameters = read(filters, Object.fromEntries(Object.entries(given).filter(([name]) => name in filters.shape)))
  const topic = await readTopic(asked, parameters)
  const page = await readTasks(asked, { ...parameters, size: 50 })
  const first =
    topic.ready > 0 && topic.oldestReadyMs !== undefined && topic.oldestReadyMs > 5_000
      ? await firstReady(asked, topic.topic)
      : undefined
  const path = `topics/${segment(topic.topic)}`
  return {
    title: visible(topic.topic),
    json: `${path}/tasks`,
    body: html`${facts([
        ['state', topicState(topic)],
        ['ready', count(topic.ready)],
        ['active', count(topic.active)],
        ['delayed', count(topic.delayed)],
        ['oldest ready', topic.oldestReadyMs === undefined ? undefined : roughly(topic.oldestReadyMs)],
        ['ended, 1 min', topic.ended.toLocaleString('en')],
        [
          'failed, 1 h',
          topic.failed === 0 ? '0' : link(root, `errors?topic=${encodeURIComponent(topic.topic)}`, count(topic.failed, 5_000)),
        ],
        ['nodes', link(root, `nodes?topic=${encodeURIComponent(topic.topic)}`, String(topic.nodes))],
        ['order', topic.order],
        ['condition', topic.condition === 'none' ? undefined : topic.condition],
      ])}
      <p>${link(root, `next?topic=${encodeURIComponent(topic.topic)}`, 'What it does next')}</p>
      <div class="deeds">
        ${topic.paused ? switchForm(asked, `${root}${path}/resume`, 'Resume') : switchForm(asked, `${root}${path}/pause`, 'Pause', true)}${mayAct(asked) ? link(root, `${path}/push`, 'Push a task…') : ''}
      </div>
      ${first ?? ''}
      <h2>Tasks</h2>
      ${filterForm(parameters)} ${deedsOf(asked, parameters, root)}
      ${tasksTable(page, root, page.next === undefined ? 'No task matches.' : `None of the latest ${page.bounded.by} matches. There are older ones to look through.`)}
      ${page.next === undefined ? '' : html`<p>${link(root, `${path}?${olderQuery(given, page.next)}`, 'Older tasks')} <span class="note">(${page.bounded.by} at a time)</span></p>`}`,
  }
}

/** The task that polls take first: if it waits for long, that says what keeps the topic. */
async function firstReady(asked: Asked, topic: string): Promise<Html | undefined> {
  const { topics } = await readUpcoming(asked, { topic, size: 1 })
  const task = topics[0]?.ready[0]
  if (!task) return undefined
  const why = await readWhy(asked, { topic, ref: String(task.sequence) })
  return whyBox(why, `Why is the first one not running? (${visible(task.identifier, 60)} @${task.sequence})`)
}

function filterForm({ state: states = [], identifier, reference, reason }: z.output<typeof filters>): Html {
  const option = (value: string, chosen: boolean): Html =>
    html`<option value="${value}" ${chosen ? html` selected` : ''}>${value === '' ? 'any' : value}</option>`
  return html`<form method="get" aria-label="Filter">
    <label for="state">state</label
    ><select id="state" name="state">
      ${['', ...filterStates].map((each) => option(each, states[0] === each))}
    </select>
    <label for="identifier">identifier</label
    ><input id="identifier" name="identifier" maxlength="500" value="${identifier ?? ''}" />
    <label for="reference">reference</label><input id="reference" name="reference" maxlength="500" value="${reference ?? ''}" />
    <label for="reason">reason</label
    ><select id="reason" name="reason">
      ${['', ...taskReasons].map((each) => option(each, reason === each))}
    </select>
    <button>Filter</button>
  </form>`
}

/** What may be done to all tasks that the filter finds. */
function deedsOf(
  asked: Asked,
  { topic, state: states = [], identifier, reference, reason }: z.output<typeof filters>,
  root: string,
): Html {
  const [state] = states
  if (state === undefined && identifier === undefined && reference === undefined && reason === undefined) return nothing
  const chosen = { topic, state, identifier, reference, reason }
  const deeds = state === undefined ? [] : (deedsFor[state] ?? [])
  return html`<div class="deeds">
    ${deeds.map(([deed, label]) => deedForm(asked, root, { ...chosen, deed }, label))}${state === 'ready' || state === 'delayed' ? scheduleForm(asked, root, chosen, 'Reschedule all of these') : ''}
  </div>`
}

const redrive = ['redrive', 'Redrive all of these…'] as const
const cancel = ['cancel', 'Cancel all of these…'] as const
const purge = ['purge', 'Delete all of these…'] as const
const deedsFor: Readonly<
  Record<string, readonly (readonly [deed: 'redrive' | 'cancel' | 'run-now' | 'purge', label: string])[]>
> = {
  failed: [redrive, purge],
  expired: [redrive, cancel],
  suspended: [redrive, cancel],
  filtered: [redrive, purge],
  succeeded: [purge],
  recreated: [purge],
  redundant: [purge],
  ready: [cancel],
  active: [cancel],
  blocked: [cancel],
  delayed: [['run-now', 'Run all of these now…'], redrive, cancel],
}

function olderQuery(given: Given, before: number): string {
  const query = new URLSearchParams()
  for (const name of ['state', 'identifier', 'reference', 'reason'])
    for (const value of given[name] ?? []) query.append(name, value)
  query.set('before', String(before))
  return query.toString()
}

export function tasksTable({ tasks }: Pick<TasksAnswer, 'tasks'>, root: string, empty: string, withTopic = false): Html {
  const columns: readonly Column<TaskAnswer>[] = [
    { name: 'task', cell: (task) => taskLink(root, task) },
    ...(withTopic ? [{ name: 'topic', cell: ({ topic }: TaskAnswer) => topicLink(root, topic) }] : []),
    { name: 'state', cell: ({ state: word, reason }) => html`${state(word)}${reason === undefined ? '' : html` (${reason})`}` },
    {
      name: 'tries',
      isNumber: true,
      cell: ({ tries, maxTries }) => (maxTries === undefined ? String(tries) : `${tries} of ${maxTries}`),
    },
    { name: 'pushed', cell: ({ created }) => time(created) },
    { name: 'due', cell: ({ due }) => time(due) },
    { name: 'ended', cell: ({ completed }) => time(completed) },
    { name: 'owner', cell: ({ owner }) => (owner === undefined ? nothing : text(owner, 60)) },
    { name: 'reference', cell: ({ reference }) => text(reference, 80) },
  ]
  return table('Tasks, the latest first', columns, tasks, ({ topic, sequence }) => `task-${segment(topic)}-${sequence}`, empty)
}
