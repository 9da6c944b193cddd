/** Jobs of a queue whose signature is required, and each way of changing their rows without a key. */
import type { TaskHeaders, TaskInfo } from '@taskstream/task-api'
import { raw, sql } from '@taskstream/task-sql'
import type { SqlValue } from '@taskstream/task-sql'
import { defineJob, defineQueue, fixed, json } from 'taskstream'
import type { Queue } from 'taskstream'
import { isOracle, isPostgres } from '../subject.ts'
import type { JobFixture } from './job-fixture.ts'

export interface Paid {
  readonly to: string
  readonly amount: number
}

/** Two jobs of a queue, and another queue. */
export function definitionsOf(name: string) {
  const options = { keyed: true, signed: 'required', retry: fixed({ tries: 3, afterMs: 0 }) } as const
  const [queue, elsewhere] = [defineQueue(name, options), defineQueue(`${name}:elsewhere`, options)]
  const input = json<Paid>()
  const pay = defineJob(`${name}:pay`, { queue, input, key: ({ to }) => to, id: ({ to }) => `to ${to}`, maxTries: 3 })
  const refund = defineJob(`${name}:refund`, { queue, input, key: ({ to }) => to })
  return { queue, elsewhere, pay, refund }
}

/** Writes rows as somebody does who has a connection, and no key. */
export function writerOf(fixture: JobFixture) {
  const table = raw(isPostgres ? 'taskstream.task' : 'task')
  const write = (statement: ReturnType<typeof sql>): Promise<void> =>
    fixture.commit(async (transaction) => void (await fixture.subject.execute(transaction, statement)))
  const set = ({ topic, sequence }: TaskInfo, column: string, value: SqlValue): Promise<void> =>
    write(sql`update ${table} set ${raw(column)} = ${value} where topic = ${topic} and sequence = ${sequence}`)
  return {
    set,
    setHeaders: (task: TaskInfo, change: (headers: TaskHeaders) => TaskHeaders): Promise<void> =>
      set(task, 'headers', JSON.stringify(change(task.headers!))),
    /** Inserts a row with what a row has, but for some of it. */
    copy: ({ topic, sequence }: TaskInfo, to: { readonly topic: SqlValue; readonly externalId: SqlValue }): Promise<void> => {
      // Where the table numbers no rows and dates none, whoever writes one does.
      const created = raw(isPostgres || isOracle ? '' : ', created')
      const isNumbered = fixture.subject.location.subject !== 'mariadb'
      const [sequenceColumn, next] = [
        raw(isNumbered ? '' : 'sequence, '),
        raw(isNumbered ? '' : 'next value for task_sequence, '),
      ]
      return write(sql`
        insert into ${table} (${sequenceColumn}topic, external_id, identifier, headers, input, max_tries${created})
        select ${next}${to.topic}, ${to.externalId}, identifier, headers, input, max_tries${created}
          from ${table} where topic = ${topic} and sequence = ${sequence}`)
    },
  }
}

type Writer = ReturnType<typeof writerOf>
type Tampering = (
  writer: Writer,
  pay: TaskInfo,
  others: { readonly refund: TaskInfo; readonly elsewhere: Queue },
) => Promise<void>

export const tamperings: [what: string, tamper: Tampering][] = [
  ['its input was changed', ({ set }, pay) => set(pay, 'input', '{"to":"ann","amount":1000000}')],
  ['its input was taken away', ({ set }, pay) => set(pay, 'input', null)],
  ['its key was changed', ({ set }, pay) => set(pay, 'identifier', 'eve')],
  ['its id was changed', ({ set }, pay) => set(pay, 'external_id', 'to eve')],
  ['its id was taken away', ({ set }, pay) => set(pay, 'external_id', null)],
  ['it has more tries', ({ set }, pay) => set(pay, 'max_tries', 32_000)],
  ['it has tries without end', ({ set }, pay) => set(pay, 'max_tries', null)],
  [
    'its name was changed',
    ({ setHeaders }, pay, { refund }) => setHeaders(pay, (headers) => ({ ...headers, job: refund.headers!['job']! })),
  ],
  ['its version was changed', ({ setHeaders }, pay) => setHeaders(pay, (headers) => ({ ...headers, version: 2 }))],
  ['its version is none', ({ setHeaders }, pay) => setHeaders(pay, (headers) => ({ ...headers, version: 'x' }))],
  ['its signature was taken away', ({ setHeaders }, pay) => setHeaders(pay, ({ job }) => ({ job: job! }))],
  ['its signature is none', ({ setHeaders }, pay) => setHeaders(pay, (headers) => ({ ...headers, sig: 'signed' }))],
  [
    'its signature is of another job',
    ({ setHeaders }, pay, { refund }) => setHeaders(pay, (headers) => ({ ...headers, sig: refund.headers!['sig']! })),
  ],
  [
    'its time of signing was changed',
    ({ setHeaders }, pay) => setHeaders(pay, ({ sig, ...others }) => ({ ...others, sig: { ...(sig as object), at: '2036' } })),
  ],
  [
    'its key is unknown',
    ({ setHeaders }, pay) => setHeaders(pay, ({ sig, ...others }) => ({ ...others, sig: { ...(sig as object), key: 'mine' } })),
  ],
  ['it was moved to another queue', ({ set }, pay, { elsewhere }) => set(pay, 'topic', elsewhere.name)],
]
