/** Promises for the case that something goes wrong, with the tests that try to break them. */
import { anyOf, own } from './guarantee.ts'
import type { Guarantee } from './guarantee.ts'

export const guaranteesOfFaults: readonly Guarantee[] = [
  {
    promise: 'No task is lost and none takes effect twice through `kill -9` of any process at any moment',
    tests: ['faults/kill#complete every task', 'faults/killed-nodes'],
  },
  {
    promise:
      'A job takes effect once and goes on once, through `kill -9` between any two statements of its commit, and after a commit that is not answered',
    tests: ['faults/jobs-killed', 'faults/jobs-submitted'],
  },
  {
    promise:
      'No more jobs are handled at a time than the total, and no slot is lost, through `kill -9` at each statement that takes slots',
    tests: ['faults/slots-killed'],
  },
  {
    promise: 'Blocked tasks start or fail all together or not at all, through `kill -9` at each statement that settles them',
    tests: ['faults/settle-killed'],
  },
  {
    promise:
      'A job that several processes submit by one id, again if they do not know the outcome, exists once and is tried as often as it is to be',
    tests: ['faults/jobs-submitted'],
  },
  {
    promise:
      'Nodes that are killed, put to sleep, stopped, paused and cut off do everything once and in order, and leave nothing open',
    tests: ['faults/laboratory'],
  },
  {
    promise: 'In transactional mode a crash leaves nothing to be recovered, and a handler that will not let go cannot commit',
    tests: [
      'e2e/transactional#polls, handles and completes',
      'e2e/transactional-ends#gives a transaction up',
      'faults/laboratory',
    ],
  },
  { promise: 'A process that sleeps through its lease writes nothing when it wakes', tests: ['faults/sleep'] },
  {
    promise: 'A crash of the server loses no task, and what it takes back is found again',
    tests: [
      anyOf('faults/server-crash#loses no task', 'faults/mysql#has what was committed'),
      'faults/server-crash#takes back what it had not written',
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
      anyOf('faults/connection-loss#leave no trace', 'faults/mysql#is ended between two statements'),
      'faults/connection-loss#without doubling it',
      'faults/connection-loss#without a second effect',
      'faults/connection-loss#let the tasks of a poll be reclaimed',
    ],
  },
  {
    promise: 'A transaction that the server has ended, and whose work goes on all the same, is never said to be committed',
    tests: [
      {
        anyOf: [
          'conformance/drivers#whose error was ignored',
          'faults/ignored-deadlock#ignores a deadlock',
          'faults/mysql#ignores a deadlock',
        ],
        own: true,
      },
      { anyOf: ['conformance/drivers#a connection that is lost is named'], own: true },
    ],
  },
  {
    promise:
      'Work that was done is not called failed because the database was short of something: it is completed as soon as it can be, once',
    tests: [
      own('faults/passing#has what was done completed'),
      own('faults/passing#has a transaction that handles tasks begun again'),
      'faults/own-statements#is run again with all of it',
    ],
  },
  {
    promise: 'A row that somebody keeps locked holds up no neighbour of its task for long',
    tests: [own('faults/passing#and no neighbours of theirs'), own('faults/passing#holds up no other batches of one')],
  },
  {
    promise: 'A decision that cannot be written, or a message that cannot be kept, costs no other task',
    tests: [own('e2e/undecided#fails alone'), own('e2e/undecided#is handed back alone'), own('faults/encoding#costs')],
  },
  {
    promise:
      'Nothing that a node has polled outlives its batch undecided: it is handed back as soon as that can be written, and a stop reports it',
    tests: [
      'e2e/left-behind#stays held, and is reported',
      'e2e/left-behind#is handed back by the node',
      'e2e/left-behind#is handed back when its topic is stopped',
      own('faults/passing#which reports what was held'),
    ],
  },
  {
    promise:
      'Nothing of a node waits for ever: what a connection that has fallen silent held is completed over another, once, and what is committed too late is found',
    tests: [
      own('faults/silence#over another connection'),
      own('faults/silence#nothing that stays held'),
      own('faults/given-up-unanswered#ends while it waits'),
    ],
  },
  {
    promise: 'A stop ends within its time, whatever the database does, and says what it leaves',
    tests: [
      own('faults/silence#it ends within its time'),
      'e2e/time#stops in the end, also when the database has stopped answering',
    ],
  },
  {
    promise: 'A synchronous standby that is promoted has everything that was committed, and work goes on there',
    tests: ['faults/failover#leaves all that was committed'],
  },
  {
    promise: 'A database that is restored, cloned or moved under a living process loses no task to what the process remembered',
    tests: [own('faults/restored')],
  },
  {
    promise: 'Rows that were put back by hand are found again once they are repaired, by every process and in order',
    tests: ['conformance/repair', 'conformance/repair-sequence', 'conformance/sequence#is moved beyond all tasks'],
  },
  {
    promise: "A handler's writes in the completing transaction take effect exactly once",
    tests: [
      "e2e/node#commits a handler's own writes",
      'faults/kill#apply no effect twice',
      'faults/killed-nodes',
      'conformance/complete#in two steps',
    ],
  },
  {
    promise:
      'What a poll has taken whose commit nobody answered is made ready again, while the node runs and when its topic is stopped',
    tests: [
      'e2e/reclaim',
      'e2e/left-behind#does not keep its topic from being polled',
      'e2e/left-behind#nor is known of',
      'faults/connection-loss#let the tasks of a poll be reclaimed',
    ],
  },
]
