/** The requirements and defects of Ballerina's warm backup in few words, with the tests that keep each, or the reason why none does. */
import type { Requirement } from './requirements.ts'

const nodes = 'e2e/leader'
const unit = 'unit/leader'
const gate = 'unit/jobs-gate'

export const keptOfCoordination: readonly Requirement[] = [
  {
    number: 1,
    about: 'settings: `databaseConfig`, `livenessCheckInterval`, `heartbeatFrequency`, `taskId`, `groupId`',
    tests: [`${nodes}#connection settings are enough`, `${unit}#is refused`],
    note: 'Milliseconds: `livenessCheckIntervalMs`, `heartbeatIntervalMs`. The settings of a connection, or a pool of yours.',
  },
  {
    number: 2,
    about: 'tables `token_holder` and `health_check`',
    tests: ['conformance/coordination-tables#are made once', 'conformance/coordination-tables#are missed by a node', nodes],
    note: 'The tests of nodes use tables that were made by hand, as the specification has them.',
  },
  {
    number: 3,
    about: 'the first node of a group holds the token in term 1, and others are watchdogs',
    tests: [`${nodes}#the first one leads in the first term`],
  },
  {
    number: 3,
    about: 'a node takes its own token again',
    tests: [`${nodes}#takes over from its former self`],
    note: 'In a new term, so that its former self can commit nothing.',
  },
  {
    number: 3,
    about: 'a token whose holder sends no heartbeat is taken over, with a greater term',
    tests: [`${nodes}#takes over from a leader that is silent`, `${unit}#within the interval`],
    note: 'Each node looks at every heartbeat, not only when a service is due.',
  },
  {
    number: 3,
    about: 'a token whose holder has no heartbeat row is taken over at once',
    tests: [`${nodes}#leads at once when the leader stops`, `${nodes}#whose heartbeat was deleted`],
  },
  {
    number: 3,
    about: 'services run on the holder, and not on others',
    tests: [`${nodes}#the services of a listener`, `${gate}#is asked before each fire`],
  },
  {
    number: 4,
    about: 'a database that fails at the start fails the start; later it ends no job',
    tests: [`${unit}#that cannot start says why`, `${gate}#that throws lets nothing begin`, `${gate}#no policy counts`],
  },
  {
    number: 5,
    about: 'a term that fences, former holders that compete again, heartbeats that stop',
    tests: [
      `${nodes}#commits nothing, though it believes`,
      `${unit}#competes again`,
      `${unit}#lets its work end`,
      'unit/leader-property',
      'faults/leaders',
    ],
  },
  {
    number: 6,
    about: 'defect: two standbys both take over',
    tests: [`${nodes}#take over from the same leader only once`, `${nodes}#has sent a heartbeat since it was seen`],
    note: 'One conditional statement takes over.',
  },
  { number: 7, about: 'defect: a former holder never competes again', tests: [`${unit}#competes again`] },
  {
    number: 8,
    about: 'defect: the term is never compared, nor looked at while a service runs',
    tests: [`${nodes}#commits nothing, though it believes`, `${gate}#aborts what runs`],
  },
  {
    number: 9,
    about: 'defect: heartbeats go on after a stop, or while the work is dead',
    tests: [`${unit}#lets its work end`, `${unit}#whose work does not end in its grace`],
    note: 'Heartbeats say that the process lives. Work that hangs is bounded by its own time limits, as elsewhere.',
  },
  {
    number: 10,
    about: 'defect: a connection is lost at each trigger',
    note: 'Connections are those of the transaction source, which releases each.',
  },
  { number: 11, about: 'defect: errors of heartbeats are lost', tests: [`${unit}#tells its listener what happens`] },
  {
    number: 12,
    about: 'defect: the age is cut to whole seconds, so 30 s are 31',
    tests: [`${unit}#within the interval`],
  },
  {
    number: 13,
    about: "choria's asyncjobs: a scheduler's leader is elected, and lost on a failure or a shutdown",
    tests: [`${nodes}#leads at once when the leader stops`, `${unit}#steps down before another one takes over`],
    note: 'Schedules of the façade are periodic tasks, which need no leader: each time is pushed once.',
  },
]
