/** The databases that the suite can run on in a container, and how each kind is started. vitest.config.ts says which tests a project runs. */
import { Wait } from 'testcontainers'
import type { WaitStrategy } from 'testcontainers'

export interface Kind {
  readonly port: number
  /** The environment variables for the official image. */
  readonly environment: (password: string) => Readonly<Record<string, string>>
  /** The settings of the server: enough room for the suite's connections and largest values, and no waiting for the disk. */
  readonly settings: readonly string[]
  /** Waits for the final server. Images first start a temporary one, to make their users. */
  readonly ready: () => WaitStrategy
  readonly url: (password: string, address: string) => string
  /** The environment variable by which the suite gets the URL of the server. */
  readonly variable: string
  /** The vitest project that runs, unless `--project` names another. */
  readonly project: string
}

const flags = (settings: Readonly<Record<string, string>>): string[] =>
  Object.entries(settings).map(([name, value]) => `--${name}=${value}`)

const mysqlSettings = {
  'max-connections': '500',
  'max-allowed-packet': '256M',
  'innodb-flush-log-at-trx-commit': '0',
  'innodb-doublewrite': 'OFF',
  'sync-binlog': '0',
}

export const kinds = {
  postgres: {
    port: 5432,
    environment: (password) => ({ POSTGRES_PASSWORD: password }),
    settings: flags({
      max_connections: '300',
      authentication_timeout: '600',
      fsync: 'off',
      full_page_writes: 'off',
      synchronous_commit: 'off',
    }),
    ready: () => Wait.forAll([Wait.forListeningPorts(), Wait.forSuccessfulCommand('pg_isready --host 127.0.0.1')]),
    url: (password, address) => `postgres://postgres:${password}@${address}/postgres`,
    variable: 'TASKSTREAM_POSTGRES_URL',
    project: 'postgres-given',
  },
  mysql: {
    port: 3306,
    environment: (password) => ({ MYSQL_ROOT_PASSWORD: password }),
    settings: flags(mysqlSettings),
    ready: () => Wait.forListeningPorts(),
    url: (password, address) => `mysql://root:${password}@${address}/`,
    variable: 'TASKSTREAM_MYSQL_URL',
    project: 'mysql',
  },
  mariadb: {
    port: 3306,
    environment: (password) => ({ MARIADB_ROOT_PASSWORD: password }),
    settings: flags(mysqlSettings),
    ready: () => Wait.forListeningPorts(),
    url: (password, address) => `mysql://root:${password}@${address}/`,
    variable: 'TASKSTREAM_MARIADB_URL',
    project: 'mariadb',
  },
  oracle: {
    port: 1521,
    environment: (password) => ({ ORACLE_PASSWORD: password }),
    settings: [],
    ready: () => Wait.forLogMessage('DATABASE IS READY TO USE!'),
    // `system` may create users.
    url: (password, address) => `oracle://system:${password}@${address}/FREEPDB1`,
    variable: 'TASKSTREAM_ORACLE_URL',
    project: 'oracle',
  },
} as const satisfies Readonly<Record<string, Kind>>

export type KindName = keyof typeof kinds

/** Images by their short names, each with its default release. No image of Oracle 19c is available without an account. */
export const engines: Readonly<Record<string, { readonly kind: KindName; readonly image: string; readonly tag: string }>> = {
  postgres: { kind: 'postgres', image: 'postgres', tag: '17' },
  mysql: { kind: 'mysql', image: 'mysql', tag: '8.4' },
  mariadb: { kind: 'mariadb', image: 'mariadb', tag: '11.8' },
  'oracle-free': { kind: 'oracle', image: 'gvenzl/oracle-free', tag: '23-slim-faststart' },
}
