/** Why a task is not running: the first box of its page. */
import { html } from 'hono/html'
import type { WhyAnswer } from '../api/tasks.ts'
import { command, text } from './parts.ts'
import type { Html } from './parts.ts'

const good: ReadonlySet<string> = new Set(['succeeded', 'running', 'next'])
const bad: ReadonlySet<string> = new Set([
  'failed',
  'expired',
  'owner-dead',
  'stuck',
  'unexplained',
  'no-node',
  'node-silent',
  'node-failing',
  'overdue',
])

export function whyBox({ code, answer, more, commands }: WhyAnswer, title: string): Html {
  const kind = good.has(code) ? 'good' : bad.has(code) ? 'bad' : 'wait'
  return html`<section class="box ${kind}" id="why" aria-labelledby="why-title">
    <h2 id="why-title">${title}</h2>
    <p class="answer"><strong>${code}</strong>: ${text(answer, 1_000)}</p>
    ${
      more.length === 0
        ? ''
        : html`<ul>
            ${more.map((line) => html`<li>${text(line, 1_000)}</li>`)}
          </ul>`
    }
    ${commands.length === 0 ? '' : html`<p>What helps: ${commands.map((words, index) => html`${index === 0 ? '' : ' or '}${command(words)}`)}</p>`}
  </section>`
}
