/** Shared by the tests of tasks that need others: shorthands that commit. */
import { TaskDecision } from '@taskstream/task-api'
import type { Settlement, TaskDependency, TaskInfo, TaskKey } from '@taskstream/task-api'
import { testClock } from '../test-clock.ts'
import type { TestClock } from '../test-clock.ts'
import type { Engine } from './engine.ts'
import { useFixture } from './fixture.ts'
import type { Fixture } from './fixture.ts'

export interface DependencyFixture {
  readonly clock: TestClock
  readonly fixture: Fixture
  /** Needs of these tasks, named `n0` and so on. */
  on(...tasks: readonly TaskKey[]): TaskDependency[]
  depend(task: TaskKey, needs: readonly TaskDependency[]): Promise<unknown>
  /** Pushes a task that needs others. */
  blocked(name: string, ...needs: readonly TaskDependency[]): Promise<TaskKey>
  settle(limit?: number): Promise<Settlement>
  infoOf(task: TaskKey): Promise<TaskInfo | undefined>
  needsOf(task: TaskKey): Promise<readonly TaskDependency[]>
  /** Pushes a task, and ends it. */
  ended(name: string, decision?: TaskDecision): Promise<TaskKey>
}

export function useDependencyFixture(engine: Engine): DependencyFixture {
  const clock = testClock(new Date('2026-01-01T00:00:00.000Z'))
  const fixture = useFixture(engine, { clock: clock.now, topic: { keyed: true } })

  const on = (...tasks: readonly TaskKey[]): TaskDependency[] =>
    tasks.map(({ topic, sequence }, index) => ({ need: `n${index}`, on: { topic, sequence } }))
  const depend = (task: TaskKey, needs: readonly TaskDependency[]): Promise<unknown> =>
    fixture.commit<unknown>((transaction) => fixture.tasks.depend(transaction, task, needs))
  /** Pushes a task that needs others. */
  const blocked = async (name: string, ...needs: readonly TaskDependency[]): Promise<TaskKey> => {
    const [task] = await fixture.push({ identifier: name, suspended: true })
    await depend(task!, needs)
    return task!
  }
  const settle = (limit?: number): Promise<Settlement> =>
    fixture.commit<Settlement>((transaction) =>
      fixture.tasks.settle(transaction, fixture.topic, limit === undefined ? {} : { limit }),
    )
  const infoOf = (task: TaskKey): Promise<TaskInfo | undefined> =>
    fixture.commit<TaskInfo | undefined>((transaction) => fixture.tasks.task(transaction, task.topic, task.sequence))
  const needsOf = async (task: TaskKey): Promise<readonly TaskDependency[]> => {
    const [found] = await fixture.commit<readonly (readonly TaskDependency[])[]>((transaction) =>
      fixture.tasks.dependencies(transaction, [task]),
    )
    return found!
  }
  const ended = async (name: string, decision: TaskDecision = TaskDecision.success()): Promise<TaskKey> => {
    const [task] = await fixture.push(name)
    await fixture.complete(await fixture.poll(1), decision)
    return task!
  }
  return { clock, fixture, on, depend, blocked, settle, infoOf, needsOf, ended }
}
