/** Each incident is found by one command, one page of the console and one route of its API, and the command names the remedy that ends it. */
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Incident, Staged } from '../incidents/incident.ts'
import { incidentsOn } from '../incidents/incidents.ts'
import { openSite } from '../incidents/site.ts'
import { settled } from '../incidents/terminal.ts'
import type { Site } from '../incidents/site.ts'
import { isMysql, isPostgres } from '../subject.ts'
import { hasChromium, openChromium } from './chromium.ts'
import { lookAt } from './incident-console.ts'

const engine = isPostgres ? 'postgres' : isMysql ? 'mariadb' : 'sqlite'
/** A transaction takes a minute to be an old one, in which the other incidents are staged. */
const slow = 'held-horizon'

interface Happening {
  readonly site: Site
  readonly staged: Staged
}

describe('an operator in an incident', () => {
  const incidents = incidentsOn(engine)
  let early: Promise<Happening> | undefined
  const happen = async (incident: Incident): Promise<Happening> => {
    const site = await openSite(incident)
    return { site, staged: await incident.stage(site) }
  }
  let browser: Browser | undefined
  beforeAll(async () => {
    early = happen(incidents.find(({ name }) => name === slow)!)
    if (hasChromium) browser = await openChromium()
  })
  afterAll(async () => {
    await browser?.close()
    await (await early)?.site[Symbol.asyncDispose]()
  })

  test.for(incidents.toSorted((left, right) => Number(left.name === slow) - Number(right.name === slow)))(
    '$name: $happened',
    async (incident) => {
      const { site, staged } = await (incident.name === slow ? early! : happen(incident))
      await using _site = site
      await staged.ready?.()
      const { command, shows, code = 0 } = staged.finds
      const found = await site.taskstream(command, staged)
      expect(found.err).toBe('')
      expect(found.out).toMatch(shows)
      expect(found.code).toBe(code)
      const remedies = [...found.out.matchAll(staged.remedy)].map(([, remedy]) => remedy!)
      expect(remedies).not.toEqual([])
      for (const other of staged.also ?? []) await settled(site, other, staged)
      await lookAt(site, staged, browser)
      await staged.carryOut(remedies)
      await settled(site, staged.after, staged)
    },
  )
})
