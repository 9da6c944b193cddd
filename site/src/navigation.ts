/** The navigation of the site, made from the files that are there. A new page needs no line here: its folder says where it goes. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export interface Entry {
  readonly text: string
  readonly link?: string
  readonly collapsed?: boolean
  readonly items?: readonly Entry[]
}

interface Group {
  readonly text: string
  /** Pages without `.md`, in their order. One that ends with `*` stands for the other pages of a folder, by their titles, and with `**` for those of its folders too. */
  readonly pages: readonly string[]
  readonly open?: boolean
}

const groups: readonly Group[] = [
  {
    text: 'Start here',
    open: true,
    pages: [
      'index',
      'start/sqlite',
      'start/pg',
      'start/postgres-js',
      'start/prisma',
      'start/drizzle',
      'start/knex',
      'start/typeorm',
      'start/mariadb',
      'start/*',
      'quick-start',
    ],
  },
  {
    text: 'Write',
    open: true,
    pages: [
      'guides/jobs',
      'guides/retries',
      'guides/exactly-once',
      'guides/limits',
      'guides/needs',
      'guides/signed',
      'guides/external-handlers',
      'guides/testing',
      'guides/topics',
      'guides/handlers',
      'guides/pipelines',
      'guides/periodic-tasks',
      'guides/timers',
      'guides/clock-jobs',
      'guides/coordination',
      'guides/*',
    ],
  },
  { text: 'Recipes', pages: ['recipes/index', 'recipes/*'] },
  {
    text: 'Operate',
    pages: [
      'operations',
      'guides/deploy',
      'guides/command-line',
      'guides/console',
      'guides/operators',
      'guides/doctor',
      'guides/telemetry',
      'guides/http-api',
      'guides/nodes',
      'guides/shutting-down',
      'guides/timeouts',
      'guides/clocks',
      'guides/postgres-in-production',
      'guides/grants',
      'guides/backup',
    ],
  },
  {
    text: 'Databases and drivers',
    pages: ['guides/engines', 'guides/drivers', 'guides/drivers/*', 'guides/moving', 'guides/own-adapter'],
  },
  {
    text: 'Coming from elsewhere',
    pages: [
      'coming-from/index',
      'coming-from/*',
      'guides/tasklib',
      'guides/asyncjobs',
      'reference/tasklib',
      'reference/asyncjobs',
      'reference/warm-backup',
    ],
  },
  { text: 'Comparisons', pages: ['comparisons/index', 'comparisons/*'] },
  { text: 'Reference', pages: ['api/index', 'reference/*', 'api/taskstream', 'api/taskstream/*', 'api/@taskstream/**'] },
  { text: 'Promises and figures', pages: ['guarantees', 'reliability', 'performance', 'pressure', 'mutation-testing', '*'] },
  { text: 'Decisions', pages: ['decisions/*'] },
]

/** What a page begins with: its heading of the first level, without marks, and without what all pages of its group begin with. */
function titleOf(file: string): string {
  const heading = /^# (.+)$/m.exec(readFileSync(file, 'utf8'))?.[1]
  if (heading === undefined) throw new Error(`${file} has no title: begin it with a line such as "# Jobs"`)
  return heading.replaceAll(/[`*\\]/g, '').replace(/^Start with /, '')
}

const matches = (page: string, pattern: string): boolean => {
  const folder = pattern.replace(/\*+$/, '')
  return page.startsWith(folder) && (pattern.endsWith('**') || !page.slice(folder.length).includes('/'))
}

/**
 * @param folder where the pages are, as files `.md`
 * @throws Error for a page without a title
 */
export function navigationOf(folder: string): Entry[] {
  const pages = globSync('**/*.md', { cwd: folder }).map((path) => path.replaceAll('\\', '/').slice(0, -3))
  const titles = new Map(pages.map((page) => [page, titleOf(join(folder, `${page}.md`))]))
  const named = new Set(groups.flatMap((group) => group.pages))
  const left = new Set(pages.filter((page) => !named.has(page) && page !== 'glossary'))
  const entry = (page: string): Entry => ({
    text: page === 'index' ? 'What it is' : titles.get(page)!,
    link: `/${page.replace(/(^|\/)index$/, '$1')}`,
  })
  const takenBy = (pattern: string): string[] => {
    if (!pattern.endsWith('*')) return titles.has(pattern) ? [pattern] : []
    const found = [...left].filter((page) => matches(page, pattern))
    for (const page of found) left.delete(page)
    return found.toSorted((one, other) => titles.get(one)!.localeCompare(titles.get(other)!, 'en'))
  }
  const sidebar: Entry[] = groups.map(({ text, pages, open }) => ({
    text,
    collapsed: open !== true,
    items: pages.flatMap((pattern) => takenBy(pattern)).map((page) => entry(page)),
  }))
  // A folder that nobody has named yet is a group by its own name.
  for (const page of [...left].toSorted()) {
    const name = page.split('/')[0]!
    const text = name[0]!.toUpperCase() + name.slice(1).replaceAll('-', ' ')
    const group = sidebar.find((group) => group.text === text) ?? { text, collapsed: true, items: [] }
    if (!sidebar.includes(group)) sidebar.push(group)
    ;(group.items as Entry[]).push(entry(page))
  }
  return [...sidebar.filter(({ items }) => items!.length > 0), ...(titles.has('glossary') ? [entry('glossary')] : [])]
}
