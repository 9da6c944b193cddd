/** Addresses of databases: how they are read, and that no error tells a password. */
import { TaskError } from '@taskstream/task-api'
import * as fc from 'fast-check'
import { explain } from '../../../packages/task-cli/src/core/explain.ts'
import { parseInstant } from '../../../packages/task-cli/src/core/instant.ts'
import { toLocation } from '../../../packages/task-cli/src/core/location.ts'
import { withoutSecrets } from '../../../packages/task-cli/src/core/secrets.ts'
import { soup } from '../draw.ts'
import type { FuzzedWorld } from '../property.ts'

const secret = 'geheim-0815'
const pieces = [
  ...'postgres:_postgresql:_mariadb:_mysql:_sqlite:_file:_http:_POSTGRES:_/_//_///_:_@_?_#_%_%40_%zz_&_=_localhost_[::1]_:5432_shop'.split(
    '_',
  ),
  'password=',
  'host=/var/run',
  ' ',
  '\0',
  '\uD800',
  '\u202E',
  '..',
  ':memory:',
  '\\',
  `?password=${secret}`,
  `user:${secret}@`,
  `${secret}@`,
]
const texts = soup(pieces)
const users = fc.constantFrom('anna', '', 'a%40b')
const ends = fc.constantFrom('localhost/shop', 'localhost:5432/shop?ssl=true', '/shop?host=/var/run', '[::1]/a', 'h/@x', 'h#frag')
const schemes = fc.constantFrom('postgres', 'postgresql', 'mariadb', 'mysql', 'redis')
/** Passwords with characters that mean something in an address. */
const passwords = soup(['#', '?', '/', '@', ':', '%', '%23', '&', 'a']).map(
  (text) => `${secret}${text.slice(0, 40).replaceAll('\0', '')}`,
)

export async function openAddresses(): Promise<FuzzedWorld> {
  const before = process.env['TASKSTREAM_URL']
  return {
    calls: [
      {
        name: 'address',
        drawn: fc.tuple(texts) as never,
        args: (drawn: never) => drawn,
        call: toLocation,
        codes: [],
        isUnchanged: true,
        isWild: true,
        secrets: [secret],
      },
      {
        name: 'address with a password',
        drawn: fc
          .tuple(schemes, users, passwords, ends)
          .map(([scheme, user, password, end]) => [`${scheme}://${user}:${password}@${end}`]) as never,
        args: (drawn: never) => drawn,
        call: (address: string) => {
          process.env['TASKSTREAM_URL'] = address
          const shown = withoutSecrets(explain(new Error(`cannot connect to ${address}, as "${address.slice(0, -1)}" is wrong`)))
          if (typeof address === 'string' && shown.includes(secret)) throw new Error(`The password is told: ${shown}`)
          return toLocation(address)
        },
        codes: [],
        isUnchanged: true,
        isWild: true,
        secrets: [secret],
      },
      {
        name: 'secrets',
        drawn: fc.tuple(texts) as never,
        args: (drawn: never) => drawn,
        call: (address: string) => {
          // The system passes no longer argument to a program.
          process.env['TASKSTREAM_URL'] = address.slice(0, 131_072)
          return withoutSecrets('an error')
        },
        codes: [],
        isUnchanged: true,
      },
      {
        name: 'instant',
        drawn: fc.tuple(soup([...'0_1_9_-_:_T_Z_+_._2024-02-30_2024-02-29T12:00_ '.split('_'), '\u2028', '٣'])) as never,
        args: (drawn: never) => drawn,
        call: (text: string) => {
          if (parseInstant(text) === undefined) throw new TaskError('ARGUMENT_INVALID', 'no instant')
        },
        codes: [],
        isUnchanged: true,
        isWild: true,
      },
    ],
    [Symbol.asyncDispose]: async () => {
      if (before === undefined) delete process.env['TASKSTREAM_URL']
      else process.env['TASKSTREAM_URL'] = before
    },
  }
}
