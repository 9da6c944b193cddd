/** A member of a group. While it leads, it commits one line after the other, each with its term. */
import { setTimeout as delay } from 'node:timers/promises'
import { Leader } from '@taskstream/task-coordination'
import type { CoordinatedRepository } from '@taskstream/task-coordination'
import { sql } from '@taskstream/task-sql'
import type { AnyTransaction } from '../../subject.ts'
import { group, leaseMs } from '../setting.ts'
import { beActor, insist } from './actor.ts'

await beActor(async ({ orders, subject, transactions, tasks }) => {
  const { actor } = orders
  const leader = await insist(async () => {
    const each = new Leader<AnyTransaction>({
      repository: tasks() as unknown as CoordinatedRepository<AnyTransaction>,
      transactions,
      groupId: group,
      taskId: actor,
      livenessCheckIntervalMs: leaseMs,
      heartbeatIntervalMs: leaseMs / 5,
      createTables: false,
      listener: { onError: () => {} },
    })
    await each.start()
    return each
  })
  const leading = leader
    .run(async ({ term, signal, transaction }) => {
      while (!signal.aborted) {
        await transaction((within) =>
          subject.execute(within, sql`insert into lab_led (group_id, actor, term) values (${group}, ${actor}, ${term})`),
        ).catch(() => delay(20))
        await delay(20)
      }
      throw signal.reason
    })
    .catch(() => {})
  return {
    stop: async () => {
      await leader.stop()
      await leading
    },
  }
})
