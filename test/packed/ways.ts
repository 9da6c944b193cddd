/** How a first program is written with each driver. */
export interface Way {
  readonly entry: string
  readonly server: 'none' | 'postgres' | 'mariadb'
  /** The package of the driver; undefined for one that Node.js brings. */
  readonly install?: string
  readonly imports: string
  /** The stream. Servers are at DATABASE_URL. */
  readonly stream: string
  /** Closes what the driver has opened, so that the process ends. */
  readonly close: string
}

export const ways: Readonly<Record<string, Way>> = {
  'node-sqlite': {
    entry: 'node-sqlite',
    server: 'none',
    imports: `import { DatabaseSync } from 'node:sqlite'`,
    stream: `taskstream(new DatabaseSync('greet.db'))`,
    close: '',
  },
  'better-sqlite3': {
    entry: 'better-sqlite3',
    server: 'none',
    install: 'better-sqlite3',
    imports: `import Database from 'better-sqlite3'`,
    stream: `taskstream(new Database('greet.db'))`,
    close: '',
  },
  libsql: {
    entry: 'libsql',
    server: 'none',
    install: '@libsql/client',
    imports: `import { createClient } from '@libsql/client'`,
    stream: `taskstream(createClient({ url: 'file:greet.db' }))`,
    close: '',
  },
  pglite: {
    entry: 'pglite',
    server: 'none',
    install: '@electric-sql/pglite',
    imports: `import { PGlite } from '@electric-sql/pglite'\nconst database = new PGlite()`,
    stream: `taskstream(database)`,
    close: 'await database.close()',
  },
  pg: {
    entry: 'pg',
    server: 'postgres',
    install: 'pg',
    imports: `import pg from 'pg'\nconst pool = new pg.Pool({ connectionString: process.env.DATABASE_URL })`,
    stream: `taskstream(pool)`,
    close: 'await pool.end()',
  },
  'postgres-js': {
    entry: 'postgres-js',
    server: 'postgres',
    install: 'postgres',
    imports: `import postgres from 'postgres'\nconst sql = postgres(process.env.DATABASE_URL!)`,
    stream: `taskstream(sql)`,
    close: 'await sql.end()',
  },
  mysql2: {
    entry: 'mysql2',
    server: 'mariadb',
    install: 'mysql2',
    imports: `import mysql from 'mysql2/promise'\nconst pool = mysql.createPool(process.env.DATABASE_URL!)`,
    stream: `taskstream(pool, { database: 'mariadb' })`,
    close: 'await pool.end()',
  },
}

/** The program of the quick start, which also waits for what the job returns, and ends. */
export function programOf({ entry, imports, stream, close }: Way): string {
  return `${imports}
import { defineJob, json, taskstream } from 'taskstream/${entry}'

const stream = ${stream}
const greet = defineJob('greet', { input: json<{ name: string }>(), output: json<number>() })
stream.handle(greet, ({ input }) => input.name.length)
await stream.start()
const letters = await stream.wait(greet, await stream.submit(greet, { name: 'Ann' }), { timeoutMs: 30_000 })
console.log(\`Hello, Ann: \${letters} letters\`)
await stream.stop()
${close}
`
}
