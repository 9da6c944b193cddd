/** Incidents are found and mended in a browser by keyboard alone, on a phone's width and in the dark. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { taskConsole } from '@taskstream/task-console'
import { toNode } from '@taskstream/task-console/node'
import type { SqlTaskRepository } from '@taskstream/task-sql'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { incidentsOn } from '../incidents/incidents.ts'
import { openSite } from '../incidents/site.ts'
import type { Site } from '../incidents/site.ts'
import { settled } from '../incidents/terminal.ts'
import type { AnyTransaction } from '../subject.ts'
import { hasChromium, openChromium } from './chromium.ts'
import { wrongWith } from './incident-console.ts'
import { keyboardOf } from './keyboard.ts'

/** Opens the console beside the processes of a site. */
async function serve({ tasks, subject }: Site): Promise<{ readonly url: string } & Disposable> {
  const console = taskConsole({
    repository: tasks as unknown as SqlTaskRepository<AnyTransaction>,
    transactions: subject.transactions,
    authorize: () => ({ name: 'kari', role: 'operator' }),
  })
  const server = createServer((incoming, outgoing) => void toNode(console)(incoming, outgoing)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    [Symbol.dispose]: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}

describe.skipIf(!hasChromium)('an operator without a mouse', () => {
  let browser: Browser | undefined
  beforeAll(async () => void (browser = await openChromium()))
  afterAll(() => browser?.close())

  test.for(incidentsOn('sqlite'))('$name: $happened', async (incident) => {
    await using site = await openSite(incident)
    const staged = await incident.stage(site)
    await staged.ready?.()
    const { leads, mends } = staged.shown.byKeyboard
    using served = await serve(site)
    await using context = await browser!.newContext({ viewport: { width: 390, height: 844 }, colorScheme: 'dark' })
    const page = await context.newPage()
    const keys = keyboardOf(page)
    await page.goto(served.url)
    await leads(keys)
    if (mends) {
      await mends(keys)
      await settled(site, staged.after, staged)
    }
    const tooWide = await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')
    expect({ tooWide, wrong: await wrongWith(page) }).toEqual({ tooWide: 0, wrong: [] })
  })
})
