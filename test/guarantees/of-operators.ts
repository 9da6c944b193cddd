/** Promises to those who operate it, with the tests that try to break them. */
import type { Guarantee } from './guarantee.ts'

export const guaranteesOfOperators: readonly Guarantee[] = [
  {
    promise: 'Why a task does not run has one answer for every task, and whatever keeps it is followed to the first that does',
    tests: ['conformance/why'],
  },
  {
    promise: 'Failures are told by error, with the release that each was first seen in, and are redriven by error, one first',
    tests: ['conformance/inspection'],
  },
  {
    promise: 'A process tells what it is and how it fares; one that has died is shown as dead after its lease',
    tests: ['conformance/nodes', 'e2e/reporting', 'e2e/reporting-killed', 'e2e/scheduler-reports'],
  },
  {
    promise: 'A node that is asked to be quiet finishes what it has, takes no more of any topic, and goes on when it is asked to',
    tests: ['e2e/quiet'],
  },
  {
    promise: 'What people do to many tasks is committed together with its record; of two at once, each task is done once',
    tests: ['e2e/actions#leave neither', 'e2e/actions#of two operators', 'e2e/actions#are previewed exactly'],
  },
  {
    promise: 'An undo restores what nobody has touched since, once, and keeps the order of an identifier',
    tests: ['conformance/restoring', 'e2e/actions', 'e2e/cli-undo'],
  },
  {
    promise: 'Each of nine incidents is found by one command, and what that command advises mends it',
    tests: ['e2e/cli-incidents'],
  },
]
