import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defineJob, json, taskstream } from 'taskstream/typeorm'
import type { Stream } from 'taskstream/typeorm'
import { DataSource, EntitySchema } from 'typeorm'
import type { EntityManager } from 'typeorm'

const Invoice = new EntitySchema<{ id: string }>({ name: 'invoice', columns: { id: { type: 'text', primary: true } } })
const bill = defineJob('bill', { input: json<{ id: string }>() })

/** The program calls this, too. */
export function handleAll(stream: Stream<EntityManager>): void {
  stream.handle(bill, ({ input, commit }) => commit((manager) => manager.insert(Invoice, { id: input.id })))
}

test('a bill is written once', async () => {
  const source = new DataSource({ type: 'better-sqlite3', database: ':memory:', entities: [Invoice], synchronize: true })
  await source.initialize()
  const stream = taskstream(source, { database: 'sqlite' })
  handleAll(stream)
  await stream.start()
  await stream.wait(bill, await stream.submit(bill, { id: 'inv-7' }))
  assert.deepEqual(await source.manager.find(Invoice), [{ id: 'inv-7' }])
  await stream.stop()
  await source.destroy()
})
