/** What waits for a database that was away goes on when somebody else has been answered. */
import { TaskError } from '@taskstream/task-api'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { Dispatcher } from '../../packages/task-processor/src/core/dispatcher.ts'
import { Patience } from '../../packages/task-processor/src/core/patience.ts'

const gone = new TaskError('DATABASE_UNAVAILABLE', 'gone')
const locked = new TaskError('DATABASE_BUSY', 'locked', { shortOf: 'lock' })
const make = (): { readonly dispatcher: Dispatcher<object> } => ({
  dispatcher: new Dispatcher({
    repository: { limitStatements: async () => {} },
    transactions: async (work) => work({}),
    statementTimeoutMs: 5_000,
  }),
})

describe('what waits for a database that is away', () => {
  afterEach(() => void vi.restoreAllMocks())
  const turns = async (): Promise<void> => {
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
  }
  /** A clock on which no pause ends by itself. */
  const still = { now: () => 0, after: () => () => {} } as never
  const again = (
    dispatcher: Dispatcher<object>,
    error: TaskError,
  ): { readonly runs: () => number; readonly done: Promise<unknown> } => {
    let runs = 0
    const work = (): void => {
      if (runs++ === 0) throw error
    }
    const done = dispatcher.persist(work, { patience: new Patience(still), onRetry: () => {}, isForeign: () => false })
    return { runs: () => runs, done }
  }

  test.each([
    ['gone', gone],
    ['read-only', new TaskError('DATABASE_READ_ONLY', 'read-only')],
  ])('goes on when another transaction is answered: %s', async (_, error) => {
    const { dispatcher } = make()
    const waiting = again(dispatcher, error)
    await turns()
    expect(waiting.runs()).toBe(1)
    await dispatcher.once(() => {})
    await waiting.done
    expect(waiting.runs()).toBe(2)
  })

  test('is not woken by an answer if only a row was locked', async () => {
    const { dispatcher } = make()
    const waiting = again(dispatcher, locked)
    await turns()
    await dispatcher.once(() => {})
    await turns()
    expect(waiting.runs()).toBe(1)
  })

  test('is woken once a second at most, so that what fails each time is not repeated as often as others succeed', async () => {
    let nowMs = 1_000
    vi.spyOn(performance, 'now').mockImplementation(() => nowMs)
    const { dispatcher } = make()
    const first = again(dispatcher, gone)
    await turns()
    await dispatcher.once(() => {})
    await first.done
    const second = again(dispatcher, gone)
    await turns()
    await dispatcher.once(() => {})
    await turns()
    expect(second.runs()).toBe(1)
    nowMs += 1_000
    await dispatcher.once(() => {})
    await second.done
    expect(second.runs()).toBe(2)
  })
})
