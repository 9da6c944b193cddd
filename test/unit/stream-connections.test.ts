/** A stream is made of a connection of its own library. Any other is refused at once, in words that say what to give, or which entry takes it. */
import { DatabaseSync } from 'node:sqlite'
import { thrownBy } from '@taskstream/task-testing/suite'
import Database from 'better-sqlite3'
import { createPool } from 'mysql2'
import { taskstream as onBetterSqlite3 } from 'taskstream/better-sqlite3'
import { taskstream as onKnex } from 'taskstream/knex'
import { taskstream as onMysql2 } from 'taskstream/mysql2'
import { taskstream as onNodeSqlite } from 'taskstream/node-sqlite'
import { taskstream as onPg } from 'taskstream/pg'
import { taskstream as onPostgresJs } from 'taskstream/postgres-js'
import { expect, test } from 'vitest'

const node = "database must be a connection of node:sqlite, such as new DatabaseSync('shop.db')"
const better = "database must be a connection of better-sqlite3, such as new Database('shop.db')"
const knex = "knex must be an instance of Knex, such as knex({ client: 'pg', connection })"
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
  ['nothing in place of an instance of Knex', () => onKnex(undefined as never, { database: 'postgres' }), `${knex}: "undefined"`],
  [
    'an address in place of a connection of Postgres.js',
    () => onPostgresJs('postgres://ann:secret@host/shop' as never),
    'sql must be a connection of Postgres.js, such as postgres(url): "string"',
  ],
  [
    'a pool of mysql2 that answers callbacks',
    () => onMysql2(createPool({ host: '127.0.0.1' }) as never, { database: 'mariadb' }),
    'pool must be one of mysql2/promise: give pool.promise(): "a pool of mysql2"',
  ],
  [
    'a library without options',
    () => (onKnex as (...given: unknown[]) => unknown)({ transaction: () => {} }),
    "options must be an object, such as { database: 'postgres' }: undefined",
  ],
  [
    'null in place of options',
    () => onNodeSqlite(new DatabaseSync(':memory:'), null as never),
    'options must be an object: null',
  ],
  [
    'a number in place of a listener',
    () => onNodeSqlite(new DatabaseSync(':memory:'), { listener: 5 as never }),
    'listener must be an object with methods such as onError, or a list of such objects: 5',
  ],
  ['nothing in place of a pool', () => onPg(undefined as never), `${pool}: "undefined"`],
  ['an address, whose password is not repeated,', () => onPg('postgres://ann:secret@host/shop' as never), `${pool}: "string"`],
])('%s is refused', async (_, make, message) => {
  expect(await thrownBy(make)).toMatchObject({ code: 'ARGUMENT_INVALID', message })
})
