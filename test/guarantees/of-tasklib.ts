/** The requirements of TaskLib in few words, with the tests that keep each, or the reason why none does. */
import type { Requirement } from './requirements.ts'

const work = 'e2e/tasklib'
const ends = 'e2e/tasklib-ends'
const unit = 'unit/tasklib'
const model = 'properties/facade-ends#in the words of TaskLib'

export const keptOfTaskLib: readonly Requirement[] = [
  {
    number: 1,
    about: '`init` makes the tables if they are missing',
    tests: ['e2e/jobs-started#migrates the tables before it starts', `${work}#before init`],
  },
  { number: 1, about: 'before `init` nothing can be submitted, looked at or listed', tests: [`${work}#before init`] },
  {
    number: 2,
    about: 'defaults of `maxRetries`, `baseRetryDelaySeconds`, `retryBackoffMultiplier`, `defaultTaskTimeoutSeconds`',
    tests: [`${unit}#the pauses before the retries`, `${unit}#options of all tasks`, `${work}#has the options of its submission`],
  },
  {
    number: 2,
    about: '`databaseUrl`, `workerId`',
    note: 'The stream has the database, and names its owner by host and process.',
  },
  {
    number: 2,
    about: '`lockTimeoutSeconds`',
    note: 'The lease is that of the worker, `leaseMs` of the stream. Heartbeats renew it, so no task need end within it.',
  },
  {
    number: 3,
    about: '`task` registers a function by its name and returns it as it is; a second of that name is refused',
    tests: [`${unit}#a function is registered`],
  },
  {
    number: 3,
    about: 'options of a registration, which may be wrong',
    tests: [`${unit}#what cannot be registered`],
    note: 'The schema of the arguments is the option `kwargs`: any Standard Schema, as TypeScript has no types at run time.',
  },
  { number: 3, about: '`getRegisteredTasks` returns a copy', tests: [`${unit}#a function is registered`] },
  {
    number: 4,
    about: '`submitTask` returns a UUID, and stores the arguments with their defaults',
    tests: [`${work}#is submitted pending`, `${unit}#ids are UUIDs`],
    note: 'Arguments are an object of their own, so none can have the name of an option.',
  },
  {
    number: 4,
    about: 'a function that is not registered, and arguments that do not fit, are refused',
    tests: [`${work}#is refused if its function`],
  },
  {
    number: 4,
    about: 'the call counts before the registration, and that before the configuration; no retries are a number too',
    tests: [`${work}#has the options of its submission`],
  },
  { number: 4, about: 'a delay', tests: [`${work}#is worked off by priority`] },
  {
    number: 5,
    about: 'what is known of a task',
    tests: [`${work}#is submitted pending`, `${ends}#completes with`, `${ends}#is tried maxRetries`],
    note: 'Without `args`, which TaskLib keeps for later, and `locked_until`, as the lease is that of the worker. `scheduledAt` is known until the first try, and `startedAt` is that of the last one: `stream.attempts` has those that failed. The tables and indexes are those of taskstream.',
  },
  {
    number: 6,
    about: 'four states, and what they are asked',
    tests: [
      `${work}#is submitted pending`,
      `${ends}#completes with`,
      `${ends}#has failed while it waits`,
      `${ends}#has a state of TaskLib`,
      model,
    ],
    note: '`isTerminal` is false while a retry is to come, whichever it is.',
  },
  {
    number: 7,
    about: 'by priority, then by the time of submission; each task goes to one worker',
    tests: [`${work}#is worked off by priority`],
    note: 'What others have locked is passed over.',
  },
  {
    number: 7,
    about:
      'a failed task is taken once its pause is over, and never without retries left; a task of a silent worker is taken too',
    tests: [`${ends}#has failed while it waits`, `${ends}#is tried maxRetries`, `${ends}#is run again from the start`, model],
  },
  { number: 8, about: 'success, with the result `{ value }`', tests: [`${ends}#completes with`, `${ends}#has failed if JSON`] },
  {
    number: 9,
    about: 'a failure keeps class, message and stack, and is tried again after 5, 10 and 20 s',
    tests: [`${unit}#the pauses before the retries`, `${ends}#is tried maxRetries`, `${ends}#has failed while it waits`, model],
    note: 'Once a task has completed, its errors are in `stream.attempts`.',
  },
  {
    number: 10,
    about: 'a timeout is a failure; a late result is ignored',
    tests: [`${ends}#fails with a timeout`, `${unit}#the reason of a signal`, 'e2e/jobs-time#its commit is refused'],
    note: 'The reason of the signal is a `TaskTimeoutError`, and the error that is kept a `TaskError`, whose message says timeout. A function that ignores its signal is given up after 2 s, and keeps its slot until it returns.',
  },
  {
    number: 11,
    about: 'a worker works until it is shut down, and waits for what is running',
    tests: [
      `${unit}#a worker works on one task`,
      `${work}#is waited for when its worker shuts down`,
      `${unit}#a worker that shuts down`,
      `${work}#while it starts`,
    ],
    note: 'A free slot is filled at once, not at the next poll.',
  },
  {
    number: 11,
    about: 'errors of the database are reported, and polls repeated',
    tests: ['e2e/time#backs off while the database fails'],
  },
  { number: 11, about: 'an unregistered name is a failure', tests: [`${ends}#does not know its function`] },
  {
    number: 12,
    about: 'the task of a worker that died is run again from the start',
    tests: [`${ends}#is run again from the start`, model],
    note: 'The try that died counts as a retry, so that a task which ends its workers does not do so for ever.',
  },
  { number: 13, about: 'a corrupt row is reported and fails, and others go on', tests: [`${ends}#whose row is corrupt`] },
  {
    number: 14,
    about: '`getTask`, and `listTasks` by state, name and tags',
    tests: [`${work}#is listed by its state`, `${work}#before init`],
    note: 'Listed in the order of submissions.',
  },
  {
    number: 15,
    about: 'a command line and its configuration in YAML',
    note: 'Not built. A worker is a program of yours that registers its functions; `taskstream migrate up` makes the tables, and `taskstream ls` lists the queue.',
  },
  {
    number: 16,
    about: 'errors by their names',
    tests: [`${unit}#a function is registered`, `${unit}#the reason of a signal`, `${work}#is refused if its function`],
    note: 'Each is a `TaskError` with a code. `TaskTimeoutError` and `TaskLockError` are reasons of a signal.',
  },
  {
    number: 17,
    about: 'what TaskLib leaves out: dependencies, expiry, cancelling, asynchronous functions',
    tests: [`${ends}#has a state of TaskLib`, `${ends}#completes with`],
    note: 'Tasks are jobs, so all that jobs can do is there: `jobOf(fn)`, and further jobs of the queue.',
  },
]
