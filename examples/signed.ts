import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { defineJob, defineQueue, json, taskstream } from 'taskstream/node-sqlite'

/** Stand for the files of keys. */
const { privateKey, publicKey } = generateKeyPairSync('ed25519')
const folder = mkdtempSync(join(tmpdir(), 'signed-'))
const open = (): DatabaseSync => new DatabaseSync(join(folder, 'tasks.db'))

const payments = defineQueue('payments', { signed: 'required' })
const pay = defineJob('payment:pay', { queue: payments, input: json<{ to: string; amount: number }>() })

const pushing = taskstream(open(), { signing: { key: privateKey, id: '2026' } })
const handling = taskstream(open(), { verification: { keys: { '2026': publicKey } }, listener: {} })

handling.handle(pay, ({ input }) => void console.log(`paid ${input.to} ${input.amount}`))

await pushing.prepare(pay)
const honest = await pushing.submit(pay, { to: 'ann', amount: 10 })
const changed = await pushing.submit(pay, { to: 'bob', amount: 20 })

const intruder = open()
intruder.prepare('update task set input = ? where sequence = ?').run('{"to":"eve","amount":999999}', changed.sequence)

await handling.start()
await handling.wait(pay, honest)
await handling.wait(pay, changed).catch((error: Error) => console.log(error.message.split(': ').at(-1)))

await Promise.all([pushing.stop(), handling.stop()])
intruder.close()
rmSync(folder, { recursive: true })
