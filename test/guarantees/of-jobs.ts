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
    promise: 'Under a limit per key, never more than so many jobs of a key are handled at a time, by all processes together',
    tests: ['e2e/jobs-per-key#are handled n at a time', 'e2e/jobs-per-key#of a queue count together'],
  },
  {
    promise:
      'Jobs of a key that has several identifiers are shown with the key, and found, cancelled and rescheduled by it together',
    tests: [
      'e2e/jobs-per-key#are shown with their key alone',
      'e2e/jobs-per-key#are listed and found together',
      'e2e/jobs-per-key#are cancelled and rescheduled together',
    ],
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
    tests: [
      'e2e/jobs-time#is up after',
      'e2e/jobs-time#is that of the push',
      'e2e/jobs-time#ends a job whose handler',
      'e2e/jobs-time#begins anew',
    ],
  },
  {
    promise:
      'What a program or a service answers ends its job, once and as its schema says; no program goes on for a job that was cancelled, is late, or is handed back',
    tests: ['e2e/jobs-external'],
  },
  {
    promise: 'No more jobs are handled at a time than the total that all processes share, and what a dead one had is free again',
    tests: ['conformance/limits#on all tasks at a time', 'e2e/jobs-limited#on jobs at a time'],
  },
  {
    promise: 'No more jobs start in a time than the rate says, over all processes',
    tests: ['conformance/limits#on a rate', 'e2e/jobs-limited#on a rate'],
  },
  {
    promise: 'A queue has no more entries than it may have: pushes are refused whole, or the oldest ready jobs make room',
    tests: ['conformance/limits#on entries', 'e2e/jobs-limited#on entries'],
  },
  {
    promise: 'A job that fails for good has one copy among the dead letters, committed with its failure',
    tests: ['conformance/limits#with dead letters', 'e2e/jobs-limited#with dead letters'],
  },
  {
    promise: 'Whoever watches jobs is told of all that this process commits, and of nothing that is rolled back',
    tests: [
      'e2e/jobs-watched#is told what this process does',
      'e2e/jobs-watched#is told of pushes, cancellations',
      'e2e/jobs-watched#is told of what a handler pushes',
    ],
  },
  {
    promise: 'Watching tells each state of a job once, whoever sees it first, and survives a database that is away',
    tests: ['e2e/jobs-watched#each state once', 'e2e/jobs-watched#goes on after the database was away'],
  },
  {
    promise:
      'Whoever can write rows, but has no key, has no signed job done: a row that was changed, copied or written by hand fails at once, and its handler is not called',
    tests: [
      'e2e/jobs-signed#is not handled if its input was changed',
      'e2e/jobs-signed#is not handled if its name was changed',
      'e2e/jobs-signed#is not handled if its id was changed',
      'e2e/jobs-signed#is not handled if its key was changed',
      'e2e/jobs-signed#is not handled if it has more tries',
      'e2e/jobs-signed#is not handled if its signature was taken away',
      'e2e/jobs-signed#is not handled if its signature is of another job',
      'e2e/jobs-signed#is not handled if it was moved to another queue',
      'e2e/jobs-signed#is not handled if it was copied or pushed by hand',
    ],
  },
  {
    promise: 'A job that is signed verifies in whatever way it was pushed, after any verb, and by any of several keys',
    tests: ['e2e/jobs-signed#is signed in whatever way', 'e2e/jobs-signed#verifies by any of several keys'],
  },
  {
    promise: 'Functions are tasks as TaskLib has them, and each state of a task is told by its word, however the task ends',
    tests: ['e2e/tasklib', 'e2e/tasklib-ends'],
  },
  {
    promise:
      'A task of asyncjobs is stored once, starts when all that it depends on is complete, and is unreachable if that cannot be',
    tests: ['e2e/asyncjobs-queues#is stored once', 'e2e/asyncjobs#is blocked until', 'e2e/asyncjobs#is unreachable if'],
  },
  {
    promise:
      'However tasks of TaskLib and asyncjobs are submitted, fail, take too long, lose their processes, are cancelled and tried again, they end as a model says',
    tests: ['properties/facade-ends'],
  },
]
