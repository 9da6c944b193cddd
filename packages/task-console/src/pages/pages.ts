/** The table of pages. Each shows what routes of the API answer, and nothing else. */
import { html } from 'hono/html'
import type { Asked, Given } from '../api/route.ts'
import type { Role } from '../core/access.ts'
import { preferring } from '../core/preferences.ts'
import type { ProblemAnswer } from '../core/problem.ts'
import { visible } from '../core/text.ts'
import { actPage, previewPage, switches, switchPage, undoPage } from './act.ts'
import { errorPage, errorsPage } from './errors.ts'
import { layout } from './layout.ts'
import type { Page, Surroundings } from './layout.ts'
import { auditPage, changesPage, findPage, healthPage, nextPage, timerPage, timersPage } from './lists.ts'
import { nodePage, nodesPage } from './nodes.ts'
import { command } from './parts.ts'
import type { Html } from './parts.ts'
import { pushFormPage, pushPage } from './push.ts'
import { settingsPage } from './settings.ts'
import { taskPage } from './task.ts'
import { topicPage, topicsPage } from './topics.ts'

interface PageRoute {
  readonly method: 'GET' | 'POST'
  readonly path: string
  /** The least role that may look. */
  readonly role: Role
  view(asked: Asked, given: Given, surroundings: Surroundings): Promise<Html>
}

type View = (asked: Asked, given: Given, surroundings: Surroundings) => Promise<Page>

const views: Readonly<Record<string, View>> = {
  '/': topicsPage,
  '/topics/:topic': topicPage,
  '/topics/:topic/tasks/:ref': taskPage,
  '/errors': errorsPage,
  '/errors/:fingerprint': errorPage,
  '/next': nextPage,
  '/nodes': nodesPage,
  '/nodes/:owner': nodePage,
  '/timers': timersPage,
  '/timers/:scope/:id': timerPage,
  '/changes': changesPage,
  '/health': healthPage,
  '/audit': auditPage,
  '/find': findPage,
  '/settings': settingsPage,
}

/** Pages that change something, and the one that shows what would be changed. */
const acts: readonly (readonly [method: PageRoute['method'], path: string, view: View])[] = [
  ['GET', '/act', previewPage],
  ['POST', '/act', actPage],
  ['POST', '/audit/:id/undo', undoPage],
  ['GET', '/topics/:topic/push', pushFormPage],
  ['POST', '/topics/:topic/push', pushPage],
  ...Object.entries(switches).map(
    ([path, act]) =>
      ['POST', path, (asked, given, surroundings) => switchPage(asked, given, surroundings, act)] as const satisfies readonly [
        string,
        string,
        View,
      ],
  ),
]

export const pages: readonly PageRoute[] = [
  ...Object.entries(views).map(([path, view]) => toRoute('GET', path, 'viewer', view)),
  ...acts.map(([method, path, view]) => toRoute(method, path, 'operator', view)),
]

function toRoute(method: PageRoute['method'], path: string, role: Role, view: View): PageRoute {
  return {
    method,
    path,
    role,
    view: (asked, given, surroundings) =>
      preferring(surroundings.preferences, async () => layout(await view(asked, given, surroundings), surroundings)),
  }
}

/** The page of a problem. */
export function problemPage({ title, detail, suggestion, code }: ProblemAnswer, surroundings: Surroundings): Html {
  return layout(
    {
      title,
      body: html`<section class="box bad" aria-label="Problem">
        <p class="answer">${visible(detail, 1_000)}</p>
        <p class="note">${code}</p>
        ${suggestion === undefined ? '' : html`<p>Perhaps: ${command(suggestion)}</p>`}
      </section>`,
    },
    surroundings,
  )
}
