/** How the pages look: a form that sets a cookie. It writes nothing to the database, so every role may. */
import { html } from 'hono/html'
import * as z from 'zod'
import { read } from '../api/route.ts'
import type { Asked, Given } from '../api/route.ts'
import { preferenceCookie, preferenceFields, themes, timeStyles, zoneOf } from '../core/preferences.ts'
import type { Page, Surroundings } from './layout.ts'
import type { Html } from './parts.ts'

/** Where somebody came from, within the console. */
const back = z.string().max(4_000).default('')

const words = {
  system: 'as the system has it',
  light: 'light',
  dark: 'dark',
  ago: 'how long ago',
  utc: 'UTC',
  local: 'local',
} as const

export async function settingsPage(_asked: Asked, given: Given, { preferences }: Surroundings): Promise<Page> {
  const from = read(z.object({ back }), { back: given['back'] ?? [] })
  const { theme, times, zone } = preferences
  return {
    title: 'Settings',
    body: html`<form class="long" method="post" action="settings" data-still>
      <input type="hidden" name="back" value="${from.back}" />
      ${choice('theme', 'Colours', themes, theme)} ${choice('times', 'Times', timeStyles, times)}
      <label for="zone">Local is</label
      ><select id="zone" name="zone">
        <option value="">where the console runs (${zoneOf({})})</option>
        ${zonesWith(zone).map((each) => html`<option value="${each}" ${each === zone ? html` selected` : ''}>${each}</option>`)}
      </select>
      <button class="go">Save</button>
    </form>`,
  }
}

function choice<Value extends keyof typeof words>(name: string, legend: string, values: readonly Value[], chosen: Value): Html {
  return html`<fieldset>
    <legend>${legend}</legend>
    ${values.map((value) => html`<label><input type="radio" name="${name}" value="${value}" ${value === chosen ? html` checked` : ''} /> ${words[value]}</label>`)}
  </fieldset>`
}

/** A zone may have another name than the list has for it. */
function zonesWith(chosen: string | undefined): readonly string[] {
  return [...new Set([...(chosen === undefined ? [] : [chosen]), 'UTC', ...Intl.supportedValuesOf('timeZone')])]
}

/** @returns the cookie, and where to go on */
export function savedSettings(given: Given): { readonly cookie: string; readonly location: string } {
  const fields = preferenceFields.extend({ back })
  const { back: from, ...preferences } = read(
    fields,
    Object.fromEntries(Object.entries(given).filter(([name]) => name in fields.shape)),
  )
  return { cookie: preferenceCookie(preferences), location: `./${isWithin(from) ? from : ''}` }
}

/** Whether it is a path below the console's. */
function isWithin(path: string): boolean {
  return /^[\w~%.!*'()?&=:@+,;/-]*$/.test(path) && !/(^|\/)(\.|%2e){2}(\/|$|\?)/i.test(path)
}
