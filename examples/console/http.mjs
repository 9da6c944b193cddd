import { createServer } from 'node:http'
import { toNode } from '@taskstream/task-console/node'
import { console as taskConsole } from './console.mjs'

const server = createServer(toNode(taskConsole))
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}/ops/tasks/`))
