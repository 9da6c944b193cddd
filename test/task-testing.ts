/** Opens task-testing with either driver, as one type. */
import { testTasks } from '@taskstream/task-testing'
import type { Drained, TestTasks, TestTasksOptions } from '@taskstream/task-testing'

/** The methods that both connections have. */
export interface Connection {
  exec(text: string): unknown
  prepare(text: string): { get(...values: unknown[]): unknown }
}

export const drivers = ['node:sqlite', 'better-sqlite3']
export const now = new Date('2026-01-01')
export const later = (ms: number): Date => new Date(now.getTime() + ms)

/** Opens task-testing with a topic `mail`, on the first of January. */
export const openTestTasks = (driver: string, options: TestTasksOptions = {}): Promise<TestTasks<Connection>> =>
  testTasks({ topics: ['mail'], now, ...options, driver } as never) as unknown as Promise<TestTasks<Connection>>

/** The identifier, result, state and message of each completion. */
export const lines = ({ handled }: Drained): string[] =>
  handled.map(({ task, decision, state }) =>
    [task.identifier, decision.result, state, decision.toMessage()?.split('\n')[0]].join(' ').trim(),
  )
