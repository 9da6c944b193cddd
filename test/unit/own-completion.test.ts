/** A completion with the handler's own writes: when its function runs again, with what, and whose fault it is if it cannot be. */
import { TaskDecision, TaskError } from '@taskstream/task-api'
import type { CompleteOptions, Completion, HeldTask } from '@taskstream/task-api'
import { describe, expect, test } from 'vitest'
import { Completing } from '../../packages/task-processor/src/batches/completing.ts'
import type { CompletingEnvironment } from '../../packages/task-processor/src/batches/completing.ts'
import { OwnCompletion } from '../../packages/task-processor/src/batches/own-completion.ts'
import { SharedCommits } from '../../packages/task-processor/src/batches/shared-commits.ts'
import { Patience } from '../../packages/task-processor/src/core/patience.ts'
import type { Decisions } from '../../packages/task-processor/src/core/task-handler.ts'
import { answering, namesOf, soon, tasksOf } from './answering.ts'
import type { Answering } from './answering.ts'

const refused = new TaskError('ARGUMENT_INVALID', 'refused')
const gone = new TaskError('DATABASE_UNAVAILABLE', 'gone')
const tasks = tasksOf('ab')

const failAs =
  (...messages: string[]) =>
  (_: object, held: readonly HeldTask[]): Decisions =>
    new Map(held.map((task, index) => [task, TaskDecision.failure(messages[index]!)]))

interface Owned {
  readonly own: OwnCompletion<object>
  readonly answers: Answering
  readonly patience: Patience
  /** The messages of each attempt to write. */
  readonly written: string[][]
  readonly options: unknown[]
  readonly outcome: Promise<Completion>
  /** Who was at fault, once the completion has failed. */
  fault(): Promise<unknown>
}

interface Given {
  readonly answer?: (attempt: number) => void
  readonly hold?: (attempt: number) => readonly HeldTask[] | undefined
  readonly environment?: Partial<CompletingEnvironment<object>>
  readonly before?: (given: Pick<Owned, 'answers' | 'patience'>) => void
}

function complete(
  decide: (transaction: object, held: readonly HeldTask[]) => Decisions | Promise<Decisions>,
  { answer = () => {}, hold = () => undefined, before = () => {}, environment }: Given = {},
): Owned {
  const answers = answering()
  const written: string[][] = []
  const options: unknown[] = []
  answers.answer = (_, __, decisions) => {
    written.push([...decisions.values()].map((decision) => decision.toMessage() ?? ''))
    answer(written.length)
  }
  let holds = 0
  const { repository } = answers.environment
  const ours = { ...answers.environment, ...environment }
  ours.repository = {
    ...repository,
    complete: (transaction: object, topic: string, decisions: Decisions, given?: CompleteOptions) => {
      options.push(given)
      return repository.complete(transaction, topic, decisions, given)
    },
    hold: async () => {
      const held = hold(++holds) ?? tasks
      return { held, lost: tasks.filter((task) => !held.includes(task)) }
    },
  } as unknown as typeof repository
  const patience = new Patience(answers.clock)
  before({ answers, patience })
  const own = new OwnCompletion({ ...ours, commits: new SharedCommits({ ...ours, clock: answers.clock }, 1) }, decide)
  const outcome = own.run(tasks, new Completing(ours, { event: { topic: 'mail', tasks } }, false), patience)
  outcome.catch(() => {})
  const fault = (): Promise<unknown> =>
    soon(outcome).then(
      () => 'nobody',
      (error: unknown) => own.failureBy(error),
    )
  return { own, answers, patience, written, options, outcome, fault }
}

describe('decisions with messages that the database cannot store', () => {
  test('are made and written once more, in ASCII; messages that could be stored are written as they are', async () => {
    const ran: string[] = []
    const { outcome, written } = complete(
      (_, held) => {
        ran.push(namesOf(held))
        return failAs('é', 'e')(_, held)
      },
      {
        answer: (attempt) => {
          if (attempt === 1) throw refused
        },
      },
    )
    expect(await soon(outcome)).toEqual({ completed: tasks, lost: [] })
    expect([ran, written]).toEqual([
      ['a,b', 'a,b'],
      [
        ['é', 'e'],
        [String.raw`\u{e9}`, 'e'],
      ],
    ])
  })

  test('are what the listener hears of, as they were written', async () => {
    const { outcome, answers } = complete(failAs('é', 'è'), {
      answer: (attempt) => {
        if (attempt === 1) throw refused
      },
    })
    await soon(outcome)
    const [[event, { decisions }]] = answers.told as [[string, { decisions: Decisions }]]
    expect([event, [...decisions].map(([task, decision]) => [task.identifier, decision.toMessage()])]).toEqual([
      'onComplete',
      [
        ['a', String.raw`\u{e9}`],
        ['b', String.raw`\u{e8}`],
      ],
    ])
  })

  test('are not tried a third time', async () => {
    const { fault, written } = complete(failAs('é', 'e'), {
      answer: () => {
        throw refused
      },
    })
    expect(await fault()).toBe('completing')
    expect(written).toHaveLength(2)
  })

  test('are not tried again if they are in ASCII already', async () => {
    const { fault, written } = complete(failAs('e', 'e'), {
      answer: () => {
        throw refused
      },
    })
    expect(await fault()).toBe('completing')
    expect(written).toHaveLength(1)
  })

  test('are not tried again if a later attempt was refused before it had any', async () => {
    const { fault, written } = complete(failAs('é', 'e'), {
      answer: () => {
        throw gone
      },
      hold: (attempt) => {
        if (attempt === 2) throw refused
        return undefined
      },
    })
    expect(await fault()).toBe('completing')
    expect(written).toHaveLength(1)
  })
})

describe('a completion that fails', () => {
  test('is the handler’s fault if its function threw, unless the database did', async () => {
    const late = new Error('late')
    const failing = complete(() => Promise.reject(late))
    expect(await failing.fault()).toBe('handler')
    expect(failing.own.failureBy(new Error('late'))).toBeUndefined()
    const unwritten = complete(failAs('e', 'e'), {
      answer: () => {
        throw late
      },
    })
    expect(await unwritten.fault()).toBe('completing')
  })

  test('is given up as nobody’s fault if the database is away and nobody waits', async () => {
    const { fault, written } = complete(failAs('é', 'e'), {
      answer: () => {
        throw gone
      },
      before: ({ patience }) => patience.end(),
    })
    expect(await fault()).toBe('given up')
    expect(written).toHaveLength(1)
  })

  test('before its transaction began is nobody’s fault, whatever the error', async () => {
    const closed = new Error('the pool is closed')
    const { fault } = complete(failAs('é', 'e'), {
      before: ({ answers, patience }) => {
        answers.refusals.push(closed)
        patience.end()
      },
    })
    expect(await fault()).toBe('given up')
  })

  test('before a later transaction began is nobody’s fault either', async () => {
    const closed = new Error('the pool is closed')
    let ended = (): void => {}
    const { fault, written } = complete(failAs('e', 'e'), {
      answer: () => {
        ended()
        throw gone
      },
      before: ({ answers, patience }) => {
        // The second attempt is under way when nobody waits any more.
        ended = () => answers.refusals.push(closed)
        Object.defineProperty(patience, 'isOver', { get: () => answers.begun.length === 2 })
      },
    })
    expect(await fault()).toBe('given up')
    expect(written).toHaveLength(1)
  })
})

describe('a function whose own statement fails', () => {
  const deadlock = new Error('deadlock')
  const classify = ({ answers }: Pick<Owned, 'answers'>): void =>
    void Object.assign(answers.transactions, { classify: (error: unknown) => (error === deadlock ? gone : error) })

  test('as the database is short of something runs again, and the error that the database names is told once', async () => {
    let runs = 0
    const { outcome, answers } = complete(
      (transaction, held) => {
        if (++runs < 3) throw deadlock
        return failAs('é', 'e')(transaction, held)
      },
      { before: classify },
    )
    expect(await soon(outcome)).toEqual({ completed: tasks, lost: [] })
    expect([runs, answers.told.map(([name, { error }]) => [name, error])]).toEqual([
      3,
      [
        ['onError', gone],
        ['onRecovered', undefined],
        ['onComplete', undefined],
      ],
    ])
  })

  test('is not to blame for the same error of a later attempt that did not come to it', async () => {
    const { fault } = complete(
      () => {
        throw deadlock
      },
      {
        before: classify,
        hold: (attempt) => {
          if (attempt === 2) throw deadlock
          return undefined
        },
      },
    )
    expect(await fault()).toBe('completing')
  })
})

test('is strict about what it completes, and discards as the topic does', async () => {
  const plain = complete(failAs('é', 'e'))
  const discarding = complete(failAs('é', 'e'), { environment: { discard: ['failed'] } })
  for (const { outcome } of [plain, discarding]) await soon(outcome)
  expect([plain.options, discarding.options]).toEqual([[{ strict: true }], [{ strict: true, discard: ['failed'] }]])
})

test('decides of the tasks that are still held, and tells of the lost ones', async () => {
  const { outcome, answers } = complete(failAs('é'), { hold: () => tasks.slice(1) })
  const completion = { completed: tasks.slice(1), lost: tasks.slice(0, 1) }
  expect(await soon(outcome)).toEqual(completion)
  expect(answers.told.map(([name]) => name)).toEqual(['onComplete', 'onLost'])
})
