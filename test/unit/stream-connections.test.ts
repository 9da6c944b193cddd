/** A stream is made of a connection of its own library. Any other is refused at once, in words that say what to give, or which entry takes it. */
import { DatabaseSync } from 'node:sqlite'
import { thrownBy } from '@taskstream/task-testing/suite'
import Database from 'better-sqlite3'
import { taskstream as onBetterSqlite3 } from 'taskstream/better-sqlite3'
import { taskstream as onNodeSqlite } from 'taskstream/node-sqlite'
import { taskstream as onPg } from 'taskstream/pg'
import { expect, test } from 'vitest'

const node = "database must be a connection of node:sqlite, such as new DatabaseSync('shop.db')"
const better = "database must be a connection of better-sqlite3, such as new Database('shop.db')"
const pool = 'pool must be a pg.Pool, such as new pg.Pool({ connectionString })'

test.each<readonly [name: string, make: () => unknown, message: string]>([
  ['a path in place of a DatabaseSync', () => onNodeSqlite('shop.db' as never), `${node}: "shop.db"`],
  ['nothing in place of a DatabaseSync', () => onNodeSqlite(undefined as never), `${node}: undefined`],
  [
    'a connection of better-sqlite3 in place of a DatabaseSync',
    () => onNodeSqlite(new Database(':memory:')),
    `${node}. For one of better-sqlite3, import taskstream from 'taskstream/better-sqlite3': "better-sqlite3"`,
  ],
  ['a path in place of a connection of better-sqlite3', () => onBetterSqlite3('shop.db' as never), `${better}: "shop.db"`],
  [
    'a DatabaseSync in place of a connection of better-sqlite3',
    () => onBetterSqlite3(new DatabaseSync(':memory:') as never),
    `${better}. For one of node:sqlite, import taskstream from 'taskstream/node-sqlite': "node:sqlite"`,
  ],
  ['nothing in place of a pool', () => onPg(undefined as never), `${pool}: "undefined"`],
  ['an address, whose password is not repeated,', () => onPg('postgres://ann:secret@host/shop' as never), `${pool}: "string"`],
])('%s is refused', async (_, make, message) => {
  expect(await thrownBy(make)).toMatchObject({ code: 'ARGUMENT_INVALID', message })
})
