/** The repository's numbered requirements in few words, with the tests that cover each, or the reason why none does. */
export interface Requirement {
  readonly number: number
  readonly about: string
  readonly tests?: readonly string[]
  /** How it is built differently, or why it is not built. */
  readonly note?: string
}

export const requirements: readonly Requirement[] = [
  { number: 1, about: 'a task: sequence, identifier, input', tests: ['unit/task-limits#tasks are the same when'] },
  { number: 2, about: 'a creation; blank input and reference are none', tests: ['conformance/push#takes a blank input'] },
  {
    number: 3,
    about: 'what is known of a task',
    tests: ['conformance/catalog#task finds the task', 'conformance/given-clock#dates everything'],
  },
  { number: 4, about: 'the numbers of states', tests: ['unit/task-state#states are stored as these numbers'] },
  { number: 5, about: 'results and their priority', tests: ['unit/task-state', 'unit/task-decision#takes the weightier result'] },
  { number: 6, about: 'a decision and its continuation', tests: ['unit/task-decision#continues only after a success'] },
  { number: 7, about: 'merging decisions', tests: ['unit/task-decision#takes the weightier result'] },
  { number: 8, about: 'including an explanation', tests: ['unit/task-decision#says a thing once'] },
  {
    number: 9,
    about: 'a decision as a message',
    tests: ['unit/task-decision#can be stored whatever', 'conformance/complete#cuts a message'],
  },
  { number: 10, about: 'decisions that are stored alike', tests: ['unit/task-decision#is the same as another'] },
  {
    number: 11,
    about: 'combining and merging maps',
    tests: ['unit/task-decision#are combined', 'unit/task-decision#are merged'],
  },
  { number: 12, about: 'an error that carries a decision', tests: ['unit/task-decision#is carried out of code'] },
  { number: 13, about: 'supplements', tests: ['unit/task-supplement'] },
  { number: 14, about: 'the duplicate filter', tests: ['unit/task-duplication'] },
  { number: 15, about: 'the partial batch', tests: ['unit/task-partial-batch'] },
  {
    number: 16,
    about: 'push of one, many, none',
    tests: ['conformance/push#returns a task for each', 'conformance/push#of none writes nothing'],
  },
  {
    number: 17,
    about: 'the four insertions',
    tests: [
      'conformance/insertion#touches the states',
      'conformance/insertion#append leaves',
      'conformance/insertion#supersede makes redundant what waits',
    ],
    note: 'A task that waits for its due time or a retry is superseded like a ready one.',
  },
  { number: 18, about: 'duplicates inside one push', tests: ['conformance/insertion#only the last counts'] },
  { number: 19, about: 'pushed suspended', tests: ['conformance/push#sets aside'] },
  { number: 20, about: 'an unknown topic', tests: ['conformance/unknown-topic#the message says how'] },
  {
    number: 21,
    about: 'descent, and what a redundant task keeps',
    tests: ['conformance/insertion#keeps what a redundant task was'],
  },
  { number: 22, about: 'what others work on is passed over', tests: ['conformance/insertion#without waiting'] },
  {
    number: 23,
    about: 'poll in order',
    tests: ['conformance/poll#in the order they were pushed', 'conformance/order'],
    note: 'The order belongs to the topic, not to each poll: no poller can break it by leaving it out.',
  },
  {
    number: 24,
    about: 'as many marked as selected',
    note: 'Selecting and marking are one statement: there is nothing to compare.',
    tests: ['conformance/poll#takes every task of many'],
  },
  { number: 25, about: 'no two pollers get one task', tests: ['conformance/poll#passes over what another', 'properties/model'] },
  {
    number: 26,
    about: 'the singular conditions',
    tests: ['conformance/singular', 'properties/hammer'],
    note: 'The condition belongs to the topic; only its own topic counts, and for failures only what is before.',
  },
  {
    number: 27,
    about: 'complete what is held',
    tests: ['conformance/complete#stores each decision', 'conformance/complete#TASK_LOST under strict'],
    note: 'What was lost is reported task by task; it throws under `strict` only.',
  },
  { number: 28, about: 'the owner stays recorded', tests: ['conformance/insertion#keeps what a redundant task was'] },
  { number: 29, about: 'recreate a selection', tests: ['conformance/revive#selects the first of a state'] },
  {
    number: 30,
    about: 'reset, append, supersede, replace',
    tests: [
      'conformance/revive#a reset makes its own row',
      'conformance/revive#a new row leaves',
      'conformance/revive#supersede and replace do',
    ],
  },
  { number: 31, about: 'recreate given tasks', tests: ['conformance/revive#refuses what has not ended'] },
  {
    number: 32,
    about: 'reassign, reassignAll',
    tests: ['conformance/reassign#reassign corrects', 'conformance/reassign#reassignAll corrects'],
  },
  {
    number: 33,
    about: 'junctions, singular and eternal',
    tests: [
      'conformance/junction#starts a group',
      'conformance/junction#singular is not satisfied',
      'conformance/junction#eternal is not',
    ],
    note: 'An empty group is refused, as one that names an identifier twice is.',
  },
  { number: 34, about: 'what a junction returns', tests: ['conformance/junction#judges each group by itself'] },
  {
    number: 35,
    about: 'register, heartbeat, owners',
    tests: ['conformance/owner#register once', 'conformance/owner#are seen by others', 'conformance/owner#cannot beat'],
  },
  { number: 36, about: 'expire', tests: ['conformance/owner#that fall silent', 'conformance/owner#that beat in time'] },
  {
    number: 37,
    about: 'initialize, topics, destroy',
    tests: ['conformance/catalog#initialize makes', 'conformance/clean#destroy leaves nothing'],
  },
  { number: 38, about: 'task', tests: ['conformance/catalog#task finds'], note: 'That very sequence, never a neighbour.' },
  {
    number: 39,
    about: 'page, both ways, filtered',
    tests: ['conformance/catalog#page goes both ways', 'conformance/looking#pages are of tasks'],
    note: 'Dates by `resolve`, or by filters on the time of creation.',
  },
  {
    number: 40,
    about: 'count, total and recent',
    tests: [
      'conformance/catalog#count gives',
      'conformance/looking#counts are of tasks',
      'conformance/looking#recent counts only',
    ],
  },
  { number: 41, about: 'results', tests: ['conformance/looking#results are counted'] },
  {
    number: 42,
    about: 'purge by range, state, all; owners',
    tests: [
      'conformance/clean#purge deletes',
      'conformance/clean#purge by state',
      'conformance/clean#purgeAll',
      'conformance/clean#purgeOwners',
    ],
    note: 'What waits for its time is purged by the name `delayed` only. In portions; an owner that still holds tasks may be forgotten, they are recovered all the same.',
  },
  {
    number: 43,
    about: 'resolve',
    tests: ['conformance/looking#an instant is resolved'],
    note: 'Takes instants; a date is an instant in the time zone of whoever means it.',
  },
  { number: 44, about: 'refresh', tests: ['conformance/clean#refresh'] },
  {
    number: 45,
    about: "the database's clock, in UTC",
    tests: ['conformance/values#keep the instant', 'conformance/delayed#by the clock of the database'],
  },
  {
    number: 46,
    about: 'the table of tasks',
    tests: ['conformance/migrate', 'conformance/values#of the greatest length'],
    note: 'No foreign keys; the indexes are those of docs/decisions/hot-path.md, and topics pay for those they ask for.',
  },
  {
    number: 47,
    about: 'the other tables',
    tests: ['conformance/migrate'],
  },
  {
    number: 48,
    about: 'TASK_PRETTY',
    tests: ['conformance/looking#the view for people'],
    note: 'Always there: it costs nothing.',
  },
  {
    number: 49,
    about: 'partitions by topic',
    tests: ['conformance/partition'],
    note: 'Optional; a partition is kept when its topic goes, until it is detached.',
  },
  {
    number: 50,
    about: 'transactions of the processor: committed on return, rolled back on throw',
    tests: ['conformance/adapter', "e2e/node#commits a handler's own writes"],
  },
  {
    number: 51,
    about: 'a manager is started, stopped, woken',
    tests: ['e2e/manager#any number of times', 'e2e/manager#starts once it has stopped', 'e2e/time#never loses a wake-up'],
    note: 'A stop hands back what is not done and reports it; a start waits for a stop under way.',
  },
  {
    number: 52,
    about: 'the loop: token, poll, error, empty, batch',
    tests: [
      'e2e/listener#of every step of a batch',
      'e2e/time#sleeps when there is nothing to do',
      'e2e/time#backs off while the database fails',
      'e2e/manager#holds a token of its limiter',
    ],
  },
  {
    number: 53,
    about: 'completion in one transaction; unknown and missing tasks; fail-all once',
    tests: [
      'e2e/manager#fails a batch once',
      'e2e/node#fails what has no decision',
      'e2e/node#completes what a handler writes when the database comes back',
    ],
    note: 'While the database is away nothing fails: the completion is repeated.',
  },
  {
    number: 54,
    about: 'handlers that throw, or complete later, from wherever',
    tests: ['e2e/manager#lets a batch be completed once', 'e2e/manager#goes by the decisions of a handler'],
  },
  { number: 55, about: 'a limiter that throws stops the manager', tests: ['e2e/manager#is stopped by a limiter that throws'] },
  {
    number: 56,
    about: 'listeners, and their trace',
    tests: ['e2e/listener'],
    note: 'Published on node:diagnostics_channel as well.',
  },
  { number: 57, about: 'limiters', tests: ['unit/limiter', 'e2e/manager#holds a token of its limiter'] },
  {
    number: 58,
    about: 'handlers of single tasks; handlers that are closed',
    tests: ['e2e/each-task', 'e2e/manager#opens its handler for each run'],
  },
  {
    number: 59,
    about: 'buffers',
    tests: ['e2e/buffering'],
    note: 'No poll beyond what fits, so nothing blocks; what waits at a close may also be handed back.',
  },
  {
    number: 60,
    about: 'composites are built of steps, each once and after what it waits for',
    tests: ['unit/composite-building', 'unit/composite#are measured one by one'],
    note: 'No circle can be built (B23).',
  },
  {
    number: 61,
    about: 'how steps run',
    tests: [
      'unit/composite-property',
      'unit/composite#begin with all tasks',
      'unit/composite#run at the same time',
      'unit/composite-step#by the retry policy',
      'unit/composite-step#(B21)',
    ],
    note: 'A decision that is thrown is the decision, however it comes (B21); other errors go by the retry policy.',
  },
  {
    number: 62,
    about: 'what steps come to is completed once, with the contexts',
    tests: ['e2e/pipeline#write with the completion', 'e2e/pipeline#are told of the commit once', 'e2e/pipeline#(B22)'],
    note: 'What fails after the commit is reported, and nothing more (B22).',
  },
  {
    number: 63,
    about: 'how many batches at a time, and what a close makes of them',
    tests: ['unit/composite-close'],
    note: 'What is not done may also be handed back; a batch that a close has settled is never completed (B24).',
  },
  {
    number: 64,
    about: 'contexts, one or several',
    tests: ['e2e/pipeline', 'e2e/pipeline-nodes'],
    note: 'One that throws rolls back the transaction, with what the others wrote; the tasks fail in a new one.',
  },
  {
    number: 65,
    about: 'pushes and junctions by task',
    tests: ['e2e/pipeline-pushes'],
    note: 'What is pushed together is in the order of the tasks, not of asking; creations are resolved when they are asked for.',
  },
  { number: 66, about: 'references of what is pushed', tests: ['unit/pushing#tags'] },
  {
    number: 67,
    about: 'persisted activation',
    tests: ['conformance/activation', 'e2e/activation'],
    note: 'Where nothing was said a topic runs, unless it is processed with `activation: inactive`.',
  },
  {
    number: 68,
    about: 'notifiers of work and activation, without a feedback loop',
    tests: ['e2e/wake', 'e2e/activation#leaves alone what was stopped by hand'],
    note: 'Two channels, with the topic as payload; a lost connection is renewed, and everything looked at once.',
  },
]
