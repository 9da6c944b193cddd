/** If several nodes look for the same persisted clock jobs, each run happens on one node only. */
import { TaskNode } from '@taskstream/task-processor'
import { PersistedClockJobs } from '@taskstream/task-scheduler'
import type { ClockJobLogEntry, PersistedClockJobContext } from '@taskstream/task-scheduler'
import { useFixture } from '@taskstream/task-testing/suite'
import { describe, expect, test } from 'vitest'
import { canRun, engine } from '../subject.ts'
import type { AnyTransaction } from '../subject.ts'

describe.skipIf(!canRun)('persisted jobs of two nodes', () => {
  const fixture = useFixture(engine)

  test('run each fire in one of them, once', async () => {
    const fires: string[] = []
    const logged: ClockJobLogEntry[] = []
    const both = Promise.withResolvers<void>()
    const begun = new Set<string>()
    await using open = new AsyncDisposableStack()
    /** Starts jobs and a node, as each process does. */
    const start = async (name: string): Promise<PersistedClockJobs<AnyTransaction>> => {
      const { transactions } = fixture.subject
      const repository = fixture.subject.tasks()
      const work = async ({ id, scheduledFor }: PersistedClockJobContext): Promise<void> => {
        fires.push(`${id} ${scheduledFor.getTime()}`)
        begun.add(name)
        if (begun.size === 2) both.resolve()
        // No run ends before both nodes have begun one. One node alone has no room for all of them.
        await both.promise
      }
      const onLog = (entry: ClockJobLogEntry): void => void logged.push(entry)
      const jobs = new PersistedClockJobs<AnyTransaction>({ repository, transactions, handlers: { work }, workers: 1, onLog })
      const node = open.use(new TaskNode({ repository, transactions }))
      await jobs.start(node)
      open.use(jobs)
      await node.start()
      return jobs
    }
    const first = await start('first')
    const [jobs, times] = [6, 5]
    for (let job = 0; job < jobs; job++) await first.schedule('work', { id: `job ${job}`, intervalMs: 1, maxCount: times })
    const second = await start('second')
    await expect.poll(() => second.running()).toEqual([])
    const states = (): Promise<string[]> =>
      fixture.commit(async (transaction) => (await fixture.tasks.page(transaction, 'jobs')).map(({ state }) => state))
    await expect.poll(states).toEqual(Array.from({ length: jobs * times }, () => 'succeeded'))
    expect(fires.toSorted()).toEqual([...new Set(fires)].toSorted())
    expect(fires).toHaveLength(jobs * times)
    expect(logged).toEqual([])
  })
})
