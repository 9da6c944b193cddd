/** All promises, with the tests that try to break them. */
import type { Guarantee } from './guarantee.ts'
import { guaranteesOfFaults } from './of-faults.ts'
import { guaranteesOfJobs } from './of-jobs.ts'
import { guaranteesOfNodes } from './of-nodes.ts'
import { guaranteesOfOperators } from './of-operators.ts'
import { guaranteesOfTasks } from './of-tasks.ts'

export const sections: readonly { readonly title: string; readonly guarantees: readonly Guarantee[] }[] = [
  { title: 'Tasks and topics', guarantees: guaranteesOfTasks },
  { title: 'When something goes wrong', guarantees: guaranteesOfFaults },
  { title: 'Nodes, timers and the command line', guarantees: guaranteesOfNodes },
  { title: 'Jobs', guarantees: guaranteesOfJobs },
  { title: 'Operators', guarantees: guaranteesOfOperators },
]
