/** Migrations that were released are the same for ever. */
import { createHash } from 'node:crypto'
import type { MigrationStep } from '@taskstream/task-sql'
import { sqlite } from '@taskstream/task-sql/better-sqlite3'
import { mariadb, mysql } from '@taskstream/task-sql/mysql2'
import { oracle } from '@taskstream/task-sql/oracledb'
import { postgres } from '@taskstream/task-sql/pg'
import { expect, test } from 'vitest'

test('released steps stay as they are: tables made by them are out there', () => {
  const hash = (dialect: { readonly schema: { readonly migrations: readonly MigrationStep[] } }): string[] =>
    dialect.schema.migrations.map(
      ({ version, statements }) =>
        `${version} ${createHash('sha256')
          .update(JSON.stringify(statements.map(({ texts }) => texts)))
          .digest('hex')
          .slice(0, 16)}`,
    )
  // Never change these hashes: a wrong step is mended by a further step.
  expect(hash(sqlite())).toEqual([
    '1 ec6ffe61a6a1e579',
    '2 acdbf5ed0f56e51b',
    '3 a461ee2cd3c35c67',
    '4 9af092fb4571b38e',
    '5 58bcd732da4557b1',
    '6 19ddff08c7d9aa9e',
    '7 956fed6fa23b4c43',
    '8 c1af966a25188064',
    '9 2322d0286421ba41',
  ])
  const later = [
    '2 0fed6a89831c02e9',
    '3 f837fc9b6eaaa290',
    '4 af5411cb2812d251',
    '5 c0dad2baa6604d7c',
    '6 3026e85b8bfb19ec',
    '7 e532954fffbee9a8',
    '8 57bf5d771c6bf28a',
    '9 f6645e7bf09e54ae',
    '10 079b339315395922',
  ]
  expect(hash(postgres())).toEqual(['1 db40af47c92be473', ...later, '11 3ad4d7f939ee1e32', '12 04f81424850692b1'])
  expect(hash(postgres({ partitioned: true }))).toEqual([
    '1 9e378b3322dede03',
    ...later,
    '11 c6ecfef8ab094966',
    '12 6de5842954b68b67',
  ])
  expect(hash(mariadb())).toEqual([
    '1 4ceaf4f22d6ba0b5',
    '2 2d3c40bb3cbdcedd',
    '3 901a56acfec7d9a0',
    '4 c4269eba888be4f4',
    '5 42fc537b7d922c8f',
    '6 f0f42c87a38d5b84',
    '7 8505a261f5e547a1',
    '8 2225ed654d9e6e5a',
    '9 1f60d615e94be37c',
  ])
  expect(hash(mysql())).toEqual([
    '1 18630787a9cf68ab',
    '2 ce9c368c64a91a33',
    '3 b92d1483ee7e52ff',
    '4 6261bc5cf2660524',
    '5 153098a34a297c6b',
    '6 0c74f1a58ae053a1',
    '7 b1eb2d70323e797b',
    '8 2225ed654d9e6e5a',
    '9 14f832f1df4a477f',
  ])
  expect(hash(oracle())).toEqual([
    '1 2472539229165cbf',
    '2 3f0d4db41b5bdd3f',
    '3 48cd7ec9449afd94',
    '4 8882c8220a9fa6e4',
    '5 c19a89f3136019ca',
    '6 be86de37a302df6f',
  ])
})
