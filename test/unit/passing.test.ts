/** By which name each database's errors go, and which of them are of the moment. */
import { isPassing, TaskDecision, TaskError, taskErrorCodes, taskLimits } from '@taskstream/task-api'
import type { Shortage, TaskErrorCode } from '@taskstream/task-api'
import { sqlite } from '@taskstream/task-sql/better-sqlite3'
import { mariadb } from '@taskstream/task-sql/mysql2'
import { oracle } from '@taskstream/task-sql/oracledb'
import { postgres } from '@taskstream/task-sql/pg'
import { expect, test } from 'vitest'

interface DriversError {
  readonly code?: string
  readonly errno?: number
  readonly errcode?: number
  readonly message?: string
}

const failure = ({ message = 'no', ...data }: DriversError): Error => Object.assign(new Error(message), data)
const withCodes = (...codes: string[]): DriversError[] => codes.map((code) => ({ code }))
const withNumbers = (...numbers: number[]): DriversError[] => numbers.map((errno) => ({ errno }))
const saying = (...messages: string[]): DriversError[] => messages.map((message) => ({ message }))

type Named = readonly [name: TaskErrorCode | `DATABASE_BUSY ${Shortage}` | undefined, errors: readonly DriversError[]]

const engines: readonly {
  readonly name: string
  classify(error: unknown): TaskError | undefined
  readonly errors: readonly Named[]
}[] = [
  {
    name: 'postgres',
    classify: postgres().classify,
    errors: [
      [
        'DATABASE_BUSY connections',
        [
          ...withCodes('53300'),
          ...saying('timeout exceeded when trying to connect', 'Knex: Timeout acquiring a connection. The pool is full'),
        ],
      ],
      ['DATABASE_BUSY memory', withCodes('53200')],
      ['DATABASE_BUSY disk', withCodes('53100')],
      ['DATABASE_BUSY resources', withCodes('53000', '58000', '58030')],
      ['DATABASE_BUSY lock', withCodes('55P03')],
      ['DATABASE_BUSY time', withCodes('57014', '57000')],
      ['TRANSACTION_CONFLICT', withCodes('40000', '40001', '40P01', '26000', '42P05')],
      ['DATABASE_READ_ONLY', withCodes('25006')],
      [
        'DATABASE_UNAVAILABLE',
        [
          ...withCodes('08000', '08001', '08003', '08004', '08006', '08P01', '25P03', '25P04', '40003'),
          ...withCodes('57P01', '57P02', '57P03', '57P04', '57P05', 'ECONNREFUSED', 'ECONNRESET', 'CONNECT_TIMEOUT'),
          ...saying('Query read timeout', 'Connection terminated unexpectedly', 'timeout expired'),
        ],
      ],
      ['TRANSACTION_CLOSED', withCodes('25P02')],
      ['ARGUMENT_INVALID', withCodes('22P05', '22021')],
      // A limit that one statement exceeds, and will again; a constraint; a damaged page; a bug.
      [undefined, withCodes('53400', '40002', '54000', '54001', '55000', '55006', '58P01', '72000', 'XX000', 'XX001', '23505')],
    ],
  },
  {
    name: 'mariadb',
    classify: mariadb().classify,
    errors: [
      [
        'DATABASE_BUSY connections',
        [
          ...withNumbers(1040, 1203, 1226, 45_028),
          ...saying('No connections available.', 'Queue limit reached.', 'Knex: Timeout acquiring a connection.'),
        ],
      ],
      ['DATABASE_BUSY memory', withNumbers(1037, 1038, 1041, 1206)],
      [
        'DATABASE_BUSY disk',
        [
          ...withNumbers(1021, 1114),
          { errno: 3, message: 'Error writing file (Errcode: 28 "No space left on device")' },
          { errno: 1026, message: 'Error writing file (errno: 28 - No space left on device)' },
          { errno: 1030, message: 'Got error 28 "No space left on device" from storage engine InnoDB' },
        ],
      ],
      ['DATABASE_BUSY resources', withNumbers(1135)],
      ['DATABASE_BUSY lock', withNumbers(1205, 3572)],
      ['DATABASE_BUSY time', withNumbers(1317, 1969, 3024)],
      ['TRANSACTION_CONFLICT', withNumbers(1020, 1213)],
      [
        'DATABASE_READ_ONLY',
        [
          ...withNumbers(1792, 1836),
          {
            errno: 1290,
            message: 'The MariaDB server is running with the --read-only option so it cannot execute this statement',
          },
        ],
      ],
      [
        'DATABASE_UNAVAILABLE',
        [
          { errno: 45_028, message: 'pool timeout: no connection after 10ms (pool connections: active=0 idle=0 limit=4)' },
          ...withNumbers(1152, 1158, 1159, 1160, 1161, 1184),
          ...withCodes(
            'PROTOCOL_CONNECTION_LOST',
            'PROTOCOL_SEQUENCE_TIMEOUT',
            'ECONNREFUSED',
            'ETIMEDOUT',
            'ER_SERVER_SHUTDOWN',
          ),
        ],
      ],
      ['ARGUMENT_INVALID', withNumbers(1153, 1300, 1366, 3988)],
      [
        undefined,
        [
          ...withNumbers(1062, 1064, 1406),
          { errno: 1030, message: 'Got error 122 "Internal error" from storage engine InnoDB' },
          { errno: 1290, message: 'The MariaDB server is running with the --secure-file-priv option so it cannot execute this' },
        ],
      ],
    ],
  },
  {
    name: 'sqlite',
    classify: sqlite().classify,
    errors: [
      [
        'DATABASE_BUSY lock',
        [
          ...withCodes('SQLITE_BUSY', 'SQLITE_BUSY_SNAPSHOT', 'SQLITE_LOCKED', 'SQLITE_PROTOCOL'),
          { errcode: 5 },
          { errcode: 517 },
          { errcode: 6 },
        ],
      ],
      ['DATABASE_BUSY disk', [...withCodes('SQLITE_FULL'), { errcode: 13 }]],
      ['DATABASE_BUSY memory', [...withCodes('SQLITE_NOMEM'), { errcode: 7 }]],
      ['DATABASE_BUSY time', [...withCodes('SQLITE_INTERRUPT'), { errcode: 9 }]],
      ['DATABASE_READ_ONLY', [...withCodes('SQLITE_READONLY', 'SQLITE_READONLY_DBMOVED'), { errcode: 8 }]],
      [
        'DATABASE_UNAVAILABLE',
        [
          ...withCodes('SQLITE_IOERR', 'SQLITE_IOERR_WRITE', 'SQLITE_CANTOPEN_FULLPATH'),
          { errcode: 10 },
          { errcode: 778 },
          { errcode: 14 },
        ],
      ],
      [undefined, [...withCodes('SQLITE_CONSTRAINT_TRIGGER', 'SQLITE_CORRUPT'), { errcode: 1 }, { errcode: 11 }]],
      ['DATABASE_MISSING', [...withCodes('SQLITE_NOTADB'), { errcode: 26 }]],
      ['PERMISSION_DENIED', [...withCodes('SQLITE_AUTH'), { errcode: 23 }]],
    ],
  },
  {
    name: 'oracle',
    classify: oracle().classify,
    errors: [
      [
        'DATABASE_BUSY connections',
        withCodes(
          ...'ORA-00018 ORA-00020 ORA-02391 ORA-12516 ORA-12518 ORA-12519 ORA-12520 ORA-24418 ORA-24496 NJS-040 NJS-076'.split(
            ' ',
          ),
        ),
      ],
      ['DATABASE_BUSY memory', withCodes('ORA-04030', 'ORA-04031')],
      [
        'DATABASE_BUSY disk',
        withCodes('ORA-00257', 'ORA-01536', 'ORA-01652', 'ORA-01653', 'ORA-01654', 'ORA-01691', 'ORA-30036'),
      ],
      ['DATABASE_BUSY resources', withCodes('ORA-00055')],
      ['DATABASE_BUSY lock', withCodes('ORA-00051', 'ORA-00054', 'ORA-02049', 'ORA-04021', 'ORA-30006')],
      ['DATABASE_BUSY time', withCodes('ORA-00040', 'ORA-01013', 'ORA-01555', 'ORA-02393')],
      ['TRANSACTION_CONFLICT', withCodes('ORA-00060', 'ORA-04020', 'ORA-08176', 'ORA-08177', 'ORA-24761')],
      ['DATABASE_UNAVAILABLE', withCodes('ORA-12609', 'ORA-25405', 'NJS-123', 'DPI-1067')],
    ],
  },
]

test.each(engines)(
  '$name: every error is known by its name, also as the cause of another, and by no other',
  ({ classify, errors }) => {
    for (const [name, all] of errors) {
      for (const one of all) {
        const wrapped = new Error('wrapped', { cause: new Error('twice', { cause: failure(one) }) })
        for (const error of [failure(one), wrapped]) {
          const known = classify(error)
          const shortOf = known?.data['shortOf']
          expect(known && [known.code, shortOf].join(' ').trim(), JSON.stringify(one)).toBe(name)
          expect(known === undefined || known.cause instanceof Error).toBe(true)
          expect(isPassing(known)).toBe(/^(DATABASE_(?!MISSING)|TRANSACTION_CONFLICT)/.test(name ?? ''))
        }
      }
    }
    // What is thrown need be no error, and may be its own cause.
    const endless = new Error('endless')
    endless.cause = endless
    for (const other of [endless, undefined, null, 'no', 53_300, new TaskError('LIFECYCLE', 'no')])
      expect(classify(other)).toBeUndefined()
  },
)

test('four codes are of the moment, and no other', () => {
  const passing = Object.values(taskErrorCodes).filter((code) => isPassing(new TaskError(code, 'no')))
  expect(passing.toSorted()).toEqual(['DATABASE_BUSY', 'DATABASE_READ_ONLY', 'DATABASE_UNAVAILABLE', 'TRANSACTION_CONFLICT'])
  for (const other of [undefined, new Error('DATABASE_BUSY'), { code: 'DATABASE_BUSY' }]) expect(isPassing(other)).toBe(false)
})

test('a decision in ASCII says the same in what any database can keep', () => {
  const plain = TaskDecision.success('done')
  expect(plain.inAscii()).toBe(plain)
  expect(TaskDecision.success().inAscii().toMessage()).toBeUndefined()
  const retry = TaskDecision.retry({ afterMs: 5 }, '日本 – ok 😀')
  expect(retry.inAscii().toMessage()).toBe(String.raw`\u{65e5}\u{672c} \u{2013} ok \u{1f600}`)
  expect(retry.inAscii()).toMatchObject({ result: 'suspension', retryAfterMs: 5, continued: false })
  // Half a character and NUL are replaced before, and so is what is too long: it stays as long as it may be, in ASCII.
  expect(TaskDecision.failure('a\0\uD800').inAscii().toMessage()).toBe(String.raw`a\u{fffd}\u{fffd}`)
  for (const long of ['x'.repeat(taskLimits.outputLength + 1), 'é'.repeat(taskLimits.outputLength)]) {
    const message = TaskDecision.failure(long).inAscii().toMessage()!
    expect(message.length).toBeLessThanOrEqual(taskLimits.outputLength)
    expect(/^[\0-\x7F]*$/.test(message)).toBe(true)
  }
})
