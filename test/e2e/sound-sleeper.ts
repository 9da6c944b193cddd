/** A node that nothing wakes by itself, for tests of what does wake it. */
import type { TaskNotifier, TransactionSource } from '@taskstream/task-api'
import { TaskNode } from '@taskstream/task-processor'
import type { TaskListener } from '@taskstream/task-processor'
import { testClock } from '@taskstream/task-testing'
import type { TestClock } from '@taskstream/task-testing'
import type { AnyTransaction, Tasks } from '../subject.ts'

const aDay = 86_400_000

export interface SoundSleeper {
  readonly node: TaskNode<AnyTransaction>
  /** Stands still. Only the test moves it. */
  readonly clock: TestClock
  /** Whether a poll has found nothing since the start, the end of the last batch and the last error. Each of them has the node poll. */
  readonly isAsleep: () => boolean
}

/** Makes a node whose pauses never end. Once it is asleep, it finds no task unless it is woken. */
export function soundSleeper(options: {
  readonly repository: Tasks
  readonly transactions: TransactionSource<AnyTransaction>
  readonly notifier?: TaskNotifier
  readonly listener?: Pick<TaskListener, 'onError' | 'onRecovered'>
}): SoundSleeper {
  const { listener = {}, ...others } = options
  const clock = testClock(new Date())
  let isAsleep = false
  let isBusy = false
  const node = new TaskNode({
    ...others,
    clock,
    heartbeatIntervalMs: aDay,
    leaseMs: 3 * aDay,
    maintenanceIntervalMs: aDay,
    listener: {
      ...listener,
      onStart: () => {
        isBusy = true
        isAsleep = false
      },
      onComplete: () => void (isBusy = false),
      onEmpty: () => void (isAsleep = !isBusy),
      onError: (event) => {
        isAsleep = false
        listener.onError?.(event)
      },
    },
  })
  return { node, clock, isAsleep: () => isAsleep }
}
