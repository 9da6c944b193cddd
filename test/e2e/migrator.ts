/** A process that migrates when it is told to, and says what it found before and what came of it. */
import { once } from 'node:events'
import { reopenSubject } from '../subject.ts'
import type { Subject } from '../subject.ts'

const subject = await reopenSubject(JSON.parse(process.argv[2] ?? '{}') as Subject['location'])
const tasks = subject.tasks()
process.send?.(await tasks.schemaStatus(subject.transactions))
await once(process, 'message')
process.send?.(await tasks.migrate(subject.transactions))
await subject[Symbol.asyncDispose]()
process.disconnect()
