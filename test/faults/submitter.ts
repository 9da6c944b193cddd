/** A process that submits jobs, and again those whose outcome it does not know. */
import { once } from 'node:events'
import type { Execution } from '@taskstream/task-api'
import { isTaskError, Stream } from 'taskstream'
import { reopenSubject } from '../subject.ts'
import type { AnyTransaction, Tasks } from '../subject.ts'
import { order } from './submitted.ts'
import type { Said, SubmitterOrders, SubmitterReport } from './submitted.ts'
import { unsure } from './unsure.ts'

const { location, waves } = JSON.parse(process.argv[2] ?? '{}') as SubmitterOrders
// The process must not outlive its test.
process.on('disconnect', () => process.exit())
const subject = await reopenSubject(location)
const tasks = subject.tasks()
const committed: Said[] = []
const answers: Said[] = []
let asked = 0
let unanswered = 0
let unwritten = 0
let conflicts = 0
/** What the transaction under way has pushed. A submitter has one at a time. */
let pushed: Said[] = []

const repository = {
  ...tasks,
  push: async (...args: Parameters<Tasks['push']>) => {
    const creations = args[2] as readonly { readonly externalId: string }[]
    const said = await tasks.push(...args)
    pushed.push(...said.map(({ sequence, outcome }, index) => ({ id: creations[index]!.externalId, sequence, outcome })))
    return said
  },
} as Tasks

/** In turn, one transaction is answered, one is committed and not answered, one is answered, and one fails before it has written. */
const transactions = unsure(subject.transactions, {
  refuses: () => {
    const isUnwritten = asked++ % 4 === 3
    if (isUnwritten) unwritten++
    return isUnwritten
  },
  onBegin: () => void (pushed = []),
  onCommitted: () => {
    committed.push(...pushed)
    const isUnanswered = asked % 4 === 2
    if (isUnanswered) unanswered++
    return isUnanswered
  },
})

const stream = new Stream<AnyTransaction, Execution>({ repository, transactions }, { migrate: false })

async function submit(number: number): Promise<void> {
  for (;;) {
    try {
      const { id, sequence, outcome } = await stream.submit(order, number)
      answers.push({ id, sequence, outcome })
      return
    } catch (error) {
      if (isTaskError(error, 'TRANSACTION_CONFLICT')) conflicts++
      else if (!isTaskError(error, 'DATABASE_UNAVAILABLE')) throw error
    }
  }
}

process.send?.('ready')
await once(process, 'message')
for (const wave of waves) await Promise.all(wave.map(submit))
const report: SubmitterReport = { committed, answers, unanswered, unwritten, conflicts }
process.send?.(report)
