/** The caller's own table, as users of TypeORM define it without decorators. */
import { EntitySchema } from 'typeorm'
import type { DataSource } from 'typeorm'

export const invoiceEntity = new EntitySchema<{ id: string }>({
  name: 'invoice',
  columns: { id: { type: 'text', primary: true } },
})

export async function invoiceIds(dataSource: DataSource): Promise<string[]> {
  return (await dataSource.manager.find(invoiceEntity, { order: { id: 'asc' } })).map(({ id }) => id)
}
