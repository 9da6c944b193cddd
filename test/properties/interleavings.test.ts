/**
 * Plays all orders in which a few connections can run a few verbs, on real connections: no task is stranded, given twice or overtaken.
 * `npm run interleavings -- --mutants` shows which faults this finds.
 */
import { describe, expect, test } from 'vitest'
import { clockAhead } from '../interleavings/clock-ahead.ts'
import { drawScenario } from '../interleavings/draw.ts'
import { explore } from '../interleavings/explore.ts'
import { randomOf } from '../interleavings/random.ts'
import { canBegin } from '../interleavings/scenario.ts'
import { scenarios } from '../interleavings/scenarios.ts'
import { canRun, engine, openSubject, subjectName } from '../subject.ts'
import { amountOf } from '../tiers.ts'

/**
 * What is found depends on the dialect's statements. One engine of each dialect looks for long, and for the others it matters what differs: the
 * release, the partitions, the pooler, the driver.
 */
const amounts: Readonly<Record<string, 'manyInterleavings' | 'interleavings'>> = {
  'postgres-18': 'manyInterleavings',
  'postgres-given': 'interleavings',
  'sqlite-file': 'interleavings',
  mariadb: 'interleavings',
  mysql: 'interleavings',
  oracle: 'interleavings',
}
const most = Number(process.env['TASKSTREAM_RUNS'] ?? amountOf(amounts[subjectName] ?? 'fewInterleavings'))
const seed = Number(process.env['TASKSTREAM_SEED'] ?? Math.trunc(Math.random() * 2 ** 31))

describe.skipIf(!canRun)(`in any order of their statements (${most} of each kind, seed ${seed})`, () => {
  const random = randomOf(seed)
  const drawn = Array.from({ length: most / 10 }, (_, index) => drawScenario(index, random))
  test(`${drawn.length} kinds that were drawn`, { timeout: 240_000 }, async () => {
    await using subject = await openSubject()
    using clock = clockAhead()
    for (const scenario of drawn) {
      const { violations } = await explore(subject, scenario, { most: 20, random, pass: clock.pass })
      expect(violations, JSON.stringify(scenario)).toEqual([])
    }
  })
  for (const scenario of scenarios.filter((one) => canBegin(one, engine.writers))) {
    test(scenario.name, { timeout: 240_000 }, async () => {
      await using subject = await openSubject()
      using clock = clockAhead()
      const { schedules, violations } = await explore(subject, scenario, { most, random: randomOf(seed), pass: clock.pass })
      expect(violations).toEqual([])
      expect(schedules).toBeGreaterThan(0)
    })
  }
})
