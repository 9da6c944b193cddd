import type { FilterState } from '@taskstream/task-api'

/** The step of `columnSteps` that leads to a task in each state. */
export const stepTo: Readonly<Record<FilterState, string>> = {
  active: 'poll',
  ready: 'push',
  expired: 'expire',
  failed: 'fail',
  suspended: 'suspend',
  delayed: 'retry',
  filtered: 'filter',
  succeeded: 'succeed',
  recreated: 'recreate after fail',
  redundant: 'supersede what is ready',
}
