/** What pages are made of. Every text of the database goes through `text` or `time`, and `html` escapes all of it. */
import { html } from 'hono/html'
import type { HtmlEscapedString } from 'hono/utils/html'
import { segment, taskPath } from '../core/path.ts'
import { preferredInstant } from '../core/preferences.ts'
import { roughly, visible, visibleLines } from '../core/text.ts'

export type Html = HtmlEscapedString | Promise<HtmlEscapedString>

/** Nothing at all. */
export const nothing: Html = html``

/** A text of the database. Its direction does not turn its surroundings. */
export function text(value: string | undefined, most?: number): Html {
  return value === undefined ? nothing : html`<bdi>${visible(value, most)}</bdi>`
}

export function lines(value: string): Html {
  return html`<pre tabindex="0">${visibleLines(value)}</pre>`
}

/** How long ago something was, or in how long it is to be; or the instant, if that is preferred. */
export function time(at: Date | undefined, now: number = Date.now()): Html {
  if (!at || Number.isNaN(at.getTime())) return nothing
  const ms = now - at.getTime()
  const words = ms >= 0 ? `${roughly(ms)} ago` : `in ${roughly(-ms)}`
  const iso = at.toISOString()
  const utc = iso.replace('T', ' ').replace('Z', ' UTC')
  const preferred = preferredInstant(at)
  return html`<time datetime="${iso}" title="${preferred === undefined ? utc : `${words}, ${utc}`}">${preferred ?? words}</time>`
}

/** A count that stops somewhere. */
export function count(value: number, most = 1_000): string {
  return value >= most ? `${most.toLocaleString('en')}+` : value.toLocaleString('en')
}

/** A state has a shape, a word and a colour: two of them are enough for everybody. */
const marks: Readonly<Record<string, readonly [shape: string, kind: 'good' | 'busy' | 'wait' | 'bad' | 'off']>> = {
  ready: ['○', 'wait'],
  active: ['▶', 'busy'],
  delayed: ['◔', 'wait'],
  blocked: ['◔', 'wait'],
  suspended: ['‖', 'off'],
  expired: ['✖', 'bad'],
  failed: ['✖', 'bad'],
  filtered: ['⊘', 'off'],
  succeeded: ['✔', 'good'],
  recreated: ['↻', 'off'],
  redundant: ['⊘', 'off'],
  running: ['●', 'good'],
  paused: ['‖', 'off'],
  unattended: ['◌', 'off'],
  unknown: ['◌', 'off'],
  living: ['●', 'good'],
  silent: ['◔', 'wait'],
  dead: ['✖', 'bad'],
  stopped: ['◌', 'off'],
  quiet: ['‖', 'off'],
  ended: ['✔', 'off'],
  ok: ['✔', 'good'],
  notice: ['○', 'wait'],
  warn: ['▲', 'wait'],
  crit: ['✖', 'bad'],
  skipped: ['◌', 'off'],
  retried: ['↻', 'wait'],
  timeout: ['✖', 'bad'],
  lost: ['✖', 'bad'],
}

export function state(word: string): Html {
  const [shape, kind] = marks[word] ?? ['○', 'off']
  return html`<span class="state ${kind}"><span aria-hidden="true">${shape}</span> ${word}</span>`
}

export interface Column<Row> {
  readonly name: string
  /** Whether it has numbers, which stand at the right. */
  readonly isNumber?: boolean
  /** Whether it has sentences, which need room. */
  readonly isWords?: boolean
  readonly cell: (row: Row) => Html | string
}

/** A table that scrolls by itself where it is too wide. A column that is empty is left out. A row has an id, so that a page that is renewed keeps it. */
export function table<Row>(
  caption: string,
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  idOf: (row: Row) => string,
  empty: Html | string,
): Html {
  if (rows.length === 0) return html`<p class="empty">${empty}</p>`
  const cells = rows.map((row) => columns.map(({ cell }) => cell(row)))
  const shown = columns.flatMap((column, index) =>
    index === 0 || cells.some((of) => of[index] !== '' && of[index] !== nothing) ? [{ ...column, index }] : [],
  )
  const kind = ({ isNumber, isWords }: Column<Row>): string => (isNumber ? 'number' : isWords ? 'words' : '')
  return html`<div class="scroll" role="region" aria-label="${caption}" tabindex="0">
    <table>
      <caption>
        ${caption}
      </caption>
      <thead>
        <tr>
          ${shown.map((column) => html`<th scope="col" class="${kind(column)}">${column.name}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          (row, at) =>
            html`<tr id="${idOf(row)}">
              ${shown.map((column) => {
                const value = cells[at]![column.index]!
                return column.index === 0
                  ? html`<th scope="row" class="${kind(column)}">${value}</th>`
                  : html`<td class="${kind(column)}">${value}</td>`
              })}
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`
}

/** Facts with their names; those that are not there are left out. */
export function facts(pairs: readonly (readonly [string, Html | string | undefined])[]): Html {
  const there = pairs.filter(([, value]) => value !== undefined && value !== nothing && value !== '')
  return html`<dl>
    ${there.map(
      ([name, value]) =>
        html`<div>
          <dt>${name}</dt>
          <dd>${value}</dd>
        </div>`,
    )}
  </dl>`
}

export function link(root: string, path: string, words: Html | string): Html {
  return html`<a href="${root}${path}">${words}</a>`
}

export function topicLink(root: string, topic: string): Html {
  return link(root, `topics/${segment(topic)}`, text(topic))
}

export function taskLink(
  root: string,
  task: { readonly topic: string; readonly sequence: number; readonly identifier?: string },
): Html {
  return link(root, taskPath(task), html`${text(task.identifier ?? '', 80)} @${task.sequence}`)
}

/** A command to be copied. Nobody has run it. */
export function command(words: string): Html {
  return html`<code class="command">${visible(words, 500)}</code>`
}

export function bounds({ by, reached }: { readonly by: string; readonly reached: boolean }): Html {
  return reached ? html`<p class="note">There is more: this stops at ${by}.</p>` : nothing
}
