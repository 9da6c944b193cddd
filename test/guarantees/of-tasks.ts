/** Promises about tasks and topics, with the tests that try to break them. */
import { own } from './guarantee.ts'
import type { Guarantee } from './guarantee.ts'

export const guaranteesOfTasks: readonly Guarantee[] = [
  {
    promise: "A push is visible exactly when the caller's transaction commits; rolled back, it never was",
    tests: [
      'conformance/adapter#brings both',
      'conformance/adapter#takes the push with it',
      'conformance/adapter#is seen by no other connection',
      'conformance/adapter#gives nobody a task before it commits',
      'conformance/poll#sees nothing of a push that rolls back',
      'conformance/savepoint',
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
    tests: [own('conformance/drivers')],
  },
  {
    promise: 'Calls that the work of a transaction has not awaited are committed or rolled back with it, never on their own',
    tests: [own('conformance/unawaited')],
  },
  {
    promise: 'Order by sequence, and per producer, however late transactions commit',
    tests: [
      'conformance/poll#in the order they were pushed',
      'conformance/poll#puts a task that comes back',
      'conformance/poll#gives what came back before what is fresh',
      'properties/model',
      'properties/interleavings',
      'properties/late-commit',
    ],
  },
  {
    promise: 'The identifiers of a topic take turns where it is initialised so, however much one of them has pushed',
    tests: [
      'conformance/shared#gives each a turn',
      'conformance/shared#gives each its turn',
      'conformance/shared#takes four high tasks, then a low one',
      'conformance/shared#takes low tasks of each identifier',
      'conformance/shared#keeps identifiers apart that look alike',
      'conformance/shared#finds a task in whatever way it has become ready',
      'conformance/shared#is found among thousands of identifiers',
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
    promise:
      'Each attempt that neither succeeds nor filters its task is kept with its error, and no other; a redrive does not end it',
    tests: ['conformance/attempts', 'e2e/jobs-attempts'],
  },
  {
    promise: 'The history of attempts is bounded: by number for each task, by age, and by the life of the task',
    tests: ['conformance/attempts-kept'],
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
    tests: [
      'properties/hammer#take no two tasks',
      'conformance/singular#goes on when',
      'conformance/singular-rivals#waits for nobody',
    ],
  },
  {
    promise: 'Nothing a topic does or suffers reaches another',
    tests: [
      'conformance/poll#keeps topics apart',
      'conformance/singular#knows its own topic only',
      'conformance/junction#knows its own topic only',
      'conformance/insertion#knows its own topic',
      'conformance/activation#knows its topic',
      'e2e/node-topics#goes on purging its other topics',
      'e2e/starting-topics#is not kept from its other topics',
    ],
  },
  {
    promise: 'A stale completion never overwrites a newer attempt; it is reported task by task',
    tests: [
      'conformance/complete#another owner has taken up',
      'conformance/complete#refuses an earlier attempt',
      'conformance/complete#refuses another owner',
      'conformance/complete#reports a second completion',
    ],
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
    tests: [
      'conformance/push#creates one task for an external id',
      'conformance/push#still finds an external id',
      own('conformance/external-id'),
    ],
  },
  {
    promise: 'Of two transactions that complete a junction at the same time, one starts it',
    tests: ['conformance/waiting#to complete a group', 'conformance/junction#of two transactions'],
  },
  {
    promise: 'Stricter isolation gives the right answer, or an error that says what to do',
    tests: ['conformance/isolation', 'conformance/singular-rivals#cannot see what others have just done'],
  },
  {
    promise: 'Making and unmaking one topic blocks no other; a detach survives being killed',
    tests: ['conformance/partition#never blocks', 'conformance/partition#survives being killed half way'],
  },
  {
    promise: 'Migrations by several processes at once apply each step once; tables of a later release are refused',
    tests: ['e2e/migrations#at once', 'conformance/migrate#refuses tables of a later release'],
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
  {
    promise:
      'A push appends, supersedes, replaces or deletes older tasks of its identifier; what is active, or in hands of others, is left',
    tests: [
      'conformance/insertion#touches the states',
      'conformance/insertion#append leaves',
      'conformance/insertion#only the last counts',
      'conformance/insertion#knows its own topic and its own identifiers only',
      'conformance/insertion#without waiting',
    ],
  },
  {
    promise: 'A task that is handed back is ready in its old place, and its try is refunded',
    tests: ['conformance/poll#counts attempts and tries', 'conformance/poll#puts a task that comes back'],
  },
  {
    promise: 'What is delayed or retried comes when it is due, and not before, in its old place; what has no tries left fails',
    tests: [
      'conformance/complete#of a retry suspends until it is due',
      'conformance/push#sets aside',
      'e2e/time#wakes for the next due task',
      'e2e/node#retries by its policy',
      'conformance/values#keep the instant at which a task is due',
    ],
  },
  { promise: 'A task that is past its deadline is filtered, and never handed out', tests: ['conformance/deadline'] },
  {
    promise: 'An external id still finds its task when that is done, and goes with it when it is recreated',
    tests: ['conformance/push#still finds an external id', 'conformance/revive#a new row leaves'],
  },
  {
    promise:
      'Tasks are brought back in their old places or as new ones, or given another result; of a call that names what has not ended nothing is done',
    tests: [
      'conformance/revive#a reset makes its own row',
      'conformance/revive#a new row leaves',
      'conformance/revive#refuses what has not ended',
      'conformance/revive#a redrive says what it would do',
      'conformance/reassign#reassign corrects',
      'conformance/reassign#reassignAll corrects',
    ],
  },
  {
    promise: 'A task is cancelled wherever it is on its way, and its handler can no longer complete it',
    tests: ['conformance/cancel#ends every task', 'conformance/cancel#takes a task from its handler', 'properties/model'],
  },
  {
    promise: 'What is ready or waits for its time is moved in time, and nothing that is at work, set aside or ended',
    tests: [
      'conformance/reschedule#puts a ready task off',
      'conformance/reschedule#brings a delayed task forward',
      'conformance/reschedule#leaves tasks that are at work',
      'properties/model',
    ],
  },
  {
    promise: 'A junction starts a group when each of its identifiers has arrived, and never what waits for its time',
    tests: [
      'conformance/junction#starts a group',
      'conformance/junction#counts distinct identifiers',
      'conformance/junction#singular is not satisfied',
      'conformance/junction#eternal is not',
      'conformance/junction#never starts a task that waits',
    ],
  },
  {
    promise:
      'An owner that is silent for its lease loses its tasks: ready again, expired, or failed where no tries are left; one that beats keeps its own',
    tests: [
      'conformance/owner#that fall silent',
      'conformance/owner#that beat in time',
      'conformance/owner#that die give tasks back',
      'e2e/lease#leaves the tasks of an owner',
    ],
  },
  {
    promise: "A database's clock that is set back keeps no dead owner alive, and takes nothing from the living",
    tests: ['conformance/owner#before the clock was set back'],
  },
  {
    promise:
      'Under the stricter conditions an identifier stands still after a failure, or a suspension, until somebody sees to it',
    tests: ['conformance/singular#lets a failure pass', 'conformance/singular#goes on when the failure that blocks it'],
  },
]
