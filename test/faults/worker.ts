/** A worker that polls, writes an effect and completes, and kills itself at an exact moment. */
import { setTimeout as delay } from 'node:timers/promises'
import { isTaskError, TaskDecision } from '@taskstream/task-api'
import type { HeldTask, Holding } from '@taskstream/task-api'
import { sql } from '@taskstream/task-sql'
import { reopenSubject } from '../subject.ts'
import type { Session } from '../subject.ts'
import { die } from './die.ts'
import type { Moment, Orders } from './orders.ts'

const { location, death } = JSON.parse(process.argv[2] ?? '{}') as Orders
const subject = await reopenSubject(location)
const tasks = subject.tasks()
await subject.transactions((transaction) => tasks.register(transaction))
process.send?.({ owner: tasks.owner })
// The worker must not outlive its test.
process.on('disconnect', () => process.exit())
const session = await subject.session()

for (let round = 0; ; round++) {
  const moment = (now: Moment): void => {
    if (death?.moment === now && round >= death.passes) die()
  }
  moment('before the poll begins')
  await begin(session)
  moment('the poll has begun')
  const batch = (await tasks.poll(session.transaction, 'work', { size: 1 + (round % 5) })) as HeldTask[]
  if (batch.length > 0) moment('tasks are claimed')
  await session.commit()
  if (batch.length === 0) {
    await delay(5)
    continue
  }
  moment('the poll is committed')
  await begin(session)
  moment('the completion has begun')
  const { held } = (await tasks.hold(session.transaction, 'work', batch)) as Holding
  moment('tasks are locked')
  for (const { identifier, attempt } of held) {
    await subject.execute(session.transaction, sql`insert into effect (identifier, attempt) values (${identifier}, ${attempt})`)
  }
  moment('the effect is written')
  await tasks.complete(session.transaction, 'work', new Map(held.map((task) => [task, TaskDecision.success()])), { strict: true })
  moment('tasks are completed')
  await session.commit()
  moment('the completion is committed')
}

/** SQLite has one writer at a time, so other workers try again. */
async function begin({ begin: once }: Session): Promise<void> {
  for (;;) {
    try {
      return await once()
    } catch (error) {
      if (!String(error).includes('locked') && !isTaskError(error, 'DATABASE_BUSY')) throw error
      await delay(Math.random() * 4)
    }
  }
}
