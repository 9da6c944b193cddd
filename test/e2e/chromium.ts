/** Debian's Chromium, driven by playwright-core. */
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import type { Browser } from 'playwright-core'

const path = process.env['PATH']!.split(delimiter)
  .map((folder) => join(folder, 'chromium'))
  .find(isExecutable)

/** Whether a browser is there. CI installs one, and requires it: without it, tests that need it fail. */
export const hasChromium: boolean = path !== undefined || process.env['REQUIRE_CHROMIUM'] === '1'

/** @throws Error if there is no browser */
export async function openChromium(): Promise<Browser> {
  if (path === undefined) throw new Error('There is no chromium: apt-get install chromium')
  const { chromium } = await import('playwright-core')
  // A container has no user namespaces for its sandbox. Nothing but our own pages is opened.
  return chromium.launch({ executablePath: path, args: ['--no-sandbox', '--disable-gpu', '--force-color-profile=srgb'] })
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}
