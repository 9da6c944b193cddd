export type { Drained, DrainOptions, HandledTask } from './drain.ts'
export type { TestClock } from './test-clock.ts'
export { testTasks } from './test-tasks.ts'
export type { TestTasks, TestTasksOptions } from './test-tasks.ts'
