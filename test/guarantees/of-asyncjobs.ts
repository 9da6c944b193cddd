/** The requirements of asyncjobs in few words, with the tests that keep each, or the reason why none does. */
import type { Requirement } from './requirements.ts'

const ends = 'e2e/asyncjobs'
const queues = 'e2e/asyncjobs-queues'
const unit = 'unit/asyncjobs'
const router = 'unit/asyncjobs-router'
const schedules = 'unit/asyncjobs-schedules'
const programs = 'e2e/work-programs'
const ended = 'e2e/work-ends'
const services = 'e2e/work-services'
const model = 'properties/facade-ends#in the words of asyncjobs'

export const keptOfAsyncJobs: readonly Requirement[] = [
  {
    number: 1,
    about: '`newTask`: a KSUID, names of type and id, ten tries, the payload as JSON or by an encoder',
    tests: [
      `${unit}#has a KSUID`,
      `${unit}#has an id that is written`,
      `${unit}#encodes its payload`,
      `${unit}#is refused for its`,
    ],
    note: 'Options are one object, so there is no second encoder to refuse.',
  },
  {
    number: 2,
    about: 'options of a task; each dependency once and in order',
    tests: [`${unit}#is blocked if it depends`, `${unit}#a new task > is refused`],
  },
  {
    number: 3,
    about: 'the fields of a task as JSON',
    tests: [`${unit}#has a KSUID`, `${unit}#is blocked if it depends`, `${ends}#is complete once`],
    note: 'Without `signature`, which is a header of the job. `last_err` is the first line of the error.',
  },
  {
    number: 4,
    about: 'the names of states; `completed` stands for `complete`',
    tests: [`${unit}#states have their names`, `${unit}#whose job`, `${ends}#whose type has no handler`],
    note: 'A task that was blocked is `new` from then on until a handler takes it.',
  },
  {
    number: 5,
    about: '`isPastDeadline`, `hasDependencies`',
    tests: [`${unit}#is past its deadline`, `${unit}#is blocked if it depends`],
  },
  {
    number: 5,
    about: '`markInProgress` in its handler alone: the time of the try begins anew, any number of times',
    tests: [
      `${unit}#lets a handler mark its task`,
      `${unit}#is marked as in progress by its handler alone`,
      'e2e/jobs-time#begins anew',
    ],
    note: 'The lease is that of the process, which renews it whether or not a handler says something.',
  },
  {
    number: 6,
    about: 'one record for an id; two that save it conflict',
    tests: [`${queues}#is stored once`, `${queues}#exists if, and only if`, 'e2e/jobs-cancelled#commits nothing for it'],
    note: 'The task is a row, which a lease and transactions guard in place of revisions. An id that you choose is looked for in all queues; two transactions that store it in two queues at once are not seen.',
  },
  {
    number: 6,
    about: 'how long tasks are kept: for ever, unless said otherwise',
    tests: [`${queues}#is deleted when it was kept`],
    note: 'It counts from the end of a task, by `taskRetentionMs` of the client that handles its queue. Until then a task is kept, whatever its age.',
  },
  { number: 6, about: 'in memory or in files, and replicas', note: 'Does not apply: the database is yours.' },
  {
    number: 7,
    about: '`enqueue` from new, retry or blocked; a duplicate is in `queue_error`; a queue that is not there',
    tests: [`${queues}#is enqueued only from`, `${queues}#is stored once`, `${ends}#is tried again after`],
    note: 'The task is its own item, and either both are there or neither: no state is left behind by half an enqueueing.',
  },
  {
    number: 8,
    about: '`retryTaskById`: not found, state retry, the result goes',
    tests: [`${ends}#is tried again by hand`, `${ends}#that was tried again by hand`, model],
    note: 'It has all its tries and no deadline again, looks again at its dependencies, and stays in its queue, as a task that has expired could not be retried otherwise. A task that is ready or being handled is refused, and one that no process had taken before is `new` again.',
  },
  { number: 9, about: 'delete, list, information; no tasks found', tests: [`${queues}#is listed, counted and deleted`] },
  {
    number: 10,
    about: 'the name of a queue, its default, its maximum age, tries and run time; binding to one that is there',
    tests: [
      `${unit}#has the queue DEFAULT`,
      `${unit}#a client > is refused`,
      `${ends}#expires when it has had its tries`,
      `${ends}#expires without being handled`,
      `${ends}#is asked to let go when`,
      `${queues}#is enqueued only from`,
    ],
    note: 'A maximum age is a deadline. The limits are those of the client that enqueues, and for the run time of the one that handles.',
  },
  {
    number: 10,
    about: 'maximum entries, discarding old ones, concurrency of all clients; stored settings count before those of a client',
    tests: [`${queues}#is refused when that is full`, `${queues}#runs beside no more than all clients`],
    note: 'These limits are stored, and others are those of the client. What is dropped is in `queue_error`. A client that says nothing of entries does not count them. All clients together have no limit unless one is given: there it is 100.',
  },
  {
    number: 11,
    about: 'names and information of queues; purge and delete',
    tests: [`${queues}#is listed, counted and deleted`],
    note: 'The tasks of a queue go with it.',
  },
  { number: 11, about: 'configuring a queue that is there', tests: [`${queues}#is refused when that is full`] },
  {
    number: 12,
    about: 'ten handlers, unless said otherwise; what is looked at before a handler is called',
    tests: [
      `${unit}#handles ten tasks at a time`,
      `${queues}#runs beside no more than the client`,
      `${ends}#expires without being handled`,
      `${ends}#expires when it has had its tries`,
      `${ends}#is unreachable if`,
      `${ends}#is active until its process has died`,
      `${ends}#whose type has no handler`,
      model,
    ],
    note: 'A task that is active is taken again when its process has died, and not by its age. A try counts when it begins, so crashes count too. What has ended has no item that could come back.',
  },
  {
    number: 13,
    about: 'dependencies: missing or failed ones make unreachable, all complete ones start; their results by id',
    tests: [`${ends}#is unreachable if`, `${ends}#is blocked until`, model],
    note: 'An unreachable task is a failed one too, so that what depends on it does not wait for ever. Dependencies are looked up when a task is enqueued, also for a later retry: enqueue them before. What is complete is seen at once, from other processes within a second.',
  },
  {
    number: 14,
    about: 'result, retry with the last error, termination, expiry after the tries of the queue',
    tests: [
      `${ends}#is complete once`,
      `${ends}#is tried again after`,
      `${ends}#is terminated by an error`,
      `${ends}#expires when it has had its tries`,
      `${ends}#is asked to let go when`,
      `${ends}#commits what its handler writes`,
      model,
    ],
    note: 'A task expires with its last try, not at the next delivery.',
  },
  { number: 15, about: 'a deadline counts before the start alone', tests: [`${unit}#does not end a task whose deadline comes`] },
  {
    number: 16,
    about: 'tasks of some end states are discarded at once',
    note: 'Not there yet: it needs a deletion in the transaction that completes a task. `taskRetentionMs` deletes soon afterwards.',
  },
  {
    number: 17,
    about: 'retry policies by name and their pauses; one of your own',
    tests: [
      'unit/retry-policy#of asyncjobs is one of steps',
      `${router}#have pauses of their formula`,
      `${router}#are found by their names`,
      `${ends}#is tried again after`,
    ],
    note: 'The first pause is the first of its table, and the last is reached.',
  },
  {
    number: 18,
    about: 'the router: the type, its longest beginning, all others; duplicates; none',
    tests: [`${router}#finds the handler`, `${router}#refuses a second handler`, `${ends}#whose type has no handler`],
    note: 'Beginnings are texts, as there: `em` is one of `email:new`.',
  },
  {
    number: 18,
    about: 'middleware: global outermost and retroactive, then that of the route; `chain`; none around a missing handler',
    tests: [`${router}#puts its middleware`, `${router}#refuses what is no middleware`],
  },
  {
    number: 19,
    about: 'a program as a handler, which finds the task in a file',
    tests: [`${queues}#is handled by a program`],
    note: 'The program gets no other variables of the process than those of `externalProcess`. The result is a text.',
  },
  {
    number: 19,
    about: 'any program, at the command line: a missing one, or a folder, is not found',
    tests: [`${ended}#whose program`, `${ended}#by which a shell says`, 'unit/run-program#is looked for'],
    note: '`taskstream work --exec`. The worker does not begin, or stops, and no task loses a try.',
  },
  {
    number: 19,
    about: 'what a program prints is the result; what it prints to its errors, too',
    tests: [`${programs}#may write what it likes`, `${programs}#may return a value`],
    note: 'Of `taskstream work`: the last 64 KiB of each, the errors as the explanation of a task that did not succeed.',
  },
  {
    number: 19,
    about: 'a program that ends otherwise than with 0 has failed',
    tests: [`${programs}#ends each as its exit code`, `${programs}#that a signal ends`, `${programs}#fails a task for good`],
    note: '65, 77 and 78 fail for good, filter and suspend, and its last line may be a decision.',
  },
  {
    number: 19,
    about: 'the time of a try, and a stop, end the program',
    tests: [`${ended}#that takes too long`, `${ended}#that was cancelled`, `${ended}#has not ended in its time`],
    note: 'With all that it has started.',
  },
  {
    number: 19,
    about: 'requests and replies: the type is the subject, `AJ-Content-Type`',
    tests: [`${services}#ends each as its status`, `${services}#knows who asks`, `${services}#with a value`],
    note: 'Over HTTP in place of NATS: `httpRequest`, or `taskstream work --http`. The type is the `name` in the body, which is always JSON.',
  },
  {
    number: 19,
    about: '`AJ-Handler-Deadline`, and a deadline of at least three seconds',
    tests: ['unit/http-request#the end of this one', `${services}#that is too slow`],
    note: '`attempt-deadline`. Any time-out will do.',
  },
  {
    number: 19,
    about: '`AJ-Terminate` and `AJ-Error`',
    tests: ['unit/http-request#an answer', `${services}#ends each as its status`],
    note: '4xx fails for good, 408, 425, 429 and 5xx are failed tries.',
  },
  {
    number: 20,
    about: 'signatures of ed25519, required or optional; a task that has none, or a wrong one, is not handled',
    tests: [
      `${queues}#is handled only if it was signed`,
      `${queues}#is handled without a signature`,
      'e2e/jobs-signed#copied or pushed by hand',
    ],
    note: 'The keys are those of the stream, and the queue says `signed`. A signature covers the id, queue, type, payload, tries and dependencies, and not the deadline, which a retry by hand takes away. It is verified before a task is handled, not when it is looked at. What the clock creates is not signed.',
  },
  {
    number: 21,
    about: 'scheduled tasks: what is refused, cron and `@every`, created once, missing and corrupt ones, the list',
    tests: [
      `${schedules}#is refused for its`,
      `${schedules}#is refused with what is wrong`,
      `${schedules}#goes by`,
      `${schedules}#that cannot be read`,
      `${queues}#is created for an occurrence`,
    ],
    note: 'Times are in UTC. The deadline is given as `deadlineMs`. The payload arrives as it was given, and the queue must be there.',
  },
  {
    number: 21,
    about: 'watching scheduled tasks',
    note: 'Not there yet. Schedulers notice what is new, changed or removed by themselves, and `scheduledTasks` lists all.',
  },
  {
    number: 22,
    about: 'each occurrence creates one task; changes are picked up live; nothing is caught up on; the count',
    tests: [
      `${schedules}#creates a task when it is time`,
      `${schedules}#is noticed by a scheduler`,
      'e2e/periodic#submits every occurrence, once',
    ],
    note: 'Any number of schedulers may run: the database gives each occurrence to one of them. An occurrence that is up to a minute late still counts.',
  },
  { number: 22, about: 'the election of a leader, and its event', note: 'Not there yet. Scheduled tasks need none.' },
  { number: 23, about: 'events of tasks and of leaders', note: 'Not there yet, in this form: `stream.watch` tells of the jobs.' },
  {
    number: 24,
    about: 'metrics',
    tests: ['e2e/telemetry-metrics#count pushes, polls and attempts', 'e2e/telemetry-metrics#tell of the whole database'],
    note: 'In other words: those of OpenTelemetry for messaging, with the topic as a label; `@taskstream/task-telemetry` has them, and text for Prometheus.',
  },
  {
    number: 25,
    about: '`tasks process TYPE QUEUE CONCURRENCY COMMAND`, with `--remote`, `--backoff` and `--monitor`',
    tests: [
      `${programs}#runs so many times`,
      `${programs}#fails a task for good`,
      `${services}#ends each as its status`,
      `${ended}#tells probes`,
    ],
    note: '`taskstream work QUEUE --exec COMMAND --concurrency 4`, with `--http`, `--retry` and `--health`, which has `/metrics` too. Each type is a topic, and a queue of several types has one program for all.',
  },
  {
    number: 25,
    about: 'the rest of the command line',
    note: 'In other words: [the guide](../guides/asyncjobs.md#the-command-line) has each command with its test. Tasks are jobs of the topic `asyncjobs.` and the name of their queue.',
  },
  {
    number: 26,
    about: 'the HTTP API',
    tests: ['e2e/console-api', 'e2e/console-writes', 'e2e/console-hostile'],
    note: 'Other routes, below `api/v1`, with an OpenAPI document and roles. [The guide](../guides/http-api.md) has them.',
  },
]
