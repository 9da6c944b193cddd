/** Looks at an incident as a person does in a browser, and as a program does that asks the API: `taskstream console` runs as a process of its own. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import axe from 'axe-core'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { expect } from 'vitest'
import type { Staged } from '../incidents/incident.ts'
import type { Site } from '../incidents/site.ts'
import { follow } from './command-line.ts'
import { keyboardOf } from './keyboard.ts'

const token = 'a-token-that-nobody-guesses-1234'

/** How the same page is looked at. A browser without scripts cannot run axe either. */
const ways: readonly BrowserContextOptions[] = [
  { viewport: { width: 1280, height: 900 }, colorScheme: 'light' },
  { viewport: { width: 390, height: 844 }, colorScheme: 'dark' },
  { viewport: { width: 1280, height: 900 }, javaScriptEnabled: false },
]

/** @param browser undefined where there is none: then the page is only read */
export async function lookAt(site: Site, { shown, url, env }: Staged, browser: Browser | undefined): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'taskstream-'))
  const tokenFile = join(folder, 'token')
  try {
    writeFileSync(tokenFile, token, { mode: 0o600 })
    await using console = follow(['console', '--port', '0', '--token-file', tokenFile], {
      url: url ?? site.url,
      ...(env && { env }),
    })
    await console.until(/http:\S+key=\S+/)
    const link = /http:\S+key=\S+/.exec(console.written())![0]
    const ask = async (path: string, accept: string): Promise<string> => {
      const response = await fetch(new URL(path, link), { headers: { authorization: `Bearer ${token}`, accept } })
      return `${response.status} ${await response.text()}`
    }
    expect(await ask(`api/v1/${shown.route}`, 'application/json')).toMatch(shown.answers)
    if (!browser) {
      expect(plain(await ask(shown.page, 'text/html'))).toMatch(shown.shows)
      return
    }
    // The link opens the console once. The cookie that it gives opens the other ways of looking.
    const first = await browser.newContext()
    await (await first.newPage()).goto(link)
    const storageState = await first.storageState()
    await first.close()
    for (const way of ways) {
      const context = await browser.newContext({ ...way, storageState })
      const page = await context.newPage()
      await page.goto(new URL(shown.page, link).href)
      expect(await page.innerText('main')).toMatch(shown.shows)
      if (way.javaScriptEnabled !== false) expect(await wrongWith(page)).toEqual([])
      await context.close()
    }
    const context = await browser.newContext({ ...ways[0], storageState })
    const page = await context.newPage()
    await page.goto(new URL('.', link).href)
    await shown.byKeyboard.leads(keyboardOf(page))
    await context.close()
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** What axe finds wrong, by the rules of WCAG 2.2 A and AA and its own best practices. */
export async function wrongWith(page: Page): Promise<readonly string[]> {
  await page.evaluate(axe.source)
  return page.evaluate(async () => {
    const { axe } = globalThis as unknown as {
      axe: { run(): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> }
    }
    const { violations } = await axe.run()
    return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 120)).join(' | ')}`)
  })
}

function plain(html: string): string {
  const text = html.replaceAll(/<[^>]*>/g, ' ')
  return text
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&')
}
