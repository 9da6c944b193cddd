/** Scenarios that are run in every order of their steps. */
import type { Scenario } from './scenario.ts'

/** The first polls of a topic learn where it begins. Later polls use the fast-path claim. */
const settled = [
  ['W', 'push 1'],
  ['W', 'poll 1'],
  ['W', 'poll 1'],
  ['W', 'complete'],
  ['W', 'poll 1'],
] as const

export const scenarios: readonly Scenario[] = [
  {
    name: 'one owner polls on two connections at once, where a chunk begins',
    beforeBorder: 1,
    prelude: [...settled, ['W', 'push 6']],
    connections: {
      V: { owner: 'w', steps: ['begin', 'poll 3', 'commit'] },
      W: { owner: 'w', steps: ['begin', 'poll 3', 'commit', 'poll 1', 'poll 1', 'push 1', 'poll 1'] },
    },
  },
  {
    name: 'one owner polls on two connections, beside one that dies',
    beforeBorder: 2,
    prelude: [['W', 'push 6']],
    connections: {
      V: { owner: 'w', steps: ['begin', 'poll 2', 'rollback'] },
      W: { owner: 'w', steps: ['begin', 'poll 3', 'commit', 'poll 1'] },
      X: { owner: 'x', steps: ['poll 1', 'die'] },
    },
  },
  {
    name: 'a late push of a chunk that another has passed, and a poll of it that is rolled back',
    beforeBorder: 3,
    prelude: [
      ['P', 'begin'],
      ['P', 'push 3'],
      ['R', 'push 3'],
    ],
    connections: {
      P: { owner: 'p', steps: ['commit'] },
      W: { owner: 'w', steps: ['poll 2', 'poll 1', 'poll 1', 'poll 1', 'die'] },
      R: { owner: 'r', steps: ['begin', 'poll 3', 'rollback'] },
    },
  },
  {
    name: 'a push whose own transaction polls, beside others that look into the locks',
    prelude: [['B', 'push 2']],
    connections: {
      A: { owner: 'a', steps: ['begin', 'push 3', 'wait', 'poll 1', 'commit'] },
      B: { owner: 'a', steps: ['poll 1', 'wait', 'poll 1', 'poll 1', 'poll 1'] },
    },
  },
  {
    name: 'pushes of two producers that end late, one of them undone',
    prelude: settled,
    connections: {
      P: { owner: 'p', steps: ['begin', 'push 2', 'commit'] },
      Q: { owner: 'q', steps: ['begin', 'push 1', 'rollback', 'push 1'] },
      W: { owner: 'w', steps: ['poll 1', 'wait', 'poll 1', 'complete', 'poll 2'] },
    },
  },
  {
    name: 'tasks that are taken for a transaction inside a savepoint',
    prelude: [['W', 'push 4']],
    connections: {
      W: {
        owner: 'w',
        steps: ['begin', 'savepoint', 'take 1', 'release savepoint', 'take 1', 'complete', 'commit'],
      },
      V: { owner: 'v', steps: ['begin', 'poll 1', 'rollback', 'poll 1'] },
    },
  },
  {
    name: 'savepoints that are rolled back to, of pushes and of polls',
    prelude: [['W', 'push 2']],
    connections: {
      W: {
        owner: 'w',
        steps: ['begin', 'poll 1', 'savepoint', 'push 2', 'take 2', 'rollback to savepoint', 'complete', 'commit'],
      },
      V: { owner: 'v', steps: ['poll 1', 'complete', 'poll 1'] },
    },
  },
  {
    name: 'a poll of an owner that dies, beside its expiry',
    beforeBorder: 1,
    prelude: [
      ['W', 'push 4'],
      ['W', 'poll 1'],
    ],
    connections: {
      W: { owner: 'w', steps: ['poll 1', 'begin', 'poll 1', 'die'] },
      V: { owner: 'v', steps: ['poll 1', 'expire', 'poll 2', 'complete'] },
    },
  },
  {
    name: 'polls that hand back, beside polls that are rolled back',
    prelude: [...settled, ['W', 'push 4']],
    connections: {
      W: { owner: 'w', steps: ['poll 2', 'hand back', 'poll 1', 'complete'] },
      V: { owner: 'v', steps: ['begin', 'poll 1', 'rollback', 'wait', 'poll 1'] },
      P: { owner: 'p', steps: ['push 1'] },
    },
  },
  {
    name: 'a completion of one connection, of what its owner has handed back and polled again on another',
    prelude: [['W', 'push 2']],
    connections: {
      V: { owner: 'w', steps: ['poll 1', 'hand back', 'poll 1', 'complete'] },
      W: { owner: 'w', steps: ['poll 1', 'hand back', 'complete'] },
    },
  },
  {
    name: 'polls of several in one transaction, beside a late push',
    prelude: [...settled, ['P', 'begin'], ['P', 'push 2'], ['W', 'push 2']],
    connections: {
      P: { owner: 'p', steps: ['commit'] },
      W: { owner: 'w', steps: ['begin', 'poll 1', 'wait', 'poll 1', 'rollback', 'poll 1'] },
      V: { owner: 'w', steps: ['poll 1', 'wait', 'poll 1', 'poll 1'] },
    },
  },
]
