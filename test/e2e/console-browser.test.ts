/** The console as people see it: in a real browser, with and without scripts, by keyboard, wide and narrow, light and dark. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { toNode } from '@taskstream/task-console/node'
import { useFixture } from '@taskstream/task-testing/suite'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { canRun, engine } from '../subject.ts'
import { hasChromium, openChromium } from './chromium.ts'
import { Visitor } from './console-scene.ts'
import { makeShop } from './console-seed.ts'
import type { Shop } from './console-seed.ts'
import { wrongWith } from './incident-console.ts'

/** A folder for pictures, for the guide. */
const pictures = process.env['TASKSTREAM_PICTURES']

describe.skipIf(!canRun || !hasChromium)('the console in a browser', () => {
  const fixture = useFixture(engine)
  let [browser, server, shop]: [Browser?, Server?, Shop?] = []
  let url = ''
  beforeAll(async () => {
    browser = await openChromium()
    shop = await makeShop(fixture)
    const console = new Visitor(fixture).as('admin', { basePath: '/ops/tasks', environment: 'production' })
    server = createServer((incoming, outgoing) => void toNode(console)(incoming, outgoing)).listen(0, '127.0.0.1')
    await once(server, 'listening')
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/ops/tasks/`
  })
  afterAll(async () => {
    await browser?.close()
    server?.closeAllConnections()
    server?.close()
  })

  /** Opens a page, works on it, and tells what the browser complained of. */
  const visit = async (path: string, work: (page: Page) => Promise<void>, options: BrowserContextOptions = {}): Promise<void> => {
    await shop!.beat()
    const context = await browser!.newContext({ viewport: { width: 1280, height: 900 }, ...options })
    try {
      const page = await context.newPage()
      const complaints: string[] = []
      page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()))
      page.on('pageerror', (error) => complaints.push(error.message))
      await page.goto(url + path)
      await work(page)
      expect(complaints).toEqual([])
    } finally {
      await context.close()
    }
  }
  const pages = (): Readonly<Record<string, string>> => ({
    topics: '',
    topic: 'topics/invoices',
    paused: 'topics/mail',
    filtered: 'topics/webhooks?state=failed',
    task: `topics/invoices/tasks/${shop!.blocked}`,
    failed: `topics/invoices/tasks/${shop!.poison}`,
    errors: 'errors',
    error: `errors/${shop!.fingerprint}`,
    next: 'next',
    nodes: 'nodes',
    node: `nodes/${encodeURIComponent(shop!.owner)}`,
    timers: 'timers',
    timer: 'timers/system/nightly-export',
    changes: 'changes',
    health: 'health',
    audit: 'audit',
    find: 'find?q=inv-7',
    preview: 'act?deed=redrive&topic=webhooks&state=failed',
    push: 'topics/invoices/push',
    delayed: 'topics/thumbs?state=delayed',
    settings: 'settings?back=topics/invoices',
    missing: 'topics/invioces',
  })
  const wrongOf = async (page: Page, hasScripts: boolean): Promise<readonly string[]> => (hasScripts ? wrongWith(page) : [])
  const expectComplaints = new Set(['missing'])

  for (const colorScheme of ['light', 'dark'] as const)
    for (const width of [1280, 390])
      test(`has no fault that axe knows, and nothing to scroll sideways for, ${colorScheme}, ${width} px wide`, async () => {
        await fixture.commit((transaction) => fixture.tasks.destroy(transaction, fixture.topic))
        for (const [name, path] of Object.entries(pages())) {
          await shop!.beat()
          const context = await browser!.newContext({ viewport: { width, height: width < 500 ? 844 : 800 }, colorScheme })
          const page = await context.newPage()
          const complaints: string[] = []
          page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()))
          await page.goto(url + path)
          if (pictures) await page.screenshot({ path: join(pictures, `${name}-${width}-${colorScheme}.png`) })
          const tooWide = await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')
          expect({ name, tooWide, wrong: await wrongWith(page) }).toEqual({ name, tooWide: 0, wrong: [] })
          if (!expectComplaints.has(name)) expect({ name, complaints }).toEqual({ name, complaints: [] })
          await context.close()
        }
      })

  test('leads without scripts from the first page to what has to be mended', async () => {
    await visit(
      '',
      async (page) => {
        await page.getByRole('link', { name: 'invoices', exact: true }).click()
        await page.getByLabel('identifier').fill('inv-7')
        await page.getByRole('button', { name: 'Filter' }).click()
        await page.getByRole('link', { name: `inv-7 @${shop!.blocked}` }).click()
        expect(await page.locator('#why').innerText()).toMatch(/out-of-turn.*waits for its turn/)
        await page
          .locator('main p')
          .getByRole('link', { name: `inv-7 @${shop!.poison}` })
          .click()
        expect(await page.locator('#why').innerText()).toMatch(/failed .*insufficient funds[^]*taskstream redrive invoices/)
        await page.getByRole('link', { name: 'card declined' }).click()
        expect(await page.locator('main').innerText()).toMatch(/first in release\s+4\.2\.1/i)
      },
      { javaScriptEnabled: false },
    )
  })

  test('leads by keyboard alone from the first page to what has to be mended', async () => {
    await visit('', async (page) => {
      await page.keyboard.press('Tab')
      expect(await page.evaluate('document.activeElement?.textContent')).toBe('Skip to the page')
      await page.keyboard.press('g')
      await page.keyboard.press('e')
      await page.waitForURL(/errors$/)
      await page.keyboard.press('j')
      await page.keyboard.press('j')
      await page.keyboard.press('k')
      expect(await page.locator('tr[aria-selected]').count()).toBe(1)
      await page.keyboard.press('Enter')
      await page.waitForURL(/errors\/.+/)
      await page.keyboard.press('/')
      // In a field a key is a letter.
      await page.keyboard.type('inv-7')
      await page.keyboard.press('Enter')
      await page.waitForURL(/find\?q=inv-7/)
      await page.keyboard.press('j')
      await page.keyboard.press('Enter')
      await page.waitForURL(/tasks\/\d+$/)
      await page.keyboard.press('?')
      expect(await page.getByRole('dialog').innerText()).toContain('copy the command')
      expect(await wrongWith(page)).toEqual([])
      await page.keyboard.press('Escape')
      expect(await page.getByRole('dialog').count()).toBe(0)
    })
  })

  for (const javaScriptEnabled of [true, false])
    test(`mends what fails ${javaScriptEnabled ? 'with' : 'without'} scripts: one tried, the rest, and undone`, async () => {
      await visit(
        'errors?topic=webhooks',
        async (page) => {
          await page.getByRole('link', { name: 'TypeError' }).click()
          await page.getByRole('button', { name: 'Try one' }).click()
          expect(await page.locator('main').innerText()).toContain('1 task will be ready again')
          await page.getByLabel('note').fill('after the fix')
          await page.getByRole('button', { name: 'Redrive 1' }).click()
          expect(await page.getByRole('status').innerText()).toContain('1 task is ready again')
          expect(await wrongOf(page, javaScriptEnabled)).toEqual([])
          await page.getByRole('button', { name: 'redrive the rest' }).click()
          await page.getByRole('button', { name: 'Redrive 5' }).click()
          expect(await page.getByRole('status').innerText()).toContain('5 tasks are ready again of 5')
          await page.getByRole('button', { name: 'Undo' }).click()
          expect(await page.getByRole('status').innerText()).toContain('5 undone')
          await page.getByRole('link', { name: 'Audit' }).last().click()
          const tried = page.locator('tr', { hasText: 'after the fix' })
          await tried.first().getByRole('button', { name: 'Undo' }).click()
          expect(await page.getByRole('status').innerText()).toContain('1 undone')
        },
        { javaScriptEnabled },
      )
    })

  test('pauses and resumes a topic', async () => {
    await visit('topics/thumbs', async (page) => {
      await page.keyboard.press('p')
      await page.keyboard.type('a test')
      await page.keyboard.press('Enter')
      await page.getByRole('status').waitFor()
      await page.getByRole('link', { name: 'Back' }).click()
      expect(await page.locator('main').innerText()).toContain('paused')
      await page.getByRole('button', { name: 'Resume' }).click()
      expect(await page.getByRole('status').innerText()).toBe('Done.')
    })
  })

  test('has keys that can be switched off', async () => {
    await visit('', async (page) => {
      await page.keyboard.press('?')
      await page.getByRole('button', { name: 'Switch keys off' }).click()
      await page.keyboard.press('/')
      expect(await page.evaluate('document.activeElement?.id')).not.toBe('q')
    })
  })

  test('renews a page in place, and says so if it cannot', async () => {
    await visit('topics/thumbs', async (page) => {
      const link = page.locator('tbody a').first()
      await link.focus()
      await page.evaluate('void Object.assign(document.activeElement, { kept: true })')
      await fixture.commit((transaction) => fixture.tasks.push(transaction, 'thumbs', ['a-new-one']))
      await page.getByRole('link', { name: 'a-new-one' }).waitFor()
      expect(await page.evaluate('document.activeElement?.kept')).toBe(true)
      expect(await page.locator('#live').innerText()).toBe('live')
    })
    const context = await browser!.newContext()
    const page = await context.newPage()
    await page.goto(url)
    await context.setOffline(true)
    await page.getByText(/not connected for \d+ s/).waitFor()
    await context.close()
  })

  test('loads in three requests and 30 kB', async () => {
    const sizes: number[] = []
    const context = await browser!.newContext()
    const page = await context.newPage()
    page.on(
      'response',
      (response) =>
        void response.body().then(
          (body) => sizes.push(gzipSync(body).length),
          () => {},
        ),
    )
    await page.goto(url, { waitUntil: 'networkidle' })
    const first = sizes.slice(0, 3)
    await context.close()
    expect(first).toHaveLength(3)
    const total = first.reduce((sum, size) => sum + size, 0)
    console.log(`first view: ${first.join(' + ')} = ${total} bytes gzipped`)
    expect(total).toBeLessThan(30_720)
  })
})
