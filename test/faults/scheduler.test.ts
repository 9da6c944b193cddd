/** `npm run test:scheduler-chaos`, as part of every test run: see ../scheduler-chaos/chaos.ts. */
import { describe, expect, test } from 'vitest'
import { chaos } from '../scheduler-chaos/chaos.ts'
import { canRun, openSubject, subjectName } from '../subject.ts'
import { amountOf } from '../tiers.ts'

const seconds = amountOf('schedulerSeconds')
const seed = Number(process.env['TASKSTREAM_SEED'] ?? Math.floor(Math.random() * 2 ** 31))

describe.skipIf(!canRun)(`three schedulers that are killed (${seconds} s, seed ${seed})`, () => {
  test('submit every occurrence of every timer, each once, and nothing else', async () => {
    await using subject = await openSubject()
    const { kills, ...report } = await chaos(subject, { seconds, timers: 50, seed })
    console.log(`${subjectName}: ${JSON.stringify({ kills, ...report })}`)
    expect(report).toMatchObject({ endedAlone: 0, lost: 0, twice: 0, unexpected: 0 })
    expect(kills).toBeGreaterThan(0)
    // Five of them elapse each second.
    expect(report.occurrences).toBeGreaterThan(seconds)
  }, 600_000)
})
