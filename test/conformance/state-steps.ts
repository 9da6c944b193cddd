/** For tests that need a task in each state: the step of `columnSteps` that leads there. */
import type { FilterState } from '@taskstream/task-api'

export const stepTo: Readonly<Record<FilterState, string>> = {
  active: 'poll',
  ready: 'push',
  expired: 'expire',
  failed: 'fail',
  suspended: 'suspend',
  delayed: 'retry',
  blocked: 'block',
  filtered: 'filter',
  succeeded: 'succeed',
  recreated: 'recreate after fail',
  redundant: 'supersede what is ready',
}
