/** Forms that lead to what changes something. Whoever may not do it is shown none. */
import { taskLimits } from '@taskstream/task-api'
import { html } from 'hono/html'
import type { Deed } from '../api/actions.ts'
import type { Asked } from '../api/route.ts'
import { may } from '../core/access.ts'
import { segment } from '../core/path.ts'
import { nothing } from './parts.ts'
import type { Html } from './parts.ts'

/** Whether somebody is offered what changes something. */
export function mayAct({ access, readOnly }: Asked, needed: 'operator' | 'admin' = 'operator'): boolean {
  return !readOnly && may(access.role, needed)
}

/** A button that leads to what would be done. */
export function deedForm(
  asked: Asked,
  root: string,
  given: { readonly deed: Deed; readonly [name: string]: string | number | undefined },
  label: string,
): Html {
  if (!mayAct(asked, given.deed === 'purge' ? 'admin' : 'operator')) return nothing
  return html`<form class="act" method="get" action="${root}act" data-deed="${given.deed}">
    ${hiddenFields(given)}<button>${label}</button>
  </form>`
}

export function hiddenFields(given: Readonly<Record<string, string | number | undefined>>): Html {
  const there = Object.entries(given).filter(([, value]) => value !== undefined && value !== '')
  return html`${there.map(([name, value]) => html`<input type="hidden" name="${name}" value="${String(value)}" />`)}`
}

export function undoForm(root: string, id: string): Html {
  return html`<form class="act" method="post" action="${root}audit/${segment(id)}/undo"><button>Undo</button></form>`
}

/** A form for something that is done at once, and undone by one more click. */
export function switchForm(asked: Asked, action: string, label: string, withNote = false): Html {
  if (!mayAct(asked)) return nothing
  const note = html`<label>note <input name="note" maxlength="${taskLimits.noteLength}" placeholder="why" /></label>`
  return html`<form class="act" method="post" action="${action}">${withNote ? note : ''}<button>${label}</button></form>`
}
