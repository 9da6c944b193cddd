/** What is promised, and the tests that try to break it: `file#part of a test's name`, or a whole file. */
export interface Guarantee {
  readonly promise: string
  readonly tests: readonly string[]
}

export const guarantees: readonly Guarantee[] = [
  {
    promise: "A push is visible exactly when the caller's transaction commits; rolled back, it never was",
    tests: [
      'conformance/adapter#brings both',
      'conformance/adapter#takes the push with it',
      'conformance/savepoint#takes back a push',
    ],
  },
  {
    promise: 'A poll and a completion are undone with their transaction',
    tests: [
      'conformance/adapter#takes a poll and a completion with it',
      'conformance/poll#that rolls back leaves its tasks ready',
    ],
  },
  {
    promise: "The same through each driver, with a row of the caller's own beside the task",
    tests: ['conformance/drivers'],
  },
  {
    promise: 'No task is lost and none takes effect twice through `kill -9` of any process at any moment',
    tests: ['faults/kill#complete every task'],
  },
  {
    promise:
      'Nodes that are killed, put to sleep, stopped, paused and cut off do everything once and in order, and leave nothing open',
    tests: ['faults/stress'],
  },
  {
    promise: 'In transactional mode a crash leaves nothing to be recovered, and a handler that will not let go cannot commit',
    tests: ['e2e/transactional#polls, handles and completes', 'e2e/transactional#gives a transaction up', 'faults/stress'],
  },
  {
    promise:
      'A start that fails, or is stopped meanwhile, leaves nothing behind; one topic that cannot be processed keeps no other from it',
    tests: ['e2e/starting'],
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
  { promise: 'A process that sleeps through its lease writes nothing when it wakes', tests: ['faults/sleep'] },
  {
    promise: 'A crash of the server loses no task, and what it takes back is found again',
    tests: [
      'faults/server-crash#loses no task',
      'faults/server-crash#takes back what it had not written',
      'faults/mysql#has what was committed',
    ],
  },
  {
    promise:
      'Two nodes of a Galera cluster that both take writes give each task to one, and work on one task of an identifier at a time',
    tests: [
      'faults/galera#gives each task to one',
      'faults/galera#works on no two tasks of an identifier',
      'faults/galera#goes on with no transaction',
      'faults/galera#when a node is killed',
    ],
  },
  {
    promise: 'A connection that is lost at any statement leaves nothing half done; an unknown commit can be repeated',
    tests: [
      'faults/connection-loss#leave no trace',
      'faults/connection-loss#without doubling it',
      'faults/connection-loss#without a second effect',
      'faults/mysql#is ended between two statements',
    ],
  },
  {
    promise: 'A transaction that the server has ended, and whose work goes on all the same, is never said to be committed',
    tests: [
      'faults/ignored-deadlock#ignores a deadlock',
      'faults/mysql#ignores a deadlock',
      'conformance/drivers#whose error was ignored',
    ],
  },
  {
    promise:
      'Work that was done is not called failed because the database was short of something: it is completed as soon as it can be, once',
    tests: [
      'faults/passing#has what was done completed',
      'faults/passing#has a transaction that handles tasks begun again',
      'faults/own-statements#is run again with all of it',
    ],
  },
  {
    promise: 'A row that somebody keeps locked holds up no neighbour of its task for long',
    tests: ['faults/passing#and no neighbours of theirs', 'faults/passing#holds up no other batches of one'],
  },
  {
    promise: 'A decision that cannot be written, or a message that cannot be kept, costs no other task',
    tests: ['e2e/undecided#fails alone', 'e2e/undecided#is handed back alone', 'faults/encoding#costs'],
  },
  {
    promise:
      'Nothing that a node has polled outlives its batch undecided: it is handed back as soon as that can be written, and a stop reports it',
    tests: [
      'e2e/left-behind#stays held, and is reported',
      'e2e/left-behind#is handed back by the node',
      'e2e/left-behind#is handed back when its topic is stopped',
      'faults/passing#which reports what was held',
    ],
  },
  {
    promise:
      'Nothing of a node waits for ever: what a connection that has fallen silent held is completed over another, once, and what is committed too late is found',
    tests: ['faults/silence#over another connection', 'faults/silence#nothing that stays held'],
  },
  {
    promise: 'A stop ends within its time, whatever the database does, and says what it leaves',
    tests: ['faults/silence#it ends within its time'],
  },
  {
    promise: 'A synchronous standby that is promoted has everything that was committed, and work goes on there',
    tests: ['faults/failover#leaves all that was committed'],
  },
  {
    promise: 'A database that is restored, cloned or moved under a living process loses no task to what the process remembered',
    tests: ['faults/restored'],
  },
  {
    promise: 'Rows that were put back by hand are found again once they are repaired, by every process and in order',
    tests: ['conformance/repair', 'conformance/sequence#is moved beyond all tasks'],
  },
  {
    promise: 'Order by sequence, and per producer, however late transactions commit',
    tests: [
      'properties/late-commit',
      'conformance/poll#in the order they were pushed',
      'conformance/poll#puts a task that comes back',
    ],
  },
  {
    promise: 'Last in first out, and by priority, where a topic is initialised so',
    tests: [
      'conformance/order#lifo',
      'conformance/order#priority: the highest first',
      'conformance/order#holds for what is delayed',
    ],
  },
  {
    promise: 'Nothing that waits for its time is purged unless it is asked for by name',
    tests: [
      'conformance/clean#by its own name only',
      'e2e/node-topics#purges nothing that waits for its time',
      'properties/model',
    ],
  },
  {
    promise:
      'What waits for its time is given a result or brought back by its own name only, and is superseded like a ready task',
    tests: [
      'conformance/revive#reassignAll gives no result',
      'conformance/revive#by its own name only',
      'conformance/insertion#supersede makes redundant what waits',
    ],
  },
  {
    promise: 'Under a singular condition never two active tasks of one identifier, and each identifier in order',
    tests: [
      'properties/hammer#take no two tasks',
      'conformance/singular#takes one task of each identifier',
      'conformance/singular#is blocked by an active task wherever it stands',
    ],
  },
  {
    promise: 'A singular condition aborts nobody, keeps nobody waiting, and leaves nothing behind',
    tests: ['properties/hammer#take no two tasks', 'conformance/singular#goes on when'],
  },
  {
    promise: 'Nothing a topic does or suffers reaches another',
    tests: [
      'conformance/poll#keeps topics apart',
      'conformance/singular#knows its own topic only',
      'conformance/junction#knows its own topic only',
    ],
  },
  {
    promise: 'A stale completion never overwrites a newer attempt; it is reported task by task',
    tests: [
      'conformance/complete#another owner has taken up',
      'conformance/complete#refuses an earlier attempt',
      'conformance/complete#reports a second completion',
    ],
  },
  {
    promise: "A handler's writes in the completing transaction take effect exactly once",
    tests: ["e2e/node#commits a handler's own writes", 'faults/kill#apply no effect twice', 'conformance/complete#in two steps'],
  },
  {
    promise: 'Any interleaving of any verbs on three connections ends as the model says, and what may be polled is found',
    tests: ['properties/model'],
  },
  {
    promise:
      'In whatever order the statements of a few connections come, with savepoints, rollbacks and deaths: no task is stranded, given twice or overtaken',
    tests: ['properties/interleavings'],
  },
  {
    promise: 'An external id is pushed once, and a rival waits for the outcome',
    tests: ['conformance/push#creates one task for an external id', 'conformance/push#still finds an external id'],
  },
  {
    promise: 'Of two transactions that complete a junction at the same time, one starts it',
    tests: ['conformance/junction#of two transactions'],
  },
  {
    promise: 'Stricter isolation gives the right answer, or an error that says what to do',
    tests: ['conformance/isolation', 'conformance/singular#cannot see what others have just done'],
  },
  {
    promise: 'Making and unmaking one topic blocks no other; a detach survives being killed',
    tests: ['conformance/partition#never blocks', 'conformance/partition#survives being killed half way'],
  },
  {
    promise: 'Migrations by several processes at once apply each step once; tables of a later release are refused',
    tests: ['conformance/migrate#at once applies each step once', 'conformance/migrate#refuses tables of a later release'],
  },
  {
    promise:
      'Whoever works needs the rights that the guide lists, and no more; one that is missing is said by name, with what to grant',
    tests: ['conformance/grants#none is granted in vain', 'conformance/grants#is right again once'],
  },
  {
    promise: 'Row security that may hide tasks is refused by name: nobody polls nothing for ever',
    tests: ['conformance/grants#nobody waits for ever', 'conformance/grants#policies that hide some'],
  },
  {
    promise:
      "Somebody else's function, first in the search path, is not called for PostgreSQL's own; no temporary table is read for one of ours",
    tests: ['conformance/search-path'],
  },
  {
    promise: 'Bad input is refused by name, with nothing written; nothing that was given becomes SQL',
    tests: ['conformance/bad-input', 'conformance/option-names', 'conformance/values#of any kind come back'],
  },
  {
    promise: 'A topic that was never initialised is refused by every verb that looks for its tasks: it is not taken to be empty',
    tests: ['conformance/unknown-topic'],
  },
  { promise: 'Listening fails loudly behind a pooler, and polling goes on', tests: ['e2e/pooled#says so once'] },
  {
    promise: 'An occurrence of a timer is submitted once, in the transaction that moves the timer on; rivals pass over it',
    tests: [
      'conformance/periodic#undone with the transaction',
      'conformance/periodic#submitted once for an occurrence',
      'conformance/periodic-rivals',
      'e2e/periodic#submits every occurrence',
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
    promise: 'The command line works on no tables but those of its release, makes no file by mistake, and prints no password',
    tests: [
      'e2e/cli-database#works on no tables but those of its release',
      'e2e/cli-database#makes no file by mistake',
      'e2e/cli-database#prints no password',
    ],
  },
]
