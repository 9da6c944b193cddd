/** A process that migrates when its parent tells it to, and reports the state before and the result. */
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
