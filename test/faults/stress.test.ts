/** `npm run stress`, as part of every test run: see ../stress/stress.ts. */
import { describe, expect, test } from 'vitest'
import { stress } from '../stress/stress.ts'
import { canRun, openSubject, subjectName } from '../subject.ts'
import { amountOf } from '../tiers.ts'

const seconds = Number(
  process.env['TASKSTREAM_STRESS_SECONDS'] ?? amountOf(subjectName === 'postgres-18' ? 'longStress' : 'stress'),
)
const seed = Number(process.env['TASKSTREAM_SEED'] ?? Math.floor(Math.random() * 2 ** 31))

describe.skipIf(!canRun)(`three processes on eight topics (${seconds} s, seed ${seed})`, () => {
  test('complete every task, apply no effect twice, keep every order and leave nothing open, whatever happens to them', async () => {
    await using subject = await openSubject()
    const { done, errors, ...counts } = await stress(subject, { seconds, seed })
    console.log(`${subjectName}: ${JSON.stringify({ ...counts, ...done })}`)
    expect(counts, errors.join('\n')).toMatchObject({ missing: 0, twice: 0, outOfOrder: 0, unfinished: 0, leaks: 0 })
    expect(counts.pushed).toBeGreaterThan(0)
    const never = Object.keys(done).filter((fault) => done[fault] === 0)
    expect(never, 'what was to be done to the processes, and never came about').toEqual([])
  }, 600_000)
})
