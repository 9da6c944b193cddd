/** Tests of transactional mode: handlers write effects to a table of their own, in the transaction of their batch. */
import type { HeldTask, TaskDecision } from '@taskstream/task-api'
import type { ProcessOptions } from '@taskstream/task-processor'
import { sql } from '@taskstream/task-sql'
import { beforeAll } from 'vitest'
import { textColumn } from '../subject.ts'
import type { AnyTransaction } from '../subject.ts'
import { useNodeFixture } from './fixture.ts'
import type { NodeFixture } from './fixture.ts'

export const decideAll = (decision: TaskDecision, tasks: readonly HeldTask[]): ReadonlyMap<HeldTask, TaskDecision> =>
  new Map(tasks.map((task) => [task, decision]))

export interface Effects {
  readonly fixture: NodeFixture
  /** Writes an effect for each task. */
  write(transaction: AnyTransaction, tasks: readonly HeldTask[]): Promise<void>
  /** The identifiers of the tasks of the topic that have effects, one for each effect. */
  effects(): Promise<unknown[]>
  /** One task at a time, each in a transaction of its own. */
  options(handler: ProcessOptions<AnyTransaction>['handler']): ProcessOptions<AnyTransaction>
}

/** A fixture for one test file, in whose database effects can be written. */
export function useEffects(name: string): Effects {
  const fixture = useNodeFixture(name)
  beforeAll(async () => {
    const { subject } = fixture
    await subject.transactions((transaction) =>
      subject.execute(transaction, sql`create table effect (topic ${textColumn}, identifier ${textColumn})`),
    )
  })

  const write = async (transaction: AnyTransaction, tasks: readonly HeldTask[]): Promise<void> => {
    for (const { topic, identifier } of tasks)
      await fixture.subject.execute(transaction, sql`insert into effect values (${topic}, ${identifier})`)
  }
  const effects = async (): Promise<unknown[]> => {
    const { subject, topic } = fixture
    const query = sql`select identifier from effect where topic = ${topic} order by identifier`
    return (await subject.transactions((transaction) => subject.execute(transaction, query))).map(({ identifier }) => identifier)
  }
  const options = (handler: ProcessOptions<AnyTransaction>['handler']): ProcessOptions<AnyTransaction> => ({
    handler,
    mode: 'transactional',
    size: 1,
    concurrency: 1,
    idleMs: 20,
  })
  return { fixture, write, effects, options }
}
