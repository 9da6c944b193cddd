/** What the database is short of is waited for, as long as somebody waits; a lock on one task holds up no other. */
import { TaskError } from '@taskstream/task-api'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { Patience } from '../../packages/task-processor/src/core/patience.ts'
import { answering, namesOf, tasksOf } from './answering.ts'
import type { Answering } from './answering.ts'
import { decide, event, failing, gone, open, refused } from './completes.ts'

const locked = new TaskError('DATABASE_BUSY', 'locked', { shortOf: 'lock' })
const full = new TaskError('DATABASE_BUSY', 'full', { shortOf: 'connections' })

describe('completing while the database cannot', () => {
  let answers: Answering
  let patience: Patience
  beforeEach(() => {
    // Half of what chance may take from a pause.
    vi.spyOn(Math, 'random').mockReturnValue(0.5)
    answers = answering()
    patience = new Patience(answers.clock)
  })
  afterEach(() => {
    vi.restoreAllMocks()
  })

  test('tries again what the database was away for, with longer pauses, and tells of it once, and that it works again', async () => {
    const tasks = tasksOf('ab')
    failing(answers, gone, new TaskError('TRANSACTION_CONFLICT', 'deadlock'), full)
    answers.refusals.push(new Error('no route to host'))
    const waited = vi.fn<() => void>()
    const completing = open(answers, tasks)
    expect(await completing.complete(decide(tasks), patience, waited)).toEqual({ completed: tasks, lost: [] })
    expect(answers.pauses).toEqual([37.5, 75, 150, 300])
    expect(answers.asked).toEqual(Array.from({ length: 4 }, () => 'complete a,b'))
    expect(answers.told.map(([name]) => name)).toEqual(['onError', 'onComplete', 'onRecovered'])
    expect(answers.told[0]![1]).toEqual({
      activity: 'complete',
      topic: 'mail',
      error: expect.objectContaining({ message: 'no route to host' }),
    })
    expect(answers.told[2]![1]).toEqual({ activity: 'complete', topic: 'mail' })
    expect([waited.mock.calls, completing.setback, completing.undecided]).toEqual([[], false, []])
  })

  test('halves nothing for a lock that was in the way of a connection, and nothing that the database was only busy for', async () => {
    const tasks = tasksOf('ab')
    const waited = vi.fn<() => void>()
    answers.refusals.push(locked, locked, locked)
    failing(answers, full, full)
    await open(answers, tasks).complete(decide(tasks), patience, waited)
    expect(answers.asked).toEqual(Array.from({ length: 3 }, () => 'complete a,b'))
    expect([answers.pauses.length, waited.mock.calls]).toEqual([5, []])
  })

  test('leaves everything that is still to be written when nobody waits any more, and tells of it', async () => {
    const tasks = tasksOf('abcd')
    const completing = open(answers, tasks)
    patience.end()
    answers.answer = (_, names) => {
      if (names === 'a,b,c,d') throw refused
      if (names === 'a,b') throw gone
    }
    await expect(completing.complete(decide(tasks), patience)).rejects.toBe(gone)
    expect(answers.asked).toEqual(['complete a,b,c,d', 'complete a,b'])
    expect(answers.told).toEqual([['onError', { ...event(tasks), activity: 'complete', error: gone }]])
    expect([completing.setback, completing.undecided, completing.finished, answers.pauses]).toEqual([true, tasks, [], []])
  })

  test('leaves no more than is still to be written when nobody waits any more', async () => {
    const tasks = tasksOf('abcd')
    const completing = open(answers, tasks)
    patience.end()
    answers.answer = (_, names) => {
      if (names === 'a,b,c,d') throw refused
      if (names === 'c,d') throw gone
    }
    await expect(completing.complete(decide(tasks), patience)).rejects.toBe(gone)
    expect(answers.told.at(-1)).toEqual(['onError', { ...event(tasks.slice(2)), activity: 'complete', error: gone }])
    expect([completing.undecided, completing.finished]).toEqual([tasks.slice(2), tasks.slice(0, 2)])
  })

  test('throws what came first where nobody waits any more, and what had been told is not told again', async () => {
    const tasks = tasksOf('ab')
    const completing = open(answers, tasks)
    answers.answer = () => {
      if (answers.asked.length === 2) patience.end()
      throw gone
    }
    await expect(completing.complete(decide(tasks), patience)).rejects.toBe(gone)
    expect(answers.told).toEqual([['onError', { activity: 'complete', topic: 'mail', error: gone }]])
    const other = open(answers, tasks)
    answers.answer = (_, names) => {
      throw names === 'b' ? gone : refused
    }
    await expect(other.complete(decide(tasks), patience)).rejects.toBe(refused)
    expect(namesOf(other.undecided)).toBe('a,b')
  })
})
