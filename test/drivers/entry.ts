/** One of the front door's entries over a connection of its own, as its users open it. */
import type { Execution } from '@taskstream/task-api'
import knex from 'knex'
import type { Knex } from 'knex'
import { Kysely } from 'kysely'
import type { Dialect } from 'kysely'
import type { Stream, StreamOptions } from 'taskstream'
import { DataSource } from 'typeorm'
import type { DataSourceOptions, EntityManager } from 'typeorm'
import type { AnyTransaction } from '../subject.ts'
import type { OpenDriver } from './driver.ts'
import type { PrismaClient, PrismaInvoiceTransaction } from './prisma.ts'
import { invoiceEntity } from './typeorm-invoice.ts'

type AnyStream = Stream<AnyTransaction, Execution>
type Options = StreamOptions<AnyTransaction>

export interface OpenEntry {
  /** Makes a stream, on a schema of its own where there are schemas. */
  streamOf(options: Options): AnyStream
  /** Inserts a row of the caller's own. */
  insert(transaction: AnyTransaction, id: string): unknown
  /** Looks at a database that no other connection can open. */
  readonly observer?: Pick<OpenDriver, 'adapter' | 'transactions' | 'invoices'>
  close(): unknown
}

export interface Entry {
  readonly name: string
  /** Whether pushes of other connections are told, and need not be looked for. */
  readonly tells?: true
  /** @param at the URL of a database, or a file */
  open(at: string): OpenEntry | Promise<OpenEntry>
}

/** For libraries that take texts. */
export const insertion = (id: string): string => `insert into invoice (id) values ('${id}')`

interface Tables {
  invoice: { id: string }
}

export function kyselyEntry(dialect: Dialect, streamOf: (db: Kysely<Tables>, options: Options) => AnyStream): OpenEntry {
  const db = new Kysely<Tables>({ dialect })
  return {
    streamOf: (options) => streamOf(db, options),
    insert: (trx: Kysely<Tables>, id) => trx.insertInto('invoice').values({ id }).execute(),
    close: () => db.destroy(),
  }
}

export function knexEntry(config: Knex.Config, streamOf: (db: Knex, options: Options) => AnyStream): OpenEntry {
  const db = knex({ ...config, log: { warn: () => {} } })
  return {
    streamOf: (options) => streamOf(db, options),
    insert: (trx: Knex.Transaction, id) => trx('invoice').insert({ id }),
    close: () => db.destroy(),
  }
}

export async function typeormEntry(
  config: DataSourceOptions,
  streamOf: (dataSource: DataSource, options: Options) => AnyStream,
): Promise<OpenEntry> {
  const dataSource = await new DataSource({ ...config, entities: [invoiceEntity] } as DataSourceOptions).initialize()
  return {
    streamOf: (options) => streamOf(dataSource, options),
    insert: (manager: EntityManager, id) => manager.insert(invoiceEntity, { id }),
    close: () => dataSource.destroy(),
  }
}

export async function prismaEntry(
  opening: Promise<PrismaClient>,
  streamOf: (prisma: PrismaClient, options: Options) => AnyStream,
): Promise<OpenEntry> {
  const prisma = await opening
  return {
    streamOf: (options) => streamOf(prisma, options),
    insert: (tx: PrismaInvoiceTransaction, id) => tx.invoice.create({ data: { id } }),
    close: () => prisma.$disconnect(),
  }
}
