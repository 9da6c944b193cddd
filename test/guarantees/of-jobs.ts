/** Promises about jobs, with the tests that try to break them. */
import type { Guarantee } from './guarantee.ts'

export const guaranteesOfJobs: readonly Guarantee[] = [
  {
    promise: 'A job exists if, and only if, the transaction that pushes it commits',
    tests: ['e2e/jobs-pushed#exists if, and only if'],
  },
  {
    promise: 'What a handler commits takes effect once, together with its job, though others share the transaction or fail',
    tests: [
      'e2e/jobs-handled#commits its work with its job',
      'e2e/jobs-handled#commits each of many jobs once',
      'e2e/jobs-cancelled#commits nothing for it',
    ],
  },
  {
    promise: 'A job that goes on is followed by another one, pushed in the transaction that completes it',
    tests: ['e2e/jobs-handled#goes on with another job'],
  },
  {
    promise:
      'What a job returns is kept if, and only if, the job is completed, and whoever waits for it gets it, from the last that went on',
    tests: [
      'conformance/endings',
      'e2e/jobs-results#gets what it returns',
      'e2e/jobs-results#waits for the last',
      'e2e/jobs-results#fails its try',
    ],
  },
  {
    promise: 'An input that does not fit is refused when it is pushed, and never reaches a handler',
    tests: ['e2e/jobs-pushed#is refused by name', 'e2e/jobs-handled#is not called with an input'],
  },
  {
    promise: 'An input of a typed topic that does not fit fails its own task alone, and no other of its batch',
    tests: ['e2e/topics-typed-inputs#ends a task whose input', 'e2e/topics-typed-inputs#ends such a task at once'],
  },
  {
    promise:
      'An input of an earlier version is brought up before its handler is called, and one of a later version waits, with all its tries, for a program that knows it',
    tests: [
      'e2e/jobs-versions#of every earlier version',
      'e2e/jobs-versions#that cannot be brought up',
      'e2e/jobs-versions#of a later version',
      'e2e/jobs-versions#that is old is brought up',
    ],
  },
  {
    promise: 'A check reads what waits as its handlers would, and changes nothing',
    tests: ['e2e/jobs-checked'],
  },
  {
    promise:
      'A job that needs others starts once, when all have succeeded, however they end at once; if one does not, it fails, and so does what needs it',
    tests: ['conformance/dependencies', 'conformance/needs-rivals', 'properties/needs', 'e2e/jobs-needs'],
  },
  {
    promise: 'The jobs of a key run one after the other, in the order of their pushes, and those of other keys meanwhile',
    tests: ['e2e/jobs-handled#runs the jobs of a key'],
  },
  {
    promise: 'Middleware runs around every try, once, and what a handler commits is not lost on its way',
    tests: [
      'e2e/jobs-middleware#runs the first outermost',
      'e2e/jobs-middleware#lets commits',
      'e2e/jobs-middleware#that is misused',
    ],
  },
  {
    promise: 'A verb for a job of a queue does nothing to the jobs of other definitions in it',
    tests: [
      'e2e/jobs-queues-found#of other definitions',
      'e2e/jobs-queues-found#are cancelled and rescheduled',
      'e2e/jobs-queues-found#are listed',
    ],
  },
  {
    promise:
      'A job of a queue is handled by the route of its name or its longest prefix, and fails with ROUTE_MISSING without one',
    tests: ['e2e/jobs-routes#is that of the name', 'e2e/jobs-routes#that is missing'],
  },
  {
    promise: 'A try ends when its time is up, and its handler can commit nothing any more',
    tests: ['e2e/jobs-time#is up after', 'e2e/jobs-time#ends a job whose handler', 'e2e/jobs-time#begins anew'],
  },
  {
    promise:
      'What a program or a service answers ends its job, once and as its schema says; no program goes on for a job that was cancelled, is late, or is handed back',
    tests: ['e2e/jobs-external'],
  },
]
