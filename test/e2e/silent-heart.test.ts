/** A node that others may take for dead does not poll. It polls again as soon as a heartbeat has succeeded. */
import { TaskError } from '@taskstream/task-api'
import { eachTask } from '@taskstream/task-processor'
import { describe, expect, test } from 'vitest'
import { canRun } from '../subject.ts'
import type { Tasks } from '../subject.ts'
import { useNodeFixture } from './fixture.ts'
import { watchedClock } from './watched-clock.ts'

const aDay = 86_400_000

describe.skipIf(!canRun)('a node whose heart is not heard', () => {
  const fixture = useNodeFixture('silent')

  test.each(['leased', 'transactional'] as const)(
    'polls nothing, in %s mode, though its polls would be answered; and begins again as soon as it is heard',
    async (mode) => {
      const clock = watchedClock()
      const own = fixture.subject.tasks({ clock: clock.now })
      const told: string[] = []
      let [silent, polls, asked] = [false, 0, 0]
      const repository: Tasks = {
        ...own,
        heartbeat: (transaction) => {
          asked++
          if (silent) throw new TaskError('DATABASE_UNAVAILABLE', 'not this time')
          return own.heartbeat(transaction)
        },
        poll: (...args: Parameters<Tasks['poll']>) => (polls++, own.poll(...args)),
      }
      await using node = fixture.nodeOf({
        repository,
        clock,
        heartbeatIntervalMs: 700,
        leaseMs: 7_000,
        maintenanceIntervalMs: aDay,
        listener: { onLeaseLost: () => void told.push('lost'), onEmpty: () => void told.push('empty') },
      })
      const handled: string[] = []
      const handler = eachTask(({ identifier }) => void handled.push(identifier))
      node.process(fixture.topic, { mode, idleMs: aDay, handler })
      await node.start()
      await expect.poll(() => told).toEqual(['empty'])
      silent = true
      clock.advance(7_700)
      expect(told).toEqual(['empty', 'lost'])
      await fixture.push('a')
      const before = polls
      /** How often the loop went back to sleep because it may not poll. */
      const looked = (): number => clock.pauses.filter((ms) => ms === 1_000).length
      for (let round = 0; round < 3; round++) {
        const last = looked()
        node.wake(fixture.topic)
        await expect.poll(looked).toBeGreaterThan(last)
      }
      expect([polls, await fixture.states()]).toEqual([before, { ready: 1 }])
      silent = false
      // The next heartbeat does not begin before the last one has ended. A loop that it did not wake would sleep on for the rest
      // of its second.
      const last = asked
      await expect
        .poll(
          () => {
            if (asked === last) clock.advance(700)
            return asked
          },
          // Were it moved on more often than a busy machine begins a heartbeat, the lease would run out again.
          { interval: 500 },
        )
        .toBeGreaterThan(last)
      await expect.poll(() => handled).toEqual(['a'])
      await expect.poll(fixture.states).toEqual({ succeeded: 1 })
      expect(told.filter((event) => event === 'lost')).toHaveLength(1)
    },
  )
})
