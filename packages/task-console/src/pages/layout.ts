/** What is around every page. */
import { html } from 'hono/html'
import type { Access } from '../core/access.ts'
import type { Preferences } from '../core/preferences.ts'
import { clientScript, styleSheet } from './assets.ts'
import type { Html } from './parts.ts'

/** Where a page stands, and for whom it is. */
export interface Surroundings {
  /** The path of the page within the console. */
  readonly path: string
  /** The query with its question mark, or nothing. */
  readonly query: string
  /** The way from the page to the first one: links are relative, so that a proxy in front may change the path. */
  readonly root: string
  readonly here: string
  readonly environment: string | undefined
  readonly access: Access | undefined
  readonly preferences: Preferences
  /** Addresses with places for what is looked for. */
  readonly traceUrl: string | undefined
  readonly logsUrl: string | undefined
}

export interface Page {
  readonly title: string
  /** The route of the API that has the same, as a relative path. */
  readonly json?: string
  readonly body: Html
}

const places = [
  ['', 'Topics', 't'],
  ['errors', 'Errors', 'e'],
  ['next', 'Next', 'n'],
  ['nodes', 'Nodes', 'o'],
  ['timers', 'Timers', 'i'],
  ['changes', 'Changes', 'c'],
  ['health', 'Health', 'h'],
  ['audit', 'Audit', 'a'],
] as const

export function layout({ title, json, body }: Page, surroundings: Surroundings): Html {
  const { root, path, environment, access, query, preferences } = surroundings
  const place = path.split('/')[1] ?? ''
  const isHere = (name: string): boolean => name === place || (name === '' && place === 'topics')
  const q = place === 'find' ? (new URLSearchParams(query).get('q') ?? '') : ''
  return html`<!doctype html>
    <html lang="en" data-theme="${preferences.theme}">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${title} · taskstream${environment === undefined ? '' : ` · ${environment}`}</title>
        <link rel="icon" href="data:," />
        <link rel="stylesheet" href="${root}assets/${styleSheet.name}" />
        <script type="module" src="${root}assets/${clientScript.name}"></script>
      </head>
      <body data-root="${root}">
        <a class="skip" href="#main">Skip to the page</a>
        <header>
          <a class="brand" href="${root}">taskstream</a>
          ${environment === undefined ? '' : html`<strong class="environment">${environment}</strong>`}
          <nav aria-label="Pages">
            ${places.map(([name, words, key]) => html`<a href="${root}${name}" data-key="${key}" ${isHere(name) ? html` aria-current="page"` : ''}>${words}</a>`)}
          </nav>
          <form role="search" action="${root}find" method="get">
            <label for="q">Find</label
            ><input id="q" name="q" type="search" maxlength="600" placeholder="topic, id, @4711" value="${q}" /><button>
              Find
            </button>
          </form>
        </header>
        <main id="main" tabindex="-1">
          <h1>${title}</h1>
          ${body}
        </main>
        <footer>
          <p id="live" hidden></p>
          ${access === undefined ? '' : html`<p>${access.name} · ${access.role}</p>`}
          <p>
            <a href="${root}settings?back=${encodeURIComponent(place === 'settings' ? '' : path.slice(1) + query)}" data-key="s"
              >Settings</a
            >
          </p>
          ${json === undefined ? '' : html`<p><a href="${root}api/v1/${json}">This page as JSON</a></p>`}
        </footer>
      </body>
    </html>`
}
