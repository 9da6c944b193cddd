/** The documentation site as people read it: built as `npm run docs` builds it, and looked at in a real browser. */
import { execFile } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { built, root, site } from '../../site/src/places.ts'
import { serve } from '../../site/src/serve.ts'
import type { Served } from '../../site/src/serve.ts'
import { hasChromium, openChromium } from '../e2e/chromium.ts'
import { wrongWith } from '../e2e/incident-console.ts'

/** A folder for pictures, to look at. */
const pictures = process.env['TASKSTREAM_PICTURES']

/** A page of each kind: the first one, a first program, prose with tables and code, charts, and what is made of sources. */
const looked: Readonly<Record<string, string>> = {
  first: '/',
  start: '/start/prisma.html',
  jobs: '/guides/jobs.html',
  performance: '/performance.html',
  reference: '/api/taskstream/pg.html',
}

/** What a page has of links: the names that others may lead to, and where its own lead. */
interface Linked {
  readonly path: string
  readonly ids: readonly string[]
  readonly links: readonly string[]
  readonly loaded: readonly string[]
}

/** Reads pages in the browser, by its own parser. It is a text, as the browser has names that are not here. */
const read = `async (paths) => Promise.all(paths.map(async (path) => {
  const page = new DOMParser().parseFromString(await (await fetch(path)).text(), 'text/html')
  const of = (selector, name) => [...page.querySelectorAll(selector)].map((element) => element.getAttribute(name))
  return { path, ids: of('[id]', 'id'), links: of('a[href]', 'href'), loaded: [...of('[src]', 'src'), ...of('link[href]', 'href')] }
}))`

describe.skipIf(!hasChromium)('the documentation site', () => {
  let [browser, served]: [Browser?, Served?] = []
  beforeAll(async () => {
    const started = performance.now()
    await promisify(execFile)('npm', ['run', '--silent', 'docs'], { cwd: root, maxBuffer: 2 ** 26 })
    console.log(`the site was built in ${((performance.now() - started) / 1_000).toFixed(1)} s`)
    served = await serve(built, 0)
    browser = await openChromium()
  }, 300_000)
  afterAll(async () => {
    await browser?.close()
    served?.close()
  })

  /** Opens a page, works on it, and tells what the browser complained of and what it asked of others. */
  const visit = async (path: string, work: (page: Page) => Promise<void>, options: BrowserContextOptions = {}): Promise<void> => {
    const context = await browser!.newContext({ viewport: { width: 1280, height: 900 }, reducedMotion: 'reduce', ...options })
    try {
      const page = await context.newPage()
      const complaints: string[] = []
      page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()))
      page.on('pageerror', (error) => complaints.push(error.message))
      page.on('request', (request) => !request.url().startsWith(served!.url) && complaints.push(`asked ${request.url()}`))
      await page.goto(served!.url + path, { waitUntil: 'networkidle' })
      await work(page)
      expect(complaints).toEqual([])
    } finally {
      await context.close()
    }
  }

  test('has no link that leads nowhere, to a page or to a part of one', async () => {
    const paths = globSync('**/*.html', { cwd: built }).map((path) => `/${path.replaceAll('\\', '/')}`)
    expect(paths.length).toBeGreaterThan(100)
    const files = new Set(globSync('**/*', { cwd: built }).map((path) => `/${path.replaceAll('\\', '/')}`))
    await visit('/', async (page) => {
      const pages = new Map<string, Linked>()
      for (let index = 0; index < paths.length; index += 20) {
        const some = await page.evaluate<Linked[]>(`(${read})(${JSON.stringify(paths.slice(index, index + 20))})`)
        for (const linked of some) pages.set(linked.path, linked)
      }
      const dead: string[] = []
      let links = 0
      for (const { path, links: hrefs, loaded } of pages.values())
        for (const href of [...hrefs, ...loaded]) {
          const to = new URL(href, served!.url + path)
          if (to.protocol === 'data:') continue
          if (to.origin !== served!.url) {
            if (loaded.includes(href)) dead.push(`${path} loads ${href}`)
            continue
          }
          links++
          const file = [to.pathname, `${to.pathname}index.html`, `${to.pathname}.html`].find(
            (name) => files.has(name) && name !== '/',
          )
          const id = decodeURIComponent(to.hash.slice(1))
          if (file === undefined || (id !== '' && !pages.get(file)?.ids.includes(id))) dead.push(`${path} → ${href}`)
        }
      console.log(`${pages.size} pages, ${links} links within them`)
      expect([...new Set(dead)]).toEqual([])
      expect(links).toBeGreaterThan(1_000)
    })
  })

  test('finds a page by what it says, without another server', async () => {
    await visit('/', async (page) => {
      await page.keyboard.press('Control+k')
      await page.getByRole('searchbox').fill('exactly once')
      const found = page.locator('a.result', { hasText: 'Effects exactly once' }).first()
      await found.waitFor()
      await found.click()
      await page.waitForURL(/guides\/exactly-once/)
      // The address changes before the page does.
      await page.locator('h1', { hasText: 'Effects exactly once' }).waitFor()
    })
    await visit('/', async (page) => {
      await page.getByRole('button', { name: 'Search' }).first().click()
      await page.getByRole('searchbox').fill('PgStreamOptions')
      await page.locator('a.result', { hasText: 'PgStreamOptions' }).first().waitFor()
    })
  })

  test('is dark if the reader’s system is, or when it is switched', async () => {
    const luminance = (page: Page): Promise<number> =>
      page.evaluate<number>(
        `getComputedStyle(document.body).backgroundColor.match(/\\d+/g).slice(0, 3).reduce((sum, part) => sum + Number(part), 0) / 765`,
      )
    await visit('/', async (page) => expect(await luminance(page)).toBeLessThan(0.2), { colorScheme: 'dark' })
    await visit('/', async (page) => {
      expect(await luminance(page)).toBeGreaterThan(0.9)
      await page.getByRole('switch').first().click()
      await expect.poll(() => luminance(page)).toBeLessThan(0.2)
      await page.reload()
      expect(await luminance(page)).toBeLessThan(0.2)
    })
  })

  for (const colorScheme of ['light', 'dark'] as const)
    for (const width of [1280, 390])
      test(`has no fault that axe knows, and nothing to scroll sideways for, ${colorScheme}, ${width} px wide`, async () => {
        for (const [name, path] of Object.entries(looked))
          await visit(
            path,
            async (page) => {
              if (pictures) await page.screenshot({ path: join(pictures, `${name}-${width}-${colorScheme}.png`) })
              const tooWide = await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')
              expect({ name, tooWide, wrong: await wrongWith(page) }).toEqual({ name, tooWide: 0, wrong: [] })
            },
            { colorScheme, viewport: { width, height: width < 500 ? 844 : 900 } },
          )
      })

  test('has the widest pages without anything to scroll sideways for on a phone', async () => {
    for (const path of ['/guarantees.html', '/reference/asyncjobs.html', '/api/@taskstream/task-api.html', '/glossary.html'])
      await visit(
        path,
        async (page) => {
          const tooWide = await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')
          expect({ path, tooWide }).toEqual({ path, tooWide: 0 })
        },
        { viewport: { width: 390, height: 844 } },
      )
  })

  test('has a page of the reference for each entry of a package', () => {
    for (const manifest of globSync('packages/*/package.json', { cwd: root })) {
      const { name, exports = {} } = JSON.parse(readFileSync(join(root, manifest), 'utf8')) as {
        name: string
        exports?: Record<string, unknown>
      }
      for (const [entry, conditions] of Object.entries(exports))
        if (typeof conditions === 'object') {
          const text = readFileSync(join(built, 'api', 'index.html'), 'utf8')
          expect(text).toContain(entry === '.' ? name : name + entry.slice(1))
        }
    }
  })

  test('is built by code without an error of types', async () => {
    await promisify(execFile)(join(site, 'node_modules', '.bin', 'tsc'), ['-p', site], { cwd: site })
  })
})
