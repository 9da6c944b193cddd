/** What operators do: a page that shows what would be done, a page that does it, and forms for what is done at once. */
import { filterStates, taskLimits, taskReasons } from '@taskstream/task-api'
import { html } from 'hono/html'
import * as z from 'zod'
import { checkWritable, doDeed } from '../api/actions.ts'
import type { Deed, Done, DeedAsked, Previewed } from '../api/actions.ts'
import { read } from '../api/route.ts'
import type { Asked, Given } from '../api/route.ts'
import { doToTimer, setActive, setQuiet, undoAction } from '../api/switches.ts'
import type { SwitchedAnswer } from '../api/switches.ts'
import { may } from '../core/access.ts'
import { segment } from '../core/path.ts'
import { Problem } from '../core/problem.ts'
import { visible } from '../core/text.ts'
import { deedForm, hiddenFields, undoForm } from './forms.ts'
import type { Page, Surroundings } from './layout.ts'
import { fixed, scheduleOf, scheduleShape, scheduleWords } from './schedule.ts'
import { count, link, nothing, state, table, taskLink, topicLink } from './parts.ts'
import type { Html } from './parts.ts'

const whole = z.coerce.number().int().min(0)
const fields = z.object({
  deed: z.enum(['redrive', 'cancel', 'run-now', 'reschedule', 'purge']),
  topic: z.string().min(1).max(taskLimits.topicLength),
  sequence: whole.optional(),
  state: z.enum(filterStates as [(typeof filterStates)[number], ...(typeof filterStates)[number][]]).optional(),
  identifier: z.string().optional(),
  reference: z.string().optional(),
  reason: z.enum(taskReasons).optional(),
  fingerprint: z.string().max(100).optional(),
  try: whole.min(1).max(1_000).optional(),
  note: z.string().max(taskLimits.noteLength).optional(),
  asOf: z.iso.datetime().optional(),
  to: whole.optional(),
  limit: whole.optional(),
  after: z.string().max(400).optional(),
  ...scheduleShape,
})
type Fields = z.output<typeof fields>

/** What each does, in words of people. */
const words: Readonly<Record<Deed, readonly [title: string, state: string]>> = {
  redrive: ['Redrive', 'ready again'],
  cancel: ['Cancel', 'cancelled'],
  'run-now': ['Run now', 'ready'],
  reschedule: ['Reschedule', 'rescheduled'],
  purge: ['Purge', 'deleted'],
}

/** What would be done: nothing is written yet. */
export async function previewPage(asked: Asked, given: Given, { root }: Surroundings): Promise<Page> {
  const asking = fieldsOf(given)
  checkMay(asked, asking.deed)
  const seen = (await doDeed(asked, { ...toAsked(asking), dryRun: true })) as Previewed
  const [title, becomes] = words[asking.deed]
  const when = asking.deed === 'reschedule' ? fixed(asking, seen.asOf) : {}
  const body = {
    ...asking,
    in: undefined,
    unit: undefined,
    ...when,
    note: undefined,
    asOf: seen.asOf.toISOString(),
    to: seen.to,
    limit: asking.sequence === undefined ? seen.count : undefined,
  }
  return {
    title: `${title} in ${visible(asking.topic, 80)}?`,
    body: html`<section class="box wait" aria-label="What would be done">
        <p class="answer">
          <strong>${count(seen.count, Infinity)}</strong> ${seen.count === 1 ? 'task' : 'tasks'} will be
          ${becomes}${asking.deed === 'purge' ? ', and nothing brings back what is deleted' : ''}${scheduleWords(when)}.
        </p>
        ${Object.keys(seen.states).length === 0 ? '' : html`<p>${Object.entries(seen.states).map(([word, of]) => html`${state(word)} ${count(of, Infinity)} `)}</p>`}
        <p class="note">What changes after this page was made is left alone.</p>
        ${
          seen.count === 0
            ? html`<p>There is nothing to do.</p>`
            : html`<form method="post" action="${root}act">
                ${hiddenFields(body)} <label for="note">note</label
                ><input id="note" name="note" maxlength="${taskLimits.noteLength}" placeholder="why, for the audit" />
                <button class="go">${title} ${count(seen.count, Infinity)}</button>
                ${link(root, `topics/${segment(asking.topic)}`, 'Leave it')}
              </form>`
        }
      </section>
      ${seen.count > 1 && asking.try === undefined && asking.sequence === undefined && asking.deed === 'redrive' ? deedForm(asked, root, { ...asking, try: 1, note: undefined, asOf: undefined }, 'Try the newest one first') : ''}
      <h2>Tasks</h2>
      ${table(
        'The first tasks',
        [
          { name: 'task', cell: (task: Previewed['tasks'][number]) => taskLink(root, task) },
          { name: 'state', cell: ({ state: word }) => state(word) },
        ],
        seen.tasks,
        ({ sequence }) => `seen-${sequence}`,
        'None.',
      )}`,
  }
}

/** Does it, for about a second and a half; what is left is a button further on. */
export async function actPage(asked: Asked, given: Given, { root }: Surroundings): Promise<Page> {
  const asking = fieldsOf(given)
  checkMay(asked, asking.deed)
  const done = (await doDeed(asked, { ...toAsked(asking), dryRun: false })) as Done
  const [title, become] = words[asking.deed]
  const rest = { ...asking, after: JSON.stringify(done.after) }
  return {
    title: `${title} in ${visible(asking.topic, 80)}`,
    body: html`<section class="box ${done.more ? 'busy' : 'good'}" id="done" aria-label="What was done">
        <p class="answer" role="status">
          <strong>${count(done.count, Infinity)}</strong> ${done.count === 1 ? 'task is' : 'tasks are'}
          ${become}${asking.limit === undefined ? '' : ` of ${count(asking.limit, Infinity)}`}.
        </p>
        ${done.more ? html`<form method="post" action="${root}act" data-goes-on>${hiddenFields(rest)}<button class="go">Go on</button></form>` : ''}
        ${done.audit === undefined || asking.deed === 'purge' ? '' : undoForm(root, done.audit)}
      </section>
      ${asking.try === undefined || asking.deed !== 'redrive' ? '' : html`<p>${taskOf(done, asking, root)} Does it work now? Then ${deedForm(asked, root, { ...asking, try: undefined, asOf: undefined, to: undefined, limit: undefined, note: undefined }, 'redrive the rest')}</p>`}
      <p>${topicLink(root, asking.topic)} · ${link(root, `audit?topic=${encodeURIComponent(asking.topic)}`, 'Audit')}</p>`,
  }
}

function taskOf({ last }: Done, { topic }: Fields, root: string): Html {
  return last === undefined ? nothing : taskLink(root, { topic, sequence: last })
}

export async function undoPage(asked: Asked, given: Given, { root }: Surroundings): Promise<Page> {
  const { id } = read(z.object({ id: z.string().min(1).max(60) }), { id: given['id'] ?? [] })
  checkWritable(asked)
  const { action, topic, undone, taken, changed, overtaken, lost, more } = await undoAction(asked, id, false)
  const left = Object.entries({
    'taken by a node since': taken,
    'changed since': changed,
    'overtaken by later tasks': overtaken,
    'had succeeded, and are lost': lost,
  }).filter(([, of]) => of > 0)
  return {
    title: `Undo of ${visible(action, 40)}`,
    body: html`<section class="box good" id="done" aria-label="What was undone">
        <p class="answer" role="status">
          <strong>${count(undone, Infinity)}</strong> undone${left.map(([why, of]) => `, ${of} ${why}`).join('')}.
        </p>
        ${more ? html`<form method="post" action="">${nothing}<button class="go">Go on</button></form>` : ''}
      </section>
      <p>${topic === undefined ? '' : html`${topicLink(root, topic)} · `}${link(root, 'audit', 'Audit')}</p>`,
  }
}

type Switch = (asked: Asked, given: Readonly<Record<string, string>>) => Promise<SwitchedAnswer>

/** What is done at once, by the last part of its path. */
export const switches: Readonly<Record<string, Switch>> = {
  '/topics/:topic/pause': (asked, { topic = '', note }) => setActive(asked, topic, false, note),
  '/topics/:topic/resume': (asked, { topic = '', note }) => setActive(asked, topic, true, note),
  '/nodes/:owner/quiet': (asked, { owner = '', note }) => setQuiet(asked, owner, true, note),
  '/nodes/:owner/unquiet': (asked, { owner = '', note }) => setQuiet(asked, owner, false, note),
  '/timers/:scope/:id/run': (asked, { scope = '', id = '', note }) => doToTimer(asked, { scope, id }, 'run', note),
  '/timers/:scope/:id/pause': (asked, { scope = '', id = '', note }) => doToTimer(asked, { scope, id }, 'pause', note),
  '/timers/:scope/:id/resume': (asked, { scope = '', id = '', note }) => doToTimer(asked, { scope, id }, 'resume', note),
}

export async function switchPage(asked: Asked, given: Given, { root, path }: Surroundings, act: Switch): Promise<Page> {
  checkWritable(asked)
  const texts = Object.entries(given).flatMap(([name, [text = '']]) => (text === '' ? [] : [[name, text]]))
  const { changed, audit } = await act(asked, Object.fromEntries(texts) as Record<string, string>)
  const parts = path.split('/')
  const deed = parts.at(-1)!
  return {
    title: `${deed[0]!.toUpperCase()}${deed.slice(1)}`,
    body: html`<section class="box ${changed ? 'good' : 'off'}" id="done" aria-label="What was done">
        <p class="answer" role="status">${changed ? 'Done.' : 'Nothing has changed: it was so already.'}</p>
        ${audit === undefined || parts[1] === 'nodes' ? '' : undoForm(root, audit)}
      </section>
      <p><a href="${root}${parts.slice(1, -1).join('/')}">Back</a> · ${link(root, 'audit', 'Audit')}</p>`,
  }
}

function checkMay(asked: Asked, deed: Deed): void {
  checkWritable(asked)
  const needed = deed === 'purge' ? 'admin' : 'operator'
  if (!may(asked.access.role, needed))
    throw new Problem('FORBIDDEN', 403, `This needs the role ${needed}, and yours is ${asked.access.role}.`, {
      needed,
      role: asked.access.role,
    })
}

function fieldsOf(given: Given): Fields {
  return read(fields, Object.fromEntries(Object.entries(given).filter(([name]) => name in fields.shape)))
}

function toAsked(given: Fields): Omit<DeedAsked, 'dryRun'> {
  const { state: word, identifier, reference, reason, asOf, after, in: amount, unit, due, priority, ...rest } = given
  return {
    ...rest,
    ...(rest.deed === 'reschedule' && { schedule: scheduleOf({ in: amount, unit, due, priority }) }),
    filter: { states: word === undefined ? undefined : [word], identifier, reference, reason },
    asOf: asOf === undefined ? undefined : new Date(asOf),
    after: after === undefined ? undefined : cursorOf(after),
  }
}

const cursor = z.strictObject({ id: z.string(), portions: z.int(), from: z.int().optional(), done: z.int() })

function cursorOf(text: string): DeedAsked['after'] {
  const wrong = new Problem('ARGUMENT_INVALID', 400, 'This page cannot be gone on from.', { argument: 'after' })
  try {
    const { from, ...rest } = cursor.parse(JSON.parse(text))
    return { ...rest, ...(from !== undefined && { from }) }
  } catch {
    throw wrong
  }
}
