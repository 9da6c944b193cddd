/** `npm run laboratory`, as part of every test run: see ../laboratory/run.ts. It starts servers of its own, because it crashes them. */
import { describe, expect, test } from 'vitest'
import { timelineText } from '../laboratory/checker/timeline.ts'
import { shrink } from '../laboratory/checker/shrink.ts'
import { runLaboratory } from '../laboratory/run.ts'
import { canRun, subjectName } from '../subject.ts'
import { amountOf } from '../tiers.ts'

const engine = subjectName === 'postgres-18' ? 'postgres' : subjectName === 'mariadb' ? 'mariadb' : 'sqlite'
const seconds = Number(process.env['TASKSTREAM_LABORATORY_SECONDS'] ?? amountOf('laboratory'))
const seed = Number(process.env['TASKSTREAM_SEED'] ?? Math.floor(Math.random() * 2 ** 31))
/** A short run cannot have every kind of fault. */
const isWhole = seconds >= 60

describe.skipIf(!canRun)(`processes in the laboratory (${seconds} s, seed ${seed})`, () => {
  test(
    'lose, invent and repeat nothing, keep every order and limit, fire every timer, and leave nothing open, whatever happens to them',
    { timeout: 600_000 },
    async () => {
      const { violations, history, folder, faults, never, ...counts } = await runLaboratory({ engine, seconds, seed, isWhole })
      const times = Object.entries(faults).map(([kind, each]) => `${kind} ${each.times}`)
      console.log(`${subjectName}: ${JSON.stringify(counts)}; ${times.join(', ')}`)
      const told = violations[0] && `${timelineText(shrink(history, violations[0]))}\n${folder}`
      expect(
        violations.slice(0, 20).map(({ rule, says }) => `${rule}: ${says}`),
        told,
      ).toEqual([])
      expect(counts.pushed).toBeGreaterThan(0)
      if (isWhole) expect(never, 'kinds of faults that never came about').toEqual([])
    },
  )
})
