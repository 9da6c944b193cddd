/** Prisma's users generate its client from their own schema. Here Prisma generates one for the caller's table. */
import { execFile } from 'node:child_process'
import { symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import type { PrismaDatabase, PrismaNesting, PrismaSqliteDatabase, PrismaTransaction } from '@taskstream/task-sql/prisma'
import { makeFolder } from '../databases/throw-away.ts'

type Provider = 'postgresql' | 'mysql' | 'sqlite'

/** The part of the generated client that the tests use. */
interface PrismaInvoices {
  readonly invoice: {
    create(row: { data: { id: string } }): PromiseLike<unknown>
    findMany(options: { orderBy: { id: 'asc' } }): PromiseLike<{ id: string }[]>
  }
}

export interface PrismaInvoiceTransaction extends PrismaTransaction, PrismaInvoices, PrismaNesting<PrismaInvoiceTransaction> {}

export type PrismaClient = PrismaInvoices &
  PrismaTransaction &
  PrismaDatabase<PrismaInvoiceTransaction> &
  PrismaSqliteDatabase<PrismaInvoiceTransaction> & { $disconnect(): Promise<void> }

const root = join(import.meta.dirname, '..', '..')

export const invoiceSchema = `
generator client {
  provider = "prisma-client"
  output   = "./generated/prisma"
}
datasource db {
  provider = "postgresql"
}
model invoice {
  id String @id
}`

/** @returns a folder with the generated client, from which this project's packages can be imported */
export async function generatePrismaClient(provider: Provider, schema: string): Promise<string> {
  const folder = makeFolder('taskstream-prisma-')
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  writeFileSync(join(folder, 'schema.prisma'), schema.replace('"postgresql"', `"${provider}"`))
  const program = join(root, 'node_modules', 'prisma', 'build', 'index.js')
  // Generating uses no engine, but Prisma would download one and report its use. These variables prevent both.
  const env = { ...process.env, PRISMA_SCHEMA_ENGINE_BINARY: process.execPath, CHECKPOINT_DISABLE: '1' }
  await promisify(execFile)(process.execPath, [program, 'generate', '--schema', 'schema.prisma'], { cwd: folder, env })
  return folder
}

const clients = new Map<Provider, Promise<new (options: { adapter: unknown }) => PrismaClient>>()

export async function openPrismaClient(provider: Provider, adapter: unknown): Promise<PrismaClient> {
  let generated = clients.get(provider)
  if (!generated) clients.set(provider, (generated = importClient(provider)))
  return new (await generated)({ adapter })
}

async function importClient(provider: Provider): Promise<new (options: { adapter: unknown }) => PrismaClient> {
  const folder = await generatePrismaClient(provider, invoiceSchema)
  return (await import(pathToFileURL(join(folder, 'generated', 'prisma', 'client.ts')).href)).PrismaClient
}

export async function prismaInvoices(prisma: PrismaInvoices): Promise<string[]> {
  return (await prisma.invoice.findMany({ orderBy: { id: 'asc' } })).map(({ id }) => id)
}
