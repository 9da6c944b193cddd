/** The keyboard of a page in a real browser. Nothing is clicked. */
import { expect } from 'vitest'
import type { Page } from 'playwright-core'
import type { Keyboard } from '../incidents/keyboard.ts'

/** A page has fewer things that take the focus. */
const mostTabs = 80

/** What has the focus is called as its label says, or as it says itself. */
const nameOfFocus = `(({ activeElement: focused, body }) =>
  focused === body ? '' : (focused?.labels?.[0] ?? focused)?.textContent.replaceAll(/\\s+/g, ' ').trim() ?? '')(document)`

export function keyboardOf(page: Page): Keyboard {
  const nameOfFocused = (): Promise<string> => page.evaluate<string>(nameOfFocus)
  return {
    press: async (...keys) => {
      for (const key of keys) await page.keyboard.press(key)
    },
    type: (text) => page.keyboard.type(text),
    tabTo: async (name) => {
      const passed: string[] = []
      for (let count = 0; count < mostTabs; count++) {
        await page.keyboard.press('Tab')
        const focused = await nameOfFocused()
        if (name.test(focused)) return
        passed.push(focused)
      }
      throw new Error(`Tab never came to ${name}, but to ${passed.join(' | ')}`)
    },
    sees: async (text) => expect.poll(() => page.innerText('main'), { timeout: 20_000 }).toMatch(text),
    isAt: async (path) => {
      await page.waitForURL(({ pathname }) => path.test(pathname))
      // Keys are heard from when the script has run, which says so.
      await page.locator('#live:not([hidden])').waitFor()
    },
  }
}
