/** A process that settles tasks is killed with kill -9 after each of its statements, and as it commits: another one does what is left. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { TaskDecision } from '@taskstream/task-api'
import type { HeldTask, PushedTask, Settlement, TaskDependency, TaskInfo, TaskKey } from '@taskstream/task-api'
import { openFixture } from '@taskstream/task-testing/suite'
import { describe, expect, test } from 'vitest'
import { canRun, engine } from '../subject.ts'
import type { SettlerOrders } from './settler.ts'

const blocked = { free: 'suspended', both: 'suspended', doomed: 'suspended', follower: 'suspended' }
const settled = { free: 'ready', both: 'ready', doomed: 'failed unreachable', follower: 'suspended' }

describe.skipIf(!canRun)('whoever settles tasks and is killed', () => {
  test(
    'leaves all of them as they were, or none, wherever it dies; the next one settles them',
    { timeout: 300_000 },
    async () => {
      await using fixture = await openFixture(engine)
      const { tasks, commit } = fixture
      /** Tasks that have ended in each way, and those that need them. @returns the task that has gone on for another */
      const prepare = async (): Promise<PushedTask> => {
        await fixture.nextTopic()
        const [good, bad, moved] = await fixture.push('good', 'bad', 'moved')
        const [next] = await fixture.push({ identifier: 'next', delayMs: 3_600_000 })
        const decisions = [TaskDecision.success(), TaskDecision.failure('no'), TaskDecision.success().withSuccessor(next!)]
        const held = await fixture.poll(3)
        await commit((transaction) =>
          tasks.complete(transaction, fixture.topic, new Map(held.map((task: HeldTask, index) => [task, decisions[index]!]))),
        )
        const on = (...needed: readonly (TaskKey & { readonly tolerant?: boolean })[]): TaskDependency[] =>
          needed.map(({ topic, sequence, tolerant = false }, index) => ({ need: `n${index}`, on: { topic, sequence }, tolerant }))
        for (const [name, needs] of [
          ['free', on(good!)],
          ['both', on(good!, { ...bad!, tolerant: true })],
          ['doomed', on(good!, bad!)],
          ['follower', on(moved!)],
        ] as const) {
          const [task] = await fixture.push({ identifier: name, suspended: true })
          await commit((transaction) => tasks.depend(transaction, task!, needs))
        }
        return next!
      }
      const infos = async (): Promise<TaskInfo[]> => (await fixture.page()).filter(({ identifier }) => identifier in blocked)
      const statesNow = async (): Promise<Record<string, string>> =>
        Object.fromEntries(
          (await infos()).map(({ identifier, state, reason }) => [identifier, reason ? `${state} ${reason}` : state]),
        )

      const deaths: number[] = []
      for (let diesAfter = 0; ; diesAfter++) {
        const next = await prepare()
        const orders: SettlerOrders = { location: fixture.subject.location, topic: fixture.topic, diesAfter }
        const settler = fork(new URL('settler.ts', import.meta.url), [JSON.stringify(orders)], {
          execArgv: ['--conditions=@taskstream/source'],
        })
        const [code, signal] = (await once(settler, 'close')) as [number | null, string | null]
        if (signal === null) {
          expect(code).toBe(0)
          expect(await statesNow()).toEqual(settled)
          break
        }
        expect(signal).toBe('SIGKILL')
        deaths.push(diesAfter)
        // Only a commit that was sent may have been done.
        if (diesAfter === 0) expect([blocked, settled]).toContainEqual(await statesNow())
        else expect(await statesNow()).toEqual(blocked)
        // A server may not have noticed yet that the one who died has gone: its rows are passed over until then.
        await expect
          .poll(async () => {
            await commit<Settlement>((transaction) => tasks.settle(transaction, fixture.topic))
            return statesNow()
          })
          .toEqual(settled)
        const follower = (await infos()).find(({ identifier }) => identifier === 'follower')!
        const [needed] = await commit<readonly (readonly TaskDependency[])[]>((transaction) =>
          tasks.dependencies(transaction, [follower]),
        )
        expect(needed).toMatchObject([{ need: 'n0', on: { sequence: next.sequence } }])
      }
      // It makes a look, follows who has gone on, looks again, starts and fails: each at least a statement.
      expect(deaths.length).toBeGreaterThan(6)
    },
  )
})
