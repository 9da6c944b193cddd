/** Promises about nodes, timers and the command line, with the tests that try to break them. */
import type { Guarantee } from './guarantee.ts'

export const guaranteesOfNodes: readonly Guarantee[] = [
  {
    promise:
      'One node of a group leads at a time; whatever it commits is committed before its term ends, however long it stood still',
    tests: ['e2e/leader', 'conformance/coordination-tables', 'faults/leaders'],
  },
  {
    promise:
      'A start that fails, or is stopped meanwhile, leaves nothing behind; one topic that cannot be processed keeps no other from it',
    tests: ['e2e/starting', 'e2e/starting-topics'],
  },
  {
    promise: 'A listening connection that is lost is told of, and until it is back the node polls as if it had none',
    tests: ['e2e/wake#listening connection is lost', 'e2e/wake#cannot be looked at any more'],
  },
  {
    promise: 'The report of a stop has each task that was held once, and says of it what the database says',
    tests: ['properties/stop-report'],
  },
  {
    promise: 'A handler that ignores its time, or a stop, cannot overwrite what was decided without it',
    tests: ['e2e/time#takes tasks from a handler', 'e2e/node#hands back what a handler keeps'],
  },
  { promise: 'Listening fails loudly behind a pooler, and polling goes on', tests: ['e2e/pooled#says so once'] },
  {
    promise:
      'An occurrence of a timer is submitted once, in the transaction that moves the timer on, whichever scheduler dies; rivals pass over it',
    tests: [
      'conformance/periodic#undone with the transaction',
      'conformance/periodic#submitted once for an occurrence',
      'conformance/periodic-rivals',
      'e2e/periodic#submits every occurrence',
      'faults/laboratory',
    ],
  },
  {
    promise: 'Missed occurrences are made up for as the timer says; an unfinished task is not overtaken',
    tests: [
      'conformance/periodic#make up for what was missed',
      'conformance/periodic#skip to the next occurrence',
      'conformance/periodic-unfinished',
    ],
  },
  {
    promise: 'A timer that is changed while an occurrence is due still submits it, unless the change says otherwise',
    tests: ['conformance/periodic-edits'],
  },
  {
    promise: 'A timer that has much to catch up with keeps no other waiting',
    tests: ['e2e/periodic#keeps no timer waiting'],
  },
  { promise: "A timer belongs to its scope: nothing reaches another's", tests: ['conformance/timers#belong to a scope'] },
  {
    promise:
      'A program or a service handles tasks from the command line: each is decided once by what its exit code or status says, and keeps its tries if it could not be handled',
    tests: [
      'e2e/work-programs#ends each as its exit code',
      'e2e/work-programs#fails a task for good',
      'e2e/work-services#ends each as its status',
      'e2e/work-ends#by which a shell says',
      'e2e/work-ends#counts no try',
    ],
  },
  {
    promise:
      'A worker of the command line that is stopped, killed or out of time leaves no task behind, and of its programs nothing that it could end',
    tests: [
      'e2e/work-ends#that takes too long',
      'e2e/work-ends#that is killed loses no task',
      'e2e/work-ends#at Ctrl-C',
      'e2e/work-ends#at a second Ctrl-C',
      'e2e/work-ends#has lost its lease',
      'e2e/work-ends#has not ended in its time',
    ],
  },
  {
    promise: 'A program is told its task, and no secret of its worker; what it writes obeys no terminal of those who read it',
    tests: [
      'e2e/work-programs#is given the input',
      'e2e/work-programs#is given no other variable',
      'e2e/work-programs#may write what it likes',
    ],
  },
  {
    promise: 'The command line works on no tables but those of its release, makes no file by mistake, and prints no password',
    tests: [
      'e2e/cli-database#works on no tables but those of its release',
      'e2e/cli-database#makes no file by mistake',
      'e2e/cli-database#prints no password',
    ],
  },
  {
    promise:
      'The doctor finds what is wrong with tasks, owners, timers and tables, complains of nothing else, and writes nothing',
    tests: ['conformance/doctor', 'conformance/doctor-reads'],
  },
  {
    promise:
      'What a command has previewed is the most that it writes, whoever else writes; a production database asks for its name',
    tests: [
      'e2e/cli-bulk',
      'e2e/cli-terminal#writes only what was there when it asked',
      'e2e/cli-source#asks for the name of a production context',
    ],
  },
  {
    promise:
      'What waits in pg-boss, graphile-worker or BullMQ becomes a task each, once, wherever the command that moves it is killed',
    tests: ['e2e/import-pg-boss', 'e2e/import-graphile-worker', 'e2e/import-bullmq'],
  },
  {
    promise: 'Nothing from the database disturbs a terminal, and every table fits it',
    tests: ['unit/command-line-tables', 'e2e/cli-terminal#fits tables'],
  },
  {
    promise: 'What has ended is purged once it was kept for its time, state by state, and nothing else',
    tests: [
      'conformance/ages',
      'e2e/node-topics#purges what has ended',
      'conformance/clean#purge deletes what has ended',
      'conformance/clean#purge by state',
    ],
  },
  {
    promise:
      'A lease counts from the sending of its last heartbeat; when it is over handlers are asked to let go, and nothing is polled until it holds again',
    tests: [
      'e2e/lease#is counted from the sending',
      'e2e/lease#that runs out has everything let go',
      'e2e/without-notifier#aborts its handlers when no heartbeat',
    ],
  },
  {
    promise:
      'A node is woken by what another connection commits, loses no wake-up, and never sleeps past the time at which a task is due',
    tests: [
      'e2e/wake#is woken by a push of another connection',
      'e2e/due',
      'e2e/time#wakes for the next due task',
      'e2e/time#never loses a wake-up',
      'e2e/wake#is told of changes that commit',
    ],
  },
  {
    promise: 'A stop lets handlers finish within the grace, then asks them to let go, then hands back what they leave',
    tests: [
      'e2e/node#lets what is held finish',
      'e2e/node#asks handlers to let go',
      'e2e/late-poll',
      'e2e/without-notifier#ends in order when its process',
    ],
  },
  {
    promise:
      'A handler that takes too long is asked to let go; what it has done is completed, and the rest goes by the policy or is handed back',
    tests: [
      'e2e/time#asks a handler that takes too long',
      'e2e/time#completes what a handler of single tasks',
      'e2e/each-task#asks a task that takes too long',
    ],
  },
  {
    promise: 'No more batches are at work, or polled, than limiter, concurrency and buffer allow',
    tests: [
      'e2e/manager#holds a token of its limiter',
      'e2e/small-batches#are polled several at a time',
      'e2e/small-batches#are polled one by one',
      'e2e/buffering#keeps batches at hand',
    ],
  },
  {
    promise: 'A stream brings tasks in order; what is left undecided fails, or is handed back when the loop is left',
    tests: ['e2e/stream#brings the tasks', 'e2e/stream#fails what was left undecided'],
  },
  {
    promise:
      'What many submit at once is pushed together, each with the outcome it would have had alone, in the order of its calls',
    tests: ['e2e/submit#pushes what many submit', 'e2e/submit#gives each submission', 'e2e/submit#refuses the bad ones alone'],
  },
  {
    promise: 'What contexts write and steps push is there with the completion, for tasks that are still held, or not at all',
    tests: [
      'e2e/pipeline#write with the completion',
      'e2e/pipeline#are not asked when nothing is held',
      'e2e/pipeline-pushes#is there with the completion',
      'e2e/pipeline-pushes#is not there when the completing transaction',
    ],
  },
  {
    promise:
      'A topic that is paused stops in every node, and starts in every node again; it is stored for nodes that start later',
    tests: [
      'e2e/activation#stops and starts in every node',
      'e2e/activation#stores what it was told',
      'e2e/activation#runs at the start of its node',
      'conformance/activation',
    ],
  },
  {
    promise: 'Jobs that are kept in the database outlive the process that has scheduled them; of two nodes one runs each fire',
    tests: [
      'e2e/persisted-jobs#outlive the process',
      'e2e/persisted-jobs#run as often as they are told',
      'e2e/persisted-jobs-rivals',
    ],
  },
  {
    promise:
      'The console answers every question as its document says, to those who may ask, and shows no payload or secret to the others; whatever tasks say, it stays text',
    tests: [
      'e2e/console-api#answers every route as its document says',
      'e2e/console-api#shows a payload from the role reader on',
      'e2e/console-api#is closed unless',
      'e2e/console-api#tells somebody who may see some topics',
      'e2e/console-hostile',
    ],
  },
  {
    promise:
      'What is done by the console was seen before, is no more than that, is in the audit, and can be undone; it needs the role, and the pages of the console or a token',
    tests: [
      'e2e/console-writes#never do more than was seen',
      'e2e/console-writes#redrive what failed by one error',
      'e2e/console-writes#give two operators',
      'e2e/console-writes#are refused to whoever',
      'e2e/console-pages#answers for its own hosts',
    ],
  },
]
