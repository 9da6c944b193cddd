/** The form that pushes a task, what it would do, and what it did. */
import { taskLimits } from '@taskstream/task-api'
import type { TaskCreation } from '@taskstream/task-api'
import { html } from 'hono/html'
import * as z from 'zod'
import { checkWritable } from '../api/actions.ts'
import { topicParameter } from '../api/parameters.ts'
import { pushTasks } from '../api/push.ts'
import { read } from '../api/route.ts'
import type { Asked, Given } from '../api/route.ts'
import { readTopic } from '../api/topics.ts'
import { segment } from '../core/path.ts'
import { visible } from '../core/text.ts'
import { hiddenFields, undoForm } from './forms.ts'
import type { Page, Surroundings } from './layout.ts'
import { facts, lines, link, taskLink, text, topicLink } from './parts.ts'
import type { Html } from './parts.ts'
import { delayOf, scheduleFields, scheduleShape, scheduleWords } from './schedule.ts'

const fields = z.object({
  topic: topicParameter,
  identifier: z.string().max(taskLimits.identifierLength),
  input: z.string().optional(),
  reference: z.string().max(taskLimits.referenceLength).optional(),
  externalId: z.string().max(taskLimits.externalIdLength).optional(),
  maxTries: z.coerce.number().int().min(1).max(taskLimits.tries).optional(),
  note: z.string().max(taskLimits.noteLength).optional(),
  /** Absent: what would be done is shown. */
  sure: z.literal('yes').optional(),
  ...scheduleShape,
})
type Fields = z.output<typeof fields>

/** The form. */
export async function pushFormPage(asked: Asked, given: Given, { root }: Surroundings): Promise<Page> {
  checkWritable(asked)
  const { topic } = read(z.object({ topic: topicParameter }), { topic: given['topic'] ?? [] })
  await readTopic(asked, { topic })
  return {
    title: `Push a task to ${visible(topic, 80)}`,
    body: html`<form class="long" method="post" action="${root}topics/${segment(topic)}/push" data-still>
      <label>identifier <input name="identifier" required maxlength="${taskLimits.identifierLength}" /></label>
      <label>input <textarea name="input" rows="6"></textarea></label>
      <label>reference <input name="reference" maxlength="${taskLimits.referenceLength}" /></label>
      <label>external id <input name="externalId" maxlength="${taskLimits.externalIdLength}" /></label>
      ${scheduleFields()}
      <label>most tries <input name="maxTries" type="number" min="1" max="${taskLimits.tries}" /></label>
      <button class="go">Push…</button> ${link(root, `topics/${segment(topic)}`, 'Leave it')}
    </form>`,
  }
}

/** What would be pushed, or, if somebody is sure, what was. */
export async function pushPage(asked: Asked, given: Given, { root }: Surroundings): Promise<Page> {
  checkWritable(asked)
  const asking = read(fields, Object.fromEntries(Object.entries(given).filter(([name]) => name in fields.shape)))
  return asking.sure === undefined ? previewOf(asked, asking, root) : doneOf(asked, asking, root)
}

async function previewOf(asked: Asked, asking: Fields, root: string): Promise<Page> {
  const { topic, identifier, note: _note, ...rest } = asking
  const { tasks } = await pushTasks(asked, topic, [creationOf(asking)], { dryRun: true })
  const [task] = tasks
  const there = task?.outcome === 'duplicate' ? task.sequence : undefined
  return {
    title: `Push to ${visible(topic, 80)}?`,
    body: html`<section class="box wait" data-still aria-label="What would be done">
      ${
        there === undefined
          ? html`<p class="answer"><strong>1</strong> task will be pushed: ${text(identifier, 120)}${scheduleWords(asking)}.</p>`
          : html`<p class="answer">
              A task with this external id is there already: ${taskLink(root, { topic, identifier, sequence: there })}. Nothing
              will be pushed.
            </p>`
      }
      ${facts([
        ['reference', text(asking.reference)],
        ['external id', text(asking.externalId)],
        ['most tries', asking.maxTries === undefined ? undefined : String(asking.maxTries)],
      ])}
      ${inputOf(asking)}
      ${
        there === undefined
          ? html`<form method="post" action="${root}topics/${segment(topic)}/push">
              ${hiddenFields({ identifier, ...rest, sure: 'yes' })} <label for="note">note</label
              ><input id="note" name="note" maxlength="${taskLimits.noteLength}" placeholder="why, for the audit" />
              <button class="go">Push 1</button> ${link(root, `topics/${segment(topic)}`, 'Leave it')}
            </form>`
          : ''
      }
    </section>`,
  }
}

function inputOf({ input }: Fields): Html {
  if (input === undefined) return html`<p>It has no input.</p>`
  return html`<p>input${isJson(input) ? '' : html`, <strong>which is no JSON</strong>`}:</p>
    ${lines(input)}`
}

async function doneOf(asked: Asked, asking: Fields, root: string): Promise<Page> {
  const { topic, note } = asking
  const { tasks, audit } = await pushTasks(asked, topic, [creationOf(asking)], { dryRun: false, note })
  return {
    title: `Push to ${visible(topic, 80)}`,
    body: html`<section class="box ${audit === undefined ? 'off' : 'good'}" id="done" aria-label="What was done">
        <p class="answer" role="status">
          ${audit === undefined ? 'Nothing was pushed: a task with this external id is there already' : '1 task is pushed'}.
        </p>
        ${audit === undefined ? '' : undoForm(root, audit)}
      </section>
      <ul>
        ${tasks.map(({ sequence = 0, ...task }) => html`<li>${taskLink(root, { ...task, sequence })}</li>`)}
      </ul>
      <p>${topicLink(root, topic)} · ${link(root, `audit?topic=${encodeURIComponent(topic)}`, 'Audit')}</p>`,
  }
}

function creationOf({ identifier, input, reference, externalId, maxTries, priority, due, ...delay }: Fields): TaskCreation {
  const delayMs = delayOf(delay)
  return {
    identifier,
    // A form ends lines as HTTP does.
    ...(input !== undefined && { input: input.replaceAll('\r\n', '\n') }),
    ...(reference !== undefined && { reference }),
    ...(externalId !== undefined && { externalId }),
    ...(maxTries !== undefined && { maxTries }),
    ...(priority !== undefined && { priority }),
    ...(due === undefined ? delayMs !== undefined && { delayMs } : { due: new Date(due) }),
  }
}

function isJson(value: string): boolean {
  try {
    JSON.parse(value)
    return true
  } catch {
    return false
  }
}
