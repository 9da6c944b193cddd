import express from 'express'
import { toNode } from '@taskstream/task-console/node'
import { console as taskConsole } from './console.mjs'

const app = express()
// A body that these have read is handed on.
app.use(express.json(), express.urlencoded())
app.use('/ops/tasks', toNode(taskConsole))

const server = app.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}/ops/tasks/`))
