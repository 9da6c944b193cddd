/** What fails: kinds of errors, and one of them. */
import type { ErrorGroup } from '@taskstream/task-api'
import { html } from 'hono/html'
import * as z from 'zod'
import { topicFilter } from '../api/parameters.ts'
import { readError, readErrors } from '../api/errors.ts'
import { readTopic } from '../api/topics.ts'
import { read } from '../api/route.ts'
import type { Asked, Given } from '../api/route.ts'
import { segment } from '../core/path.ts'
import { visible } from '../core/text.ts'
import { deedForm, switchForm } from './forms.ts'
import type { Page, Surroundings } from './layout.ts'
import { bounds, command, count, facts, link, table, taskLink, text, time, topicLink } from './parts.ts'
import type { Column, Html } from './parts.ts'

export async function errorsPage(asked: Asked, given: Given, { root }: Surroundings): Promise<Page> {
  const { topic } = read(z.object({ topic: topicFilter }), { topic: given['topic'] ?? [] })
  const { errors, bounded } = await readErrors(asked, { topic })
  const columns: readonly Column<ErrorGroup>[] = [
    {
      name: 'error',
      isWords: true,
      cell: ({ error, fingerprint, topic: of }) =>
        link(root, `errors/${segment(fingerprint)}?topic=${encodeURIComponent(of)}`, text(error, 200)),
    },
    { name: 'times', isNumber: true, cell: (group) => count(group.count, 5_000) },
    { name: 'open', isNumber: true, cell: ({ open }) => count(open, 5_000) },
    { name: 'pending', isNumber: true, cell: ({ pending }) => count(pending, 5_000) },
    { name: 'last', cell: ({ last }) => time(last) },
    { name: 'first', cell: ({ first }) => time(first) },
    { name: 'first in', cell: ({ firstRelease }) => text(firstRelease, 40) },
    { name: 'topic', cell: ({ topic: of }) => topicLink(root, of) },
  ]
  return {
    title: topic === undefined ? 'Errors' : `Errors of ${visible(topic, 80)}`,
    json: `errors${topic === undefined ? '' : `?topic=${encodeURIComponent(topic)}`}`,
    body: html`${topic === undefined ? '' : html`<p>${link(root, 'errors', 'Errors of every topic')}</p>`}
      ${topic === undefined ? '' : html`<div class="deeds">${await pauseForm(asked, topic, root)}</div>`}
      ${table('Errors, by topic, the most frequent first', columns, errors, ({ topic: of, fingerprint }) => `error-${segment(of)}-${segment(fingerprint)}`, 'No failed attempt is kept.')}
      <p class="note">
        Of each topic the newest 5,000 failed attempts are counted; they are kept for 14 days, unless your nodes say otherwise.
      </p>
      ${bounds(bounded)}`,
  }
}

export async function errorPage(asked: Asked, given: Given, { root }: Surroundings): Promise<Page> {
  const { topic, fingerprint } = read(z.object({ topic: topicFilter, fingerprint: z.string().max(100) }), {
    topic: given['topic'] ?? [],
    fingerprint: given['fingerprint'] ?? [],
  })
  const { errors } = await readError(asked, { topic, fingerprint })
  const [first] = errors
  const pauses = new Map<string, Html>()
  for (const { topic: of } of errors) pauses.set(of, await pauseForm(asked, of, root))
  return {
    title: visible(first?.error ?? fingerprint, 200),
    json: `errors/${segment(fingerprint)}`,
    body: html`${errors.map(
      (group) =>
        html`<section class="box ${group.open > 0 ? 'bad' : 'off'}" id="in-${segment(group.topic)}">
          <h2>In ${topicLink(root, group.topic)}</h2>
          ${facts([
            ['times', count(group.count, 5_000)],
            ['tasks that are failed by it still', count(group.open, 5_000)],
            ['attempts whose tasks are still to be done', count(group.pending, 5_000)],
            ['first', time(group.first)],
            ['first in release', group.firstRelease === undefined ? undefined : text(group.firstRelease)],
            ['last', time(group.last)],
            ['releases', text(group.releases.join(', '))],
            ['the last task', taskLink(root, { topic: group.topic, sequence: group.lastSequence })],
          ])}
          <div class="deeds">
            ${group.open > 0 ? html`${deedForm(asked, root, { deed: 'redrive', topic: group.topic, fingerprint, try: 1 }, 'Try one…')}${deedForm(asked, root, { deed: 'redrive', topic: group.topic, fingerprint }, `Redrive ${count(group.open, 5_000)}…`)}` : ''}${pauses.get(group.topic)}
          </div>
          ${group.open > 0 ? html`<p>Try one: ${command(redriveOf(group, ' --try 1'))} and then the rest: ${command(redriveOf(group, ''))}</p>` : ''}
          <p>${link(root, `topics/${segment(group.topic)}?state=failed`, 'Failed tasks of the topic')}</p>
        </section>`,
    )}`,
  }
}

/** Until the cause is mended, nothing calls what does not answer. */
async function pauseForm(asked: Asked, topic: string, root: string): Promise<Html> {
  const { paused } = await readTopic(asked, { topic })
  const action = `${root}topics/${segment(topic)}/${paused ? 'resume' : 'pause'}`
  return switchForm(asked, action, paused ? 'Resume the topic' : 'Pause the topic', !paused)
}

function redriveOf({ topic, fingerprint }: ErrorGroup, rest: string): string {
  const name = /^[\w./:@-]+$/.test(topic) ? topic : `'${topic.replaceAll("'", String.raw`'\''`)}'`
  return `taskstream redrive ${name} --error ${fingerprint}${rest}`
}
