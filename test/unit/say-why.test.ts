/** Every answer to the question why a task is not running is a sentence, whatever is known. */
import { diagnosisCodes } from '@taskstream/task-api'
import type { Diagnosis, Remedy, TaskInfo } from '@taskstream/task-api'
import { commandOf, sayWhy } from '@taskstream/task-operations'
import { describe, expect, test } from 'vitest'

const at = new Date('2026-01-01T00:10:00.000Z')
const before = new Date('2026-01-01T00:00:00.000Z')
const task: TaskInfo = {
  topic: 'invoices',
  sequence: 7,
  identifier: 'a',
  state: 'ready',
  descent: 'ready',
  attempt: 1,
  tries: 1,
  priority: 0,
  created: before,
}
const bare: Omit<Diagnosis, 'code'> = { at, also: [], by: [], remedies: [], task }
const whole: Omit<Diagnosis, 'code'> = {
  ...bare,
  also: diagnosisCodes,
  since: before,
  until: new Date('2026-01-01T00:11:00.000Z'),
  by: diagnosisCodes.map((code) => ({ topic: 'invoices', sequence: 3, identifier: 'a', code, since: before, error: 'no money' })),
  owner: { owner: 'worker-2', heartbeat: before, release: '4.2.1' },
  ahead: 12,
  pace: 6,
  paused: { since: before, actor: 'kari', note: 'the bank is down' },
  limit: { kind: 'total', amount: 3 },
  nodes: { count: 1, troubles: [{ owner: 'worker-2', activity: 'poll', message: 'gone', since: before }] },
  last: { attempt: 1, error: 'no money', release: '4.2.1', ended: before },
  remedies: [{ verb: 'activate', topic: 'invoices' }],
}

describe('the answer', () => {
  test('names the trace of the last attempt that did not succeed, unless the task has succeeded since', () => {
    const last = { ...whole.last!, trace: '0af7651916cd43dd8448eb211c80319c' }
    const line = `the trace of attempt 1 is ${last.trace}`
    for (const code of ['failed', 'retrying'] as const) expect(sayWhy({ ...whole, last, code }).more).toContain(line)
    expect(sayWhy({ ...whole, last, code: 'succeeded' }).more).not.toContain(line)
    expect(sayWhy({ ...whole, code: 'failed' }).more.join()).not.toContain('trace')
  })

  test.each(diagnosisCodes)('%s is a sentence, whether much is known or nothing', (code) => {
    for (const known of [bare, whole]) {
      const { answer, more, remedies } = sayWhy({ ...known, code })
      for (const line of [answer, ...more, ...remedies]) expect(line).toMatch(/^(?!.*(undefined|NaN|null|\[object)).{10,}$/)
    }
  })

  test('has the words that the file beside this one shows, whatever is known', async () => {
    const blocker = { topic: 'invoices', sequence: 3, code: 'failed' } as const
    const variants: Readonly<Record<string, Partial<Diagnosis>>> = {
      bare,
      whole,
      'with a reason': { ...bare, task: { ...task, reason: 'cancelled', maxTries: 5 } },
      'with a reason and an error': { ...whole, task: { ...task, reason: 'tries' }, by: [blocker] },
      'with a rate, and ahead of time': {
        ...whole,
        since: at,
        until: before,
        limit: { ...whole.limit!, kind: 'rate' },
        by: [blocker],
      },
    }
    const lines = Object.entries(variants).flatMap(([name, known]) =>
      diagnosisCodes.flatMap((code) => {
        const { by = [] } = known
        const { answer, more, remedies } = sayWhy({
          ...bare,
          ...known,
          also: [],
          by: code === 'awaits' ? by : by.slice(-1),
          code,
        })
        return [`${name}, ${code}: ${answer}`, ...[...more, ...remedies].map((line) => `    ${line}`)]
      }),
    )
    const also = sayWhy({ ...whole, code: 'next' }).more[0]!
    await expect([...lines, '', also, ''].join('\n')).toMatchFileSnapshot('say-why.txt')
  })

  test('tells how often a task was put off, by whom and why', () => {
    const explanation = 'this program is too old'
    expect(sayWhy({ ...bare, code: 'delayed', putOff: { times: 1, owner: 'worker-1', explanation } }).more).toEqual([
      `put off once, by worker-1: ${explanation}`,
    ])
    expect(
      sayWhy({ ...bare, code: 'delayed', putOff: { times: 2, owner: 'worker-1', release: '1.0', explanation } }).more,
    ).toEqual([`put off 2 times, last by worker-1 (release 1.0): ${explanation}`])
    expect(sayWhy({ ...bare, code: 'overdue', putOff: { times: 3, explanation } }).more).toEqual([
      `put off 3 times: ${explanation}`,
    ])
  })

  test('of a task that waits for its time says who has paused its topic', () => {
    const { paused } = whole
    expect(sayWhy({ ...bare, code: 'delayed', also: ['paused'], paused: paused! }).more).toEqual([
      'and then: the topic is paused by kari: the bank is down',
    ])
  })

  test('says what keeps one that is needed and ready, and nothing of a topic that the reader may not see', () => {
    const needed = { topic: 'mail', sequence: 3, identifier: 'a', state: 'ready', since: before } as const
    const answerOf = (blocker: Diagnosis['by'][number]): string => sayWhy({ ...bare, code: 'awaits', by: [blocker] }).answer
    expect(answerOf({ ...needed, code: 'paused' })).toBe('needs mail/a@3, which is ready, and its topic was paused 10 min ago')
    expect(answerOf({ ...needed, code: 'no-node' })).toBe(
      'needs mail/a@3, which is ready, and no living node processes the topic',
    )
    expect(answerOf({ ...needed, code: 'unexplained' })).toBe('needs mail/a@3, which is ready')
    expect(answerOf({ topic: '', sequence: 0, code: 'failed', state: 'failed' })).toBe(
      'needs a task of another topic, which failed',
    )
  })

  test('says as which task one has gone on', () => {
    const successor = { topic: 'mail', sequence: 8, identifier: 'b', state: 'blocked', code: 'awaits' } as const
    expect(sayWhy({ ...bare, code: 'succeeded', since: before, successor }).answer).toBe(
      'succeeded 10 min ago, and went on as mail/b@8, which is blocked',
    )
  })

  test('tells how long the tasks before it take, at the pace of now', () => {
    expect(sayWhy({ ...whole, code: 'behind' }).answer).toBe('12 ready tasks come first, about 2 min at the present pace')
    expect(sayWhy({ ...bare, code: 'behind', ahead: 10_000 }).answer).toBe('10,000 or more ready tasks come first')
    expect(sayWhy({ ...bare, code: 'behind', ahead: 1 }).answer).toBe('1 ready task comes first')
  })
})

test.each<[Remedy, string | undefined]>([
  [{ verb: 'activate', topic: 'a b' }, `taskstream resume 'a b'`],
  [{ verb: 'redrive', topic: "it's", sequence: 7 }, String.raw`taskstream redrive 'it'\''s' @7`],
  [{ verb: 'redrive', topic: 'mail', state: 'expired' }, 'taskstream redrive mail --state expired'],
  [{ verb: 'cancel', topic: 'mail', sequence: 7 }, 'taskstream cancel mail @7'],
  [{ verb: 'reassign', topic: 'mail', sequence: 7 }, 'taskstream reassign mail --state failed --from 7 --to 7 --result filter'],
  [{ verb: 'reschedule', topic: 'mail', sequence: 7 }, 'taskstream run-now mail @7'],
  [{ verb: 'limit', topic: 'mail' }, 'taskstream limits mail'],
  [{ verb: 'quiet', topic: 'mail' }, 'taskstream nodes'],
  [{ verb: 'start-node', topic: 'mail' }, undefined],
])('a remedy is a command that a shell reads as it was meant: %j', (remedy, command) => {
  expect(commandOf(remedy)).toBe(command)
})
